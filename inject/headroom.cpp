#include "inject/headroom.h"

#include <algorithm>
#include <charconv>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/memory/stalling.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
// Room for the clone's own structures, and for the first pages that the target writes to.
constexpr std::uint64_t kMargin = 16 * kMegabyte;
// A fast writer makes 400 to 800 MB of copies a second, and a clone of that many bytes ends in less
// than a second.
constexpr std::uint64_t kReserve = 8 * kMegabyte;
constexpr std::uint64_t kReservedShare = 32;
// For the pages of code that a trace changes, and what the target itself takes meanwhile.
constexpr std::uint64_t kRecorderMargin = 2 * kMegabyte;
constexpr std::uint64_t kPauseMsPerGigabyte = 15;
constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
constexpr int kKcmpMemory = 1;  // KCMP_VM

std::string text_of(const std::string& path) {
  const auto file = Fd::open(path, O_RDONLY);
  if (!file) return {};
  auto text = read_all(*file, std::size_t{1} << 20);
  return text ? std::move(*text) : std::string();
}

// "max" and anything else that is not a number means no limit.
std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  const std::string text = text_of(path);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : otherwise;
}

// Calls `take` with each line of a text.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    take(text.substr(0, length));
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  }
}

std::string_view take_word(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  const std::string_view found = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return found;
}

bool has_word(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    if (take_word(list, ',') == wanted) return true;
  }
  return false;
}

// A number from a line of memory.stat, which has no colon and no unit.
std::uint64_t statistic(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  for_each_line(text, [&](std::string_view line) {
    if (take_word(line, ' ') == key) std::from_chars(line.data(), line.data() + line.size(), value);
  });
  return value;
}

// The bytes left below the group's limit. Memory that the kernel could drop counts as used here.
std::uint64_t unused_bytes(const GroupDirectory& directory) {
  const std::string& at = directory.path;
  const bool is_new = directory.is_version_2;
  const std::uint64_t limit =
      number_in(at + (is_new ? "/memory.max" : "/memory.limit_in_bytes"), kUnlimited);
  const std::uint64_t used =
      number_in(at + (is_new ? "/memory.current" : "/memory.usage_in_bytes"), 0);
  return limit - std::min(limit, used);
}

GroupMemory look_at(const GroupDirectory& directory) {
  const std::string& at = directory.path;
  const bool is_new = directory.is_version_2;
  const std::uint64_t unused = unused_bytes(directory);
  const std::uint64_t files =
      statistic(text_of(at + "/memory.stat"), is_new ? "inactive_file" : "total_inactive_file");
  return {.path = at,
          .free_bytes = unused + std::min(files, kUnlimited - unused),
          .kills_all_together = is_new && number_in(at + "/memory.oom.group", 0) == 1};
}

std::string in_megabytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", (bytes + kMegabyte - 1) / kMegabyte);
}
std::string in_kilobytes(std::uint64_t bytes) {
  return fmt::format("{} KiB", bytes / 1024);
}

std::vector<GroupMemory> groups_of(const Process& process) {
  const auto theirs = process.read_file("cgroup");
  if (!theirs) return {};
  const std::string mounts = text_of("/proc/self/mounts");
  const auto ours = memory_groups(text_of("/proc/self/cgroup"), mounts);
  std::vector<GroupMemory> found;
  for (const GroupDirectory& directory : memory_groups(*theirs, mounts)) {
    found.push_back(look_at(directory));
    found.back().is_ours = std::any_of(ours.begin(), ours.end(), [&](const GroupDirectory& one) {
      return one.path == directory.path;
    });
  }
  return found;
}

bool shares_memory_with_parent(const Process& process) {
  const auto status = process.read_file("status");
  if (!status) return false;
  long parent = 0;
  for_each_line(*status, [&](std::string_view line) {
    if (!line.starts_with("PPid:\t")) return;
    line.remove_prefix(6);
    std::from_chars(line.data(), line.data() + line.size(), parent);
  });
  return parent > 0 && syscall(SYS_kcmp, process.pid(), parent, kKcmpMemory, 0, 0) == 0;
}

std::optional<std::string> lack_of_memory(const CloneFacts& facts) {
  const std::uint64_t at_once =
      facts.page_table_bytes + kMargin + facts.anonymous_bytes / kReservedShare;
  if (facts.available_bytes < at_once) {
    return fmt::format("the copy needs {} at once, and the machine has {} to spare",
                       in_megabytes(at_once), in_megabytes(facts.available_bytes));
  }
  for (const GroupMemory& group : facts.groups) {
    if (group.free_bytes < at_once) {
      return fmt::format("the copy needs {} at once, and the control group {} has {} left",
                         in_megabytes(at_once), group.path, in_megabytes(group.free_bytes));
    }
    if (group.kills_all_together && group.free_bytes < at_once + facts.anonymous_bytes) {
      return fmt::format(
          "if memory ran out in the control group {}, the kernel would kill all of it "
          "(memory.oom.group), and it has {} left",
          group.path, in_megabytes(group.free_bytes));
    }
  }
  if (facts.commits_strictly && facts.commit_left_bytes < facts.private_bytes) {
    return fmt::format("vm.overcommit_memory is 2, and a copy would be charged {}, but {} are left",
                       in_megabytes(facts.private_bytes), in_megabytes(facts.commit_left_bytes));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_line(std::string_view text, std::string_view key) {
  std::optional<std::uint64_t> found;
  for_each_line(text, [&](std::string_view line) {
    if (take_word(line, ':') != key) return;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), value);
    if (parsed.ec == std::errc() && value <= kUnlimited / 1024) found = value * 1024;
  });
  return found;
}

std::vector<GroupDirectory> memory_groups(std::string_view cgroup, std::string_view mounts) {
  // The directories where the memory groups of version 1 and 2 are mounted. A later mount covers an
  // earlier one.
  std::string mounted_1;
  std::string mounted_2;
  for_each_line(mounts, [&](std::string_view line) {
    take_word(line, ' ');
    const std::string_view at = take_word(line, ' ');
    const std::string_view type = take_word(line, ' ');
    const std::string_view options = take_word(line, ' ');
    if (type == "cgroup2") mounted_2 = at;
    if (type == "cgroup" && has_word(options, "memory")) mounted_1 = at;
  });
  std::vector<GroupDirectory> found;
  for_each_line(cgroup, [&](std::string_view line) {
    const bool is_version_2 = take_word(line, ':') == "0";
    const std::string_view controllers = take_word(line, ':');
    if (!is_version_2 && !has_word(controllers, "memory")) return;
    const std::string& mounted = is_version_2 ? mounted_2 : mounted_1;
    if (mounted.empty()) return;
    std::string path(line);  // begins with a slash; "/../x" is outside of our namespace
    while (path.size() > 1 && path.find("..") == std::string::npos) {
      found.push_back({mounted + path, is_version_2});
      path.resize(path.find_last_of('/'));
    }
  });
  return found;
}

std::chrono::milliseconds estimated_clone_pause(const CloneFacts& facts) {
  return std::chrono::milliseconds(1 + facts.anonymous_bytes / kMegabyte * kPauseMsPerGigabyte /
                                           (kGigabyte / kMegabyte));
}

std::optional<std::string> obstacle_to_clone(const CloneFacts& facts,
                                             std::chrono::milliseconds longest) {
  if (facts.shares_its_memory) {
    return "it shares its memory with its parent, as between vfork and execve";
  }
  if (facts.makes_namespaces) {
    return "its next child would be the first process of a new pid namespace, and end it";
  }
  if (facts.has_userfaults) {
    return "some of its memory comes from a userfaultfd, which a copy would not have, and copying "
           "may have to wait for the process that serves it";
  }
  if (const auto pause = estimated_clone_pause(facts); pause > longest) {
    return fmt::format("copying the page tables of {} may take {} ms, and {} ms are allowed",
                       in_megabytes(facts.anonymous_bytes), pause.count(), longest.count());
  }
  return lack_of_memory(facts);
}

std::optional<std::string> obstacle_to_recorder(const CloneFacts& facts, const RecorderNeed& need) {
  const std::uint64_t in_target = need.target_bytes + kRecorderMargin;
  const std::uint64_t in_all = in_target + need.own_bytes;
  if (facts.available_bytes < in_all) {
    return fmt::format("the recorder needs {} at once, and the machine has {} to spare",
                       in_kilobytes(in_all), in_kilobytes(facts.available_bytes));
  }
  for (const GroupMemory& group : facts.groups) {
    const std::uint64_t needed = group.is_ours ? in_all : in_target;
    if (group.free_bytes >= needed) continue;
    return fmt::format("the recorder needs {} at once, and the control group {} has {} left",
                       in_kilobytes(needed), group.path, in_kilobytes(group.free_bytes));
  }
  return std::nullopt;
}

std::uint64_t reserve_bytes(std::uint64_t anonymous_bytes) {
  return kReserve + anonymous_bytes / kReservedShare;
}

Headroom Headroom::of(const Process& process, const CloneFacts& facts) {
  Headroom room;
  room.reserve_ = reserve_bytes(facts.anonymous_bytes);
  if (const auto groups = process.read_file("cgroup")) {
    room.groups_ = memory_groups(*groups, text_of("/proc/self/mounts"));
  }
  return room;
}

std::optional<std::string> Headroom::shortage() const {
  for (const GroupDirectory& group : groups_) {
    // The second check costs more, and is needed only where files fill the group up.
    if (unused_bytes(group) >= reserve_) continue;
    const std::uint64_t left = look_at(group).free_bytes;
    if (left >= reserve_) continue;
    return fmt::format("the control group {} had {} left", group.path, in_megabytes(left));
  }
  const auto left = bytes_of_line(text_of("/proc/meminfo"), "MemAvailable").value_or(kUnlimited);
  if (left >= reserve_) return std::nullopt;
  return fmt::format("the machine had {} left", in_megabytes(left));
}

Result<CloneFacts> clone_facts(const Process& process) {
  CloneFacts facts;
  const std::string status = HA_TRY(process.read_file("status"));
  facts.anonymous_bytes = bytes_of_line(status, "RssAnon").value_or(0);
  facts.page_table_bytes = bytes_of_line(status, "VmPTE").value_or(0);
  facts.private_bytes = bytes_of_line(status, "VmData").value_or(0);
  const std::string memory = text_of("/proc/meminfo");
  facts.available_bytes = bytes_of_line(memory, "MemAvailable").value_or(kUnlimited);
  facts.commits_strictly = number_in("/proc/sys/vm/overcommit_memory", 0) == 2;
  const std::uint64_t limit = bytes_of_line(memory, "CommitLimit").value_or(kUnlimited);
  const std::uint64_t committed = bytes_of_line(memory, "Committed_AS").value_or(0);
  facts.commit_left_bytes = limit - std::min(limit, committed);
  facts.groups = groups_of(process);
  const auto own = process.read_link("ns/pid");
  const auto children = process.read_link("ns/pid_for_children");
  facts.makes_namespaces = own && (!children || *own != *children);
  facts.has_userfaults = has_userfaults(process);
  facts.shares_its_memory = shares_memory_with_parent(process);
  return facts;
}

}  // namespace heapattach
