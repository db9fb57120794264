#include "inject/headroom.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/memory/stalling.h"
#include "attach/process/control_groups.h"
#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
// Room for the clone's own structures, and for the first pages that the target writes to.
constexpr std::uint64_t kMargin = 16 * kMegabyte;
// The clone is given up when less than this is left. A program that writes fast makes 400 to 800 MB
// of copies a second, and a clone of that size ends in less than a second.
constexpr std::uint64_t kReserve = 8 * kMegabyte;
constexpr std::uint64_t kReservedShare = 32;
// Room for the pages of code that a trace changes, and for what the target itself allocates
// meanwhile.
constexpr std::uint64_t kRecorderMargin = 2 * kMegabyte;
constexpr std::uint64_t kPauseMsPerGigabyte = 15;
constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
constexpr int kKcmpMemory = 1;  // KCMP_VM

bool has_number(const std::string& path, std::uint64_t wanted) {
  const std::string text = kernel_text(path);
  std::string_view rest = text;
  return take_number(rest) == wanted;
}

// The bytes left below the group's limit. Memory that the kernel could drop counts as used.
std::uint64_t unused_bytes(const GroupDirectory& group) {
  const LimitedUse use = memory_use(group);
  const std::uint64_t limit = use.limit.value_or(kUnlimited);
  return limit - std::min(limit, use.used);
}

GroupMemory look_at(const GroupDirectory& group) {
  const std::uint64_t unused = unused_bytes(group);
  return {
      .path = group.path,
      .free_bytes = unused + std::min(droppable_bytes(group), kUnlimited - unused),
      .kills_all_together = group.is_version_2 && has_number(group.path + "/memory.oom.group", 1)};
}

std::string in_megabytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", (bytes + kMegabyte - 1) / kMegabyte);
}
std::string in_kilobytes(std::uint64_t bytes) {
  return fmt::format("{} KiB", bytes / 1024);
}

std::vector<GroupMemory> groups_of(const Process& process) {
  const auto ours = own_control_groups("memory");
  std::vector<GroupMemory> found;
  for (const GroupDirectory& group : control_groups("memory", process)) {
    found.push_back(look_at(group));
    found.back().is_ours = std::any_of(ours.begin(), ours.end(), [&](const GroupDirectory& one) {
      return one.path == group.path;
    });
  }
  return found;
}

bool shares_memory_with_parent(const Process& process) {
  const auto status = process.read_file("status");
  if (!status) return false;
  const auto parent = number_after(*status, "PPid");
  return parent && *parent > 0 &&
         syscall(SYS_kcmp, process.pid(), static_cast<pid_t>(*parent), kKcmpMemory, 0, 0) == 0;
}

bool has_private_huge_pages(const Process& process, std::string_view status) {
  constexpr std::array<std::string_view, 1> kHuge = {"ht"};
  if (bytes_after(status, "HugetlbPages").value_or(0) == 0) return false;
  const auto smaps = process.read_file("smaps");
  const auto map = process.maps();
  if (!smaps || !map) return true;
  const std::vector<Range> huge = ranges_with_flags(*smaps, kHuge);
  return std::any_of(huge.begin(), huge.end(), [&](const Range& range) {
    const Mapping* const mapping = map->find(range.start);
    return mapping == nullptr || mapping->is_private;
  });
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
    return "its next child would be process 1 of a new pid namespace, which ends with that process";
  }
  if (facts.has_userfaults) {
    return "some of its memory comes from a userfaultfd, which a copy would not have, and copying "
           "may have to wait for the process that serves it";
  }
  if (facts.has_huge_pages) {
    return "it has huge pages of its own: with a copy, the next write to one needs another, and if "
           "there is none, the kernel kills the process, or takes the page from the copy";
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
  room.groups_ = control_groups("memory", process);
  return room;
}

std::optional<std::string> Headroom::shortage() const {
  for (const GroupDirectory& group : groups_) {
    // The second check costs more, and is needed only if cached files fill the group up.
    if (unused_bytes(group) >= reserve_) continue;
    const std::uint64_t left = look_at(group).free_bytes;
    if (left >= reserve_) continue;
    return fmt::format("the control group {} had {} left", group.path, in_megabytes(left));
  }
  const auto left = bytes_after(kernel_text("/proc/meminfo"), "MemAvailable").value_or(kUnlimited);
  if (left >= reserve_) return std::nullopt;
  return fmt::format("the machine had {} left", in_megabytes(left));
}

Result<CloneFacts> clone_facts(const Process& process) {
  CloneFacts facts;
  const std::string status = HA_TRY(process.read_file("status"));
  facts.anonymous_bytes = bytes_after(status, "RssAnon").value_or(0);
  facts.page_table_bytes = bytes_after(status, "VmPTE").value_or(0);
  facts.private_bytes = bytes_after(status, "VmData").value_or(0);
  const std::string memory = kernel_text("/proc/meminfo");
  facts.available_bytes = bytes_after(memory, "MemAvailable").value_or(kUnlimited);
  facts.commits_strictly = has_number("/proc/sys/vm/overcommit_memory", 2);
  const std::uint64_t limit = bytes_after(memory, "CommitLimit").value_or(kUnlimited);
  const std::uint64_t committed = bytes_after(memory, "Committed_AS").value_or(0);
  facts.commit_left_bytes = limit - std::min(limit, committed);
  facts.groups = groups_of(process);
  const auto own = process.read_link("ns/pid");
  const auto children = process.read_link("ns/pid_for_children");
  facts.makes_namespaces = own && (!children || *own != *children);
  facts.has_userfaults = has_userfaults(process);
  facts.has_huge_pages = has_private_huge_pages(process, status);
  facts.shares_its_memory = shares_memory_with_parent(process);
  return facts;
}

}  // namespace heapattach
