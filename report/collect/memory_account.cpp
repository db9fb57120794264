#include "report/collect/memory_account.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "attach/base/page.h"

namespace heapattach::snapshot {

namespace {

constexpr std::size_t kMostNamed = 5;

bool holds_any(const Range& range, std::span<const RemoteAddr> addresses) {
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](RemoteAddr at) { return range.contains(at); });
}

// The use of a mapping, or of the part of it that is not a block of the heap.
MemoryUse use_of(const Mapping& mapping, const SeenMemory& seen) {
  // The first fiber of a Crystal program is its first thread.
  if (mapping.path == "[stack]") return MemoryUse::ThreadStacks;
  if (holds_any(mapping.range, seen.fibers)) return MemoryUse::FiberStacks;
  if (holds_any(mapping.range, seen.stacks)) return MemoryUse::ThreadStacks;
  if (mapping.path == "[heap]") return MemoryUse::Malloc;
  const bool is_kernels = mapping.path.starts_with('[');  // as for [vdso], [vvar], [anon:…]
  return mapping.is_anonymous() && !is_kernels ? MemoryUse::Other : MemoryUse::Files;
}

// Whether the ranges, which consist of whole pages, cover the page.
bool covers(std::span<const Range> ranges, RemoteAddr page) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), page,
                       [](RemoteAddr at, const Range& one) { return at < one.start; });
  return after != ranges.begin() && (after - 1)->contains(page);
}

// The pages of one use in a mapping.
struct PageCount {
  std::uint64_t pages = 0;
  std::uint64_t own = 0;     // pages that are certainly in RSS
  std::uint64_t shared = 0;  // pages that are in RSS unless they are the zero page
};

// A name for memory of a mapping that belongs to no heap.
std::string name_of(const Mapping& mapping, const SeenMemory& seen) {
  for (const SeenStack& stack : seen.owners) {
    if (!mapping.range.contains(stack.at)) continue;
    return fmt::format("the stack of thread {} ({})", stack.tid, stack.thread);
  }
  if (!mapping.path.empty()) return mapping.path;
  return fmt::format("anonymous memory at {}", mapping.range.start);
}

class Accounting {
 public:
  explicit Accounting(const SeenMemory& seen) : seen_(seen) {}

  MemoryAccount run() && {
    account_.has_all_of_malloc = !seen_.malloc.empty();
    account_.objects_of = seen_.objects_of;
    for (const SeenMapping& one : seen_.mappings) add(one);
    for (const auto& [name, share] : outside_) account_.largest.push_back({name, share});
    std::stable_sort(account_.largest.begin(), account_.largest.end(),
                     [](const NamedMemory& a, const NamedMemory& b) {
                       return a.share.resident_bytes > b.share.resident_bytes;
                     });
    account_.largest.resize(std::min(account_.largest.size(), kMostNamed));
    for (const MemoryShare& share : account_.by_use) {
      account_.total.resident_bytes += share.resident_bytes;
      account_.total.mapped_bytes += share.mapped_bytes;
    }
    return account_;
  }

 private:
  void add(const SeenMapping& one) {
    const MemoryUse use = use_of(one.mapping.mapping, seen_);
    if (use == MemoryUse::ThreadStacks) account_.thread_stacks += 1;
    if (use == MemoryUse::FiberStacks) account_.fiber_stacks += 1;
    if (one.is_mallocs) {
      add_to(MemoryUse::Malloc, one.mapping.resident_bytes, one.mapping.mapping.range.bytes);
    } else if (one.pages.empty()) {
      add_rest(one, use, one.mapping.resident_bytes, one.mapping.mapping.range.bytes);
    } else {
      split(one, use);
    }
  }

  void add_to(MemoryUse use, std::uint64_t resident, std::uint64_t mapped) {
    MemoryShare& share = account_.by_use[static_cast<std::size_t>(use)];
    share.resident_bytes += resident;
    share.mapped_bytes += mapped;
  }

  // Adds the part of a mapping that belongs to no heap. Parts with the same name are added up.
  void add_rest(const SeenMapping& one,
                MemoryUse use,
                std::uint64_t resident,
                std::uint64_t mapped) {
    add_to(use, resident, mapped);
    const bool is_named = use != MemoryUse::Malloc && use != MemoryUse::FiberStacks;
    if (!is_named || resident == 0) return;
    MemoryShare& share = outside_[name_of(one.mapping.mapping, seen_)];
    share.resident_bytes += resident;
    share.mapped_bytes += mapped;
  }

  // The parts of a mapping with blocks of the heap: in use, free, malloc's, and the rest.
  static constexpr std::size_t kRest = 3;

  [[nodiscard]] std::size_t part_at(RemoteAddr at) const {
    if (covers(seen_.used, at)) return 0;
    if (covers(seen_.free, at)) return 1;
    return covers(seen_.malloc, at) ? 2 : kRest;
  }

  [[nodiscard]] std::array<PageCount, kRest + 1> pages_by_use(const SeenMapping& one) const {
    std::array<PageCount, kRest + 1> counts;
    RemoteAddr at = one.mapping.mapping.range.start;
    for (const PageState& page : one.pages) {
      PageCount& count = counts[part_at(at)];
      count.pages += 1;
      count.own += page.is_own ? 1 : 0;
      count.shared += page.is_present && !page.is_own ? 1 : 0;
      at = at + page_bytes();
    }
    return counts;
  }

  // Divides the pages of a mapping with blocks of the heap among their uses, so that they add up to
  // the kernel's sum for the mapping. If the sum has fewer pages than are present, some of these
  // are the zero page; pages that are certainly the process's own are counted first.
  void split(const SeenMapping& one, MemoryUse rest) {
    const std::array<PageCount, kRest + 1> counts = pages_by_use(one);
    const std::array<MemoryUse, kRest> uses{MemoryUse::BlocksInUse, MemoryUse::FreeBlocks,
                                            MemoryUse::Malloc};
    std::uint64_t left = one.mapping.resident_bytes / page_bytes();
    std::array<std::uint64_t, kRest + 1> resident{};
    for (const auto pages : {&PageCount::own, &PageCount::shared}) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::uint64_t taken = std::min(left, counts[i].*pages);
        resident[i] += taken;
        left -= taken;
      }
    }
    resident[kRest] += left;  // pages that appeared between the two readings
    for (std::size_t i = 0; i < uses.size(); ++i) {
      add_to(uses[i], resident[i] * page_bytes(), counts[i].pages * page_bytes());
    }
    add_rest(one, rest, resident[kRest] * page_bytes(), counts[kRest].pages * page_bytes());
  }

  const SeenMemory& seen_;
  MemoryAccount account_;
  std::map<std::string, MemoryShare> outside_;  // by name
};

}  // namespace

MemoryAccount account_for(const SeenMemory& seen) {
  return Accounting(seen).run();
}

}  // namespace heapattach::snapshot
