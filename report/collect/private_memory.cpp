#include "report/collect/private_memory.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attach/base/page.h"
#include "attach/memory/resident.h"
#include "attach/process/kernel_text.h"
#include "symbols/heap/by_hand.h"

namespace heapattach::snapshot {

namespace {

// In a smaller mapping, it takes longer to look for untouched pages than to copy them.
constexpr std::uint64_t kSmall = 256U << 10;

void add_range(Range range, std::vector<Range>& to) {
  if (range.bytes == 0) return;
  if (!to.empty() && to.back().end() == range.start) {
    to.back().bytes += range.bytes;
  } else {
    to.push_back(range);
  }
}

// Adds the pages for which `is_wanted` is true.
template <class IsWanted>
void add_parts(Range range,
               const std::vector<PageState>& pages,
               IsWanted is_wanted,
               std::vector<Range>& parts) {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (is_wanted(pages[i])) {
      add_range({range.start + i * page_bytes(), page_bytes()}, parts);
    }
  }
}

// Finds the pages of a mapping for which `is_wanted` is true. A large mapping is examined in
// slices, because each page takes 20 bytes of our memory meanwhile.
template <class IsWanted>
Result<std::vector<Range>> parts_of(const Process& process, Range range, IsWanted is_wanted) {
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<Range> parts;
  for (std::uint64_t done = 0; done < range.bytes; done += kSlice) {
    const Range slice{range.start + done, std::min(kSlice, range.bytes - done)};
    add_parts(slice, HA_TRY(read_pages(process, slice)), is_wanted, parts);
  }
  return parts;
}

// Decides what to copy from each mapping.
class CopyPlan {
 public:
  CopyPlan(const Target& target, const Process* process, std::vector<Range> constants)
      : target_(target), process_(process), constants_(std::move(constants)) {
    plan_.read_only = constants_;
  }

  void add(const Mapping& mapping) {
    if (heap::may_hold_allocations(mapping) || heap::is_generated_code(mapping)) {
      add_writable(mapping);
    } else if (may_have_been_written(mapping)) {
      if (mapping.range.bytes > kLargestMapping) return leave_out(mapping);
      const auto parts = parts_of(*process_, mapping.range, is_own_copy);
      if (!parts) return leave_out(mapping);
      for (const Range& part : *parts) {
        add_whole(part);
        plan_.read_only.push_back(part);
      }
    }
  }

  // Adds a guard page, so that the memory around it is in one piece.
  void add_guard(const Mapping& mapping) {
    plan_.ranges.push_back(mapping.range);
    if (process_ == nullptr) return;  // a core file has no such pages
    const auto parts = parts_of(*process_, mapping.range, is_used);
    if (parts) plan_.forbidden.insert(plan_.forbidden.end(), parts->begin(), parts->end());
  }

  PrivateMemory take() && {
    for (const Range& range : constants_) add_whole(range);
    std::sort(plan_.ranges.begin(), plan_.ranges.end());
    std::sort(plan_.touched.begin(), plan_.touched.end());
    return std::move(plan_);
  }

 private:
  // Whether the page is the process's own copy. The file's own contents have no pointers.
  static bool is_own_copy(const PageState& page) { return is_used(page) && !page.is_of_file; }

  void add_whole(Range range) {
    plan_.ranges.push_back(range);
    plan_.touched.push_back(range);
  }

  void leave_out(const Mapping& mapping) {
    plan_.unread.push_back(fmt::format("a mapping of {} bytes at {:#x} was not read",
                                       mapping.range.bytes, mapping.range.start.value));
  }

  void add_writable(const Mapping& mapping) {
    const Range range = mapping.range;
    if (range.bytes > kLargestMapping) return leave_out(mapping);
    // A page that another process serves may have contents without being present.
    const bool is_served = target_.live && target_.live->stalling().userfault_bytes({range}) > 0;
    if (process_ == nullptr || is_served || range.bytes < kSmall) return add_whole(range);
    const bool is_anonymous = mapping.is_anonymous();
    // Copy the data of a heap's owner as a whole, because readers need it in one piece.
    const std::span<const Range> owners = target_.heaps.front()->data();
    const bool is_of_owner = std::any_of(owners.begin(), owners.end(), [&](const Range& data) {
      return data.start.value < range.end().value && range.start.value < data.end().value;
    });
    if (!is_anonymous && is_of_owner) return add_whole(range);
    const auto parts = parts_of(*process_, range, is_anonymous ? is_used : is_own_copy);
    if (!parts) return add_whole(range);
    if (is_anonymous) {
      plan_.ranges.push_back(range);
      plan_.touched.insert(plan_.touched.end(), parts->begin(), parts->end());
    } else {
      for (const Range& part : *parts) add_whole(part);
    }
  }

  // Whether the mapping is a private one of a file that is only readable now. It may have been
  // writable.
  [[nodiscard]] bool may_have_been_written(const Mapping& mapping) const {
    if (process_ == nullptr || mapping.is_anonymous() || !mapping.is_private) return false;
    if (!mapping.readable || mapping.writable || mapping.path.starts_with("/dev/")) return false;
    return std::none_of(constants_.begin(), constants_.end(),
                        [&](const Range& range) { return mapping.range.contains(range.start); });
  }

  const Target& target_;
  const Process* process_;
  std::vector<Range> constants_;
  PrivateMemory plan_;
};

// Memory that modules made read-only after relocation: all pages of a mapping that is not writable.
std::vector<Range> constants_of(const Modules& modules, const MemoryMap& map) {
  std::vector<Range> constants;
  for (const Module& module : modules.all()) {
    const auto relro = module.relro();
    const Mapping* mapping = relro ? map.find(relro->start) : nullptr;
    if (mapping == nullptr || !mapping->readable || heap::may_hold_allocations(*mapping)) continue;
    const RemoteAddr end = std::min(relro->end(), mapping->range.end());
    constants.push_back({relro->start, (end - relro->start) & ~std::uint64_t{7}});
  }
  return constants;
}

}  // namespace

std::optional<std::uint64_t> resident_bytes(const Target& target) {
  if (!target.process) return std::nullopt;
  const auto text = target.process->read_file("statm");
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  take_number(rest);  // the number of all pages
  const auto resident = take_number(rest);
  if (!resident) return std::nullopt;
  return *resident * page_bytes();
}

std::optional<std::uint64_t> anonymous_bytes(const Process& process) {
  const auto text = process.read_file("status");
  return text ? bytes_after(*text, "RssAnon") : std::nullopt;
}

std::uint64_t most_used_bytes(const Target& target) {
  const auto resident = resident_bytes(target);
  if (!resident) return ~std::uint64_t{0};
  const auto text = target.process->read_file("status");
  const auto swapped = text ? bytes_after(*text, "VmSwap") : std::nullopt;
  return swapped ? *resident + *swapped : ~std::uint64_t{0};
}

Result<std::vector<Range>> present_parts(const Process& process, Range range) {
  return parts_of(process, range, is_used);
}

Result<std::vector<Range>> touched_parts(const Process& process,
                                         std::span<const Range> ranges,
                                         std::chrono::steady_clock::time_point deadline) {
  constexpr std::uint64_t kSlice = std::uint64_t{1} << 30;
  std::vector<Range> parts;
  for (const Range& range : ranges) {
    if (range.bytes < kSmall || range.start.value % page_bytes() != 0) {
      parts.push_back(range);
      continue;
    }
    for (std::uint64_t done = 0; done < range.bytes; done += kSlice) {
      if (std::chrono::steady_clock::now() > deadline) {
        return Error{ErrorKind::Timeout, "looking for pages with contents"};
      }
      const Range slice{range.start + done, std::min(kSlice, range.bytes - done)};
      const std::vector<PageState> pages = HA_TRY(read_pages(process, slice));
      add_parts(slice, pages, is_used, parts);
      // The slice may end inside its last page.
      if (!parts.empty() && parts.back().end() > slice.end()) {
        parts.back().bytes = slice.end() - parts.back().start;
      }
    }
  }
  return parts;
}

PrivateMemory plan_private_copy(const Target& target,
                                const Process* process,
                                const MemoryMap& map) {
  CopyPlan plan(target, process, constants_of(target.modules, map));
  const auto& all = map.mappings();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (heap::is_guard_within(all, i)) {
      plan.add_guard(all[i]);
    } else {
      plan.add(all[i]);
    }
  }
  return std::move(plan).take();
}

void note_uncopied(const Process& process, PrivateMemory& copy) {
  constexpr std::array<std::string_view, 2> kFlags = {"dc", "wf"};
  const auto smaps = process.read_file("smaps");
  const auto map = process.maps();
  if (!smaps || !map) return;
  std::uint64_t bytes = 0;
  for (const Range& range : ranges_with_flags(*smaps, kFlags)) {
    const Mapping* mapping = map->find(range.start);
    if (mapping != nullptr && heap::may_hold_allocations(*mapping)) bytes += range.bytes;
  }
  if (bytes == 0) return;
  copy.unread.push_back(
      fmt::format("{} bytes were not searched, because the program keeps them out of copies of "
                  "itself: use --snapshot freeze",
                  bytes));
}

}  // namespace heapattach::snapshot
