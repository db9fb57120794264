#include "attach/core/core_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace heapattach {

namespace {

constexpr std::string_view kDeleted = " (deleted)";  // as the kernel marks such paths

// Facts about a mapped file other than the location of its parts.
struct FileFacts {
  std::uint64_t inode = 0;  // a number we make up
  std::size_t parts = 0;
  std::optional<bool> is_elf;
};

// Paths of memory that is shared.
constexpr std::array<std::string_view, 4> kShared = {"/dev/shm/", "/dev/zero", "/memfd:", "/SYSV"};

void drop_overlaps(std::vector<CoreMappedFile>& files) {
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return a.range.start < b.range.start; });
  RemoteAddr end{};
  std::erase_if(files, [&end](const CoreMappedFile& file) {
    if (file.range.start < end) return true;
    end = file.range.end();
    return false;
  });
}

class MapMaker {
 public:
  MapMaker(std::span<const CoreSegment> segments,
           std::vector<CoreMappedFile> files,
           const std::function<std::optional<bool>(RemoteAddr)>& begins_as_elf)
      : segments_(segments), files_(std::move(files)) {
    drop_overlaps(files_);
    for (const CoreMappedFile& file : files_) {
      FileFacts& facts = facts_[file.path];
      if (facts.inode == 0) facts.inode = facts_.size();
      ++facts.parts;
      if (file.file_offset == 0 && !facts.is_elf) facts.is_elf = begins_as_elf(file.range.start);
    }
  }

  MemoryMap make() {
    for (const CoreSegment& segment : segments_) add_segment(segment);
    for (const CoreMappedFile& file : files_) add_gaps(file);
    std::sort(mappings_.begin(), mappings_.end(),
              [](const Mapping& a, const Mapping& b) { return a.range < b.range; });
    return MemoryMap(std::move(mappings_));
  }

 private:
  void add_segment(const CoreSegment& segment) {
    Mapping mapping;
    mapping.range = segment.range;
    mapping.readable = segment.readable;
    mapping.writable = segment.writable;
    mapping.executable = segment.executable;
    auto file = std::partition_point(files_.begin(), files_.end(), [&](const CoreMappedFile& one) {
      return one.range.end() <= segment.range.start;
    });
    const bool is_of_file = file != files_.end() && file->range.start <= segment.range.start &&
                            segment.range.end() <= file->range.end();
    if (is_of_file) set_file(*file, mapping);
    const bool has_nothing = is_of_file && mapping.writable && segment.stored == 0;
    if (has_nothing && !is_program(*file)) mapping.is_private = false;
    mappings_.push_back(std::move(mapping));
  }

  // The parts of a file that no segment describes.
  void add_gaps(const CoreMappedFile& file) {
    RemoteAddr at = file.range.start;
    auto next = std::partition_point(segments_.begin(), segments_.end(),
                                     [at](const auto& one) { return one.range.end() <= at; });
    while (at < file.range.end()) {
      const bool is_last = next == segments_.end() || next->range.start >= file.range.end();
      const RemoteAddr end = is_last ? file.range.end() : std::max(at, next->range.start);
      if (end > at) {
        Mapping mapping;
        mapping.range = {at, end - at};
        mapping.readable = true;
        mapping.executable = is_program(file);
        set_file(file, mapping);
        mappings_.push_back(std::move(mapping));
      }
      if (is_last) return;
      at = std::max(end, next->range.end());
      ++next;
    }
  }

  [[nodiscard]] bool is_program(const CoreMappedFile& file) const {
    const FileFacts& facts = facts_.at(file.path);
    return facts.is_elf.value_or(facts.parts > 1);
  }

  // A core file does not say what is shared. Some names do; so does it that the core has nothing of
  // what the program could write to: it would have the pages of its own.
  void set_file(const CoreMappedFile& file, Mapping& mapping) const {
    mapping.file_offset = file.file_offset + (mapping.range.start - file.range.start);
    mapping.device = 1;
    mapping.inode = facts_.at(file.path).inode;
    mapping.path = file.path;
    mapping.is_deleted = file.path.ends_with(kDeleted);
    if (mapping.is_deleted) mapping.path.resize(mapping.path.size() - kDeleted.size());
    mapping.is_private = std::none_of(kShared.begin(), kShared.end(), [&](std::string_view one) {
      return mapping.path.starts_with(one);
    });
  }

  std::span<const CoreSegment> segments_;
  std::vector<CoreMappedFile> files_;
  std::map<std::string, FileFacts> facts_;
  std::vector<Mapping> mappings_;
};

}  // namespace

void make_disjoint(std::vector<CoreSegment>& segments) {
  std::stable_sort(
      segments.begin(), segments.end(),
      [](const CoreSegment& a, const CoreSegment& b) { return a.range.start < b.range.start; });
  RemoteAddr end{};
  std::erase_if(segments, [&end](const CoreSegment& segment) {
    if (segment.range.start < end) return true;
    end = segment.range.end();
    return false;
  });
}

MemoryMap core_map(std::span<const CoreSegment> segments,
                   std::vector<CoreMappedFile> files,
                   const std::function<std::optional<bool>(RemoteAddr)>& begins_as_elf) {
  return MapMaker(segments, std::move(files), begins_as_elf).make();
}

}  // namespace heapattach
