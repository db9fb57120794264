#include "attach/memory/stalling.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/base/page.h"

namespace heapattach {

namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 20;

// The next line of `text`, taken off its front.
std::string_view next_line(std::string_view& text) {
  const std::size_t length = text.find('\n');
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return line;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "7f00000000-7f00001000 rw-p …"
std::optional<Range> range_at_beginning(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const std::size_t dash = word.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto start = number(word.substr(0, dash), 16);
  const auto end = number(word.substr(dash + 1), 16);
  if (!start || !end || *end <= *start) return std::nullopt;
  return Range{RemoteAddr{*start}, *end - *start};
}

bool is_served(std::string_view type) {
  constexpr std::array<std::string_view, 9> kServed = {"fuse", "fuseblk", "nfs",  "nfs4", "cifs",
                                                       "smb3", "9p",      "ceph", "afs"};
  return type.starts_with("fuse.") ||
         std::find(kServed.begin(), kServed.end(), type) != kServed.end();
}

// Only root may read it; for everybody else the answer is "maybe".
bool may_have_userfaultfd() {
  const auto file = Fd::open("/proc/slabinfo", O_RDONLY);
  const auto text = file ? read_all(*file, kLongestText) : Result<std::string>(file.error());
  return !text || has_userfaultfd(*text);
}

std::vector<Range> userfaults_of(const Process& process) {
  if (!may_have_userfaultfd()) return {};
  const auto smaps = process.read_file("smaps");
  return smaps ? userfault_ranges(*smaps) : std::vector<Range>();
}

void add_served_files(const Process& process, std::vector<StallingMemory::Mapped>& all) {
  const auto mounts = process.read_file("mountinfo");
  const auto devices = mounts ? served_devices(*mounts) : std::set<std::uint64_t>();
  if (devices.empty()) return;
  const auto map = process.maps();
  if (!map) return;
  for (const Mapping& mapping : map->mappings()) {
    if (!mapping.is_anonymous() && devices.contains(mapping.device)) {
      all.push_back({mapping.range, false});
    }
  }
}

}  // namespace

std::vector<Range> ranges_with_flags(std::string_view smaps,
                                     std::span<const std::string_view> flags) {
  std::vector<Range> ranges;
  std::optional<Range> current;
  while (!smaps.empty()) {
    std::string_view line = next_line(smaps);
    if (const auto range = range_at_beginning(line)) current = range;
    if (!current || !line.starts_with("VmFlags:")) continue;
    next_word(line);
    for (std::string_view flag = next_word(line); !flag.empty(); flag = next_word(line)) {
      if (std::find(flags.begin(), flags.end(), flag) == flags.end()) continue;
      ranges.push_back(*current);
      break;
    }
  }
  return ranges;
}

std::vector<Range> userfault_ranges(std::string_view smaps) {
  // Missing pages, write protection, minor faults.
  constexpr std::array<std::string_view, 3> kFlags = {"um", "uw", "ui"};
  return ranges_with_flags(smaps, kFlags);
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": proc_pid_mountinfo(5).
std::set<std::uint64_t> served_devices(std::string_view mountinfo) {
  std::set<std::uint64_t> devices;
  while (!mountinfo.empty()) {
    std::string_view line = next_line(mountinfo);
    const std::size_t mark = line.find(" - ");
    if (mark == std::string_view::npos) continue;
    std::string_view after = line.substr(mark + 3);
    if (!is_served(next_word(after))) continue;
    next_word(line);
    next_word(line);
    const std::string_view device = next_word(line);
    const std::size_t colon = std::min(device.find(':'), device.size());
    const auto major = number(device.substr(0, colon), 10);
    const auto minor = number(device.substr(std::min(colon + 1, device.size())), 10);
    if (!major || !minor) continue;
    devices.insert(makedev(static_cast<unsigned>(*major), static_cast<unsigned>(*minor)));
  }
  return devices;
}

// A cache with a constructor is never merged with others, so it is listed under its own name
// (mm/slab_common.c: slab_unmergeable). "name <active objects> <objects> …"
bool has_userfaultfd(std::string_view slabinfo) {
  while (!slabinfo.empty()) {
    std::string_view line = next_line(slabinfo);
    if (next_word(line) != "userfaultfd_ctx_cache") continue;
    next_word(line);
    return number(next_word(line), 10).value_or(1) > 0;
  }
  return false;
}

bool has_userfaults(const Process& process) {
  return !userfaults_of(process).empty();
}

StallingMemory StallingMemory::of(const Process& process) {
  std::vector<Mapped> all;
  for (const Range& range : userfaults_of(process)) all.push_back({range, true});
  add_served_files(process, all);
  if (all.empty()) return {};
  // The lists are from two moments and may overlap; the first wins.
  std::stable_sort(all.begin(), all.end(),
                   [](const Mapped& a, const Mapped& b) { return a.range.start < b.range.start; });
  std::vector<Mapped> apart;
  for (const Mapped& one : all) {
    if (apart.empty() || apart.back().range.end() <= one.range.start) apart.push_back(one);
  }
  auto pagemap = process.open_file("pagemap", O_RDONLY);
  return {std::move(apart), pagemap ? std::move(*pagemap) : Fd()};
}

std::uint64_t StallingMemory::userfault_bytes(const std::vector<Range>& parts) const {
  std::uint64_t bytes = 0;
  for (const Range& part : parts) {
    for (const Mapped& mapped : mapped_) {
      const auto start = std::max(part.start, mapped.range.start);
      const auto end = std::min(part.end(), mapped.range.end());
      if (mapped.has_userfaults && start < end) bytes += end.value - start.value;
    }
  }
  return bytes;
}

StallingMemory::Part StallingMemory::first_part(Range range) const {
  const auto next = std::partition_point(mapped_.begin(), mapped_.end(), [&](const Mapped& mapped) {
    return mapped.range.end() <= range.start;
  });
  if (next == mapped_.end() || range.end() <= next->range.start) return {range.bytes, false};
  if (range.start < next->range.start) return {next->range.start - range.start, false};
  const std::uint64_t end = std::min(range.end().value, next->range.end().value);
  return part_within(*next, {range.start, end - range.start.value});
}

// Documentation/admin-guide/mm/pagemap.rst. Under a userfaultfd, a swapped-out page counts as
// absent: the kernel also marks pages as swapped that were never provided.
StallingMemory::Part StallingMemory::part_within(const Mapped& mapped, Range range) const {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
  const std::uint64_t there = mapped.has_userfaults ? kPresent : kPresent | kSwapped;
  std::array<std::uint64_t, 512> pages{};
  const std::uint64_t first = range.start.value / page_bytes();
  const std::uint64_t count = std::min<std::uint64_t>(
      (range.end().value + page_bytes() - 1) / page_bytes() - first, pages.size());
  const ssize_t got = pread(pagemap_.get(), pages.data(), count * sizeof pages[0],
                            static_cast<off_t>(first * sizeof pages[0]));
  if (got < static_cast<ssize_t>(sizeof pages[0])) return {range.bytes, true};
  const auto known = static_cast<std::size_t>(got) / sizeof pages[0];
  const auto is_there = [&](std::size_t i) { return (pages[i] & there) != 0; };
  std::size_t same = 1;
  while (same < known && is_there(same) == is_there(0)) ++same;
  const std::uint64_t end = std::min(range.end().value, (first + same) * page_bytes());
  return {end - range.start.value, !is_there(0)};
}

}  // namespace heapattach
