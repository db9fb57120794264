#include "report/collect/other_references.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attach/base/page.h"
#include "attach/kernel/kept_words.h"
#include "inject/trace/reader.h"
#include "report/collect/private_memory.h"
#include "symbols/heap/by_hand.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kMostShared = 64U << 20;  // mapped; and as much of memfds

// How long a process may be stopped for what the kernel keeps for its descriptors.
constexpr std::chrono::milliseconds kLongestLook{50};

// Addresses that no process has, for copies of what the kernel keeps.
constexpr RemoteAddr kKept{0xffff'8000'0000'0000};

// Files are searched last: addresses in them are mostly useless, because they outlive the process.
bool is_file(const Mapping& mapping) {
  return mapping.path.starts_with('/') && !mapping.is_deleted &&
         !mapping.path.starts_with("/dev/shm/");
}

// Memory that the kernel may keep while the process's page tables do not have it. The kernel's own
// rings are always there, and files keep their contents on disk.
bool is_memory(const Mapping& mapping) {
  return mapping.path.starts_with('/') && !mapping.path.starts_with("/[") && !is_file(mapping);
}

// Shared memory in the order in which it is searched: small mappings first, and files last.
std::vector<const Mapping*> shared_memory(const MemoryMap& map) {
  std::vector<const Mapping*> shared;
  for (const Mapping& mapping : map.mappings()) {
    // A recorder's own ring keeps nothing alive.
    const bool is_ours = mapping.path == trace::ring_path();
    if (heap::is_shared_memory(mapping) && !is_ours) shared.push_back(&mapping);
  }
  std::stable_sort(shared.begin(), shared.end(), [](const Mapping* a, const Mapping* b) {
    return std::pair(is_file(*a), a->range.bytes) < std::pair(is_file(*b), b->range.bytes);
  });
  return shared;
}

// Chooses the parts of shared memory to copy.
class SharedParts {
 public:
  explicit SharedParts(const Opened& target) : target_(target) {}

  void add(const Mapping& mapping) {
    if (left_ == 0) {
      left_out_ += mapping.range.bytes;
      return;
    }
    std::uint64_t absent = mapping.range.bytes;
    std::vector<MappedFile::Part> read;
    for (Range part : present(mapping.range)) {
      const std::uint64_t bytes = std::min(part.bytes, left_);
      left_out_ += part.bytes - bytes;
      left_ -= bytes;
      absent -= std::min(absent, part.bytes);
      part.bytes = bytes;
      if (bytes == 0) continue;
      parts_.push_back(part);
      read.push_back({mapping.file_offset + (part.start - mapping.range.start), bytes});
    }
    if (is_memory(mapping)) add_file(mapping, read, absent);
  }

  std::vector<Range> take() {
    std::sort(parts_.begin(), parts_.end());
    return std::move(parts_);
  }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] const std::map<FileId, MappedFile>& files() const { return files_; }

 private:
  void add_file(const Mapping& mapping,
                const std::vector<MappedFile::Part>& read,
                std::uint64_t absent) {
    MappedFile& file = files_[{mapping.device, mapping.inode}];
    file.read.insert(file.read.end(), read.begin(), read.end());
    file.absent_bytes += absent;
    file.name =
        fmt::format("map_files/{:x}-{:x}", mapping.range.start.value, mapping.range.end().value);
  }

  // A core file has what it has.
  [[nodiscard]] std::vector<Range> present(Range range) const {
    if (!target_.process) return {range};
    if (range.bytes > kLargestMapping) return {};
    auto parts = present_parts(*target_.process, range);
    return parts ? std::move(*parts) : std::vector<Range>();
  }

  const Opened& target_;
  std::vector<Range> parts_;
  std::uint64_t left_ = kMostShared;
  std::uint64_t left_out_ = 0;
  std::map<FileId, MappedFile> files_;
};

// The part of the copied ranges that could not be read, such as memory of memfd_secret(2).
std::uint64_t unread_bytes(std::span<const Range> copied, const Capture& capture) {
  std::uint64_t bytes = 0;
  for (const Range& hole : capture.holes()) {
    for (const Range& range : copied) {
      const RemoteAddr begin = std::max(hole.start, range.start);
      const RemoteAddr end = std::min(hole.end(), range.end());
      if (begin < end) bytes += end - begin;
    }
  }
  return bytes;
}

// The bytes that the kernel keeps, as memory.
class KeptMemory final : public MemoryReader {
 public:
  explicit KeptMemory(std::vector<KeptWords> words) : words_(std::move(words)) {
    RemoteAddr at = kKept;
    for (const KeptWords& one : words_) {
      roots_.push_back({.kind = heap::RootKind::Kept,
                        .range = {at, one.bytes.size()},
                        .name = one.name,
                        .is_packed = one.is_packed});
      // A gap, so that no word is of two pieces.
      at = at + (one.bytes.size() / kLeastPageBytes + 2) * kLeastPageBytes;
    }
  }

  [[nodiscard]] const std::vector<heap::RootRange>& roots() const { return roots_; }
  [[nodiscard]] std::vector<Range> ranges() const {
    std::vector<Range> ranges;
    for (const heap::RootRange& root : roots_) ranges.push_back(root.range);
    return ranges;
  }

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const Range range = roots_[i].range;
      if (!range.contains(from)) continue;
      const std::size_t count = std::min<std::uint64_t>(into.size(), range.end() - from);
      std::memcpy(into.data(), words_[i].bytes.data() + (from - range.start), count);
      return count;
    }
    return Error{ErrorKind::Fault, fmt::format("{} is not kept by the kernel", from)};
  }

 private:
  std::vector<KeptWords> words_;
  std::vector<heap::RootRange> roots_;  // one for each of `words_`
};

// Whether it is memory without access rights that may have contents. What only reserves addresses
// is larger.
bool may_be_forbidden(const Mapping& mapping) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  return mapping.is_private && mapping.is_anonymous() && !mapping.readable &&
         mapping.range.bytes <= kMost;
}

// Each is a ring of completed requests, which is searched; the requests before that are not shown.
std::uint64_t aio_contexts(const MemoryMap& map) {
  return static_cast<std::uint64_t>(
      std::count_if(map.mappings().begin(), map.mappings().end(),
                    [](const Mapping& mapping) { return mapping.path == "/[aio]"; }));
}

// /proc/<pid>/mem shows these pages, too.
Result<void> copy_forbidden(const Process& process,
                            const MemoryMap& map,
                            const CopyLimits& limits,
                            Capture& capture,
                            OtherReferences& others) {
  std::vector<Range> pages;
  const auto& all = map.mappings();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mapping& mapping = all[i];
    if (!may_be_forbidden(mapping) || heap::is_guard_within(all, i)) continue;
    const auto parts = present_parts(process, mapping.range);
    if (parts) pages.insert(pages.end(), parts->begin(), parts->end());
  }
  if (pages.empty()) return {};
  const LiveMemory memory(process, HA_TRY(LiveMemory::open_mem(process)), LiveMemory::By::MemFile);
  HA_TRY(capture.add(memory, pages, limits));
  for (const Range& range : pages) {
    others.roots.push_back({.range = range, .name = "(memory without access rights)"});
  }
  return {};
}

}  // namespace

Result<OtherReferences> copy_other_references(const Opened& target,
                                              const MemoryMap& map,
                                              std::span<const Descriptor> before,
                                              const CopyLimits& limits,
                                              Capture& capture) {
  OtherReferences others;
  SharedParts shared(target);
  for (const Mapping* mapping : shared_memory(map)) shared.add(*mapping);
  others.shared = shared.take();
  HA_TRY(capture.add(target.memory, others.shared, limits));
  std::uint64_t left_out = shared.left_out() + unread_bytes(others.shared, capture);
  if (target.process) {
    // The process is stopped meanwhile, and the rest of the copy needs time, too.
    const auto now = std::chrono::steady_clock::now();
    const auto until =
        now + std::min<std::chrono::nanoseconds>(kLongestLook, (limits.deadline - now) / 2);
    KeptByKernel kept = read_kept_words(
        *target.process,
        {.file_bytes = kMostShared, .before = before, .until = until, .mapped = shared.files()});
    const KeptMemory memory(std::move(kept.words));
    HA_TRY(capture.add(memory, memory.ranges(), limits));
    others.roots = memory.roots();
    left_out += kept.left_out_bytes;
    if (kept.left_out_descriptors > 0) {
      others.unsearched.push_back({heap::kUnsearchedFiles, {}, kept.left_out_descriptors});
    }
    if (kept.request_queues > 0) {
      others.unsearched.push_back({heap::kRequestQueues, {}, kept.request_queues});
    }
    if (const std::uint64_t contexts = aio_contexts(map); contexts > 0) {
      others.unsearched.push_back({heap::kAioContexts, {}, contexts});
    }
    HA_TRY(copy_forbidden(*target.process, map, limits, capture, others));
  }
  if (left_out > 0) others.unsearched.push_back({heap::kUnsearchedShared, {}, left_out});
  return others;
}

}  // namespace heapattach::snapshot
