#include "report/diagnose/process_facts.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "attach/process/control_groups.h"
#include "attach/process/descriptors.h"
#include "attach/process/kernel_text.h"
#include "attach/process/thread_activity.h"

namespace heapattach::diagnose {

namespace {

std::string own_file(const Process& process, const std::string& name) {
  auto text = process.read_file(name);
  return text ? std::move(*text) : std::string();
}

void read_descriptors(const Process& process, std::string_view limits, ProcessFacts& facts) {
  std::map<std::string, std::uint64_t> kinds;
  const std::vector<Descriptor> open = open_descriptors(process);
  if (open.empty()) return;
  for (const Descriptor& one : open) kinds[descriptor_kind(one.link)] += 1;
  facts.descriptors = LimitedUse{open.size(), number_after(limits, "Max open files")};
  for (auto& [what, number] : kinds) facts.open.push_back({what, number});
  std::stable_sort(facts.open.begin(), facts.open.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
}

// The use that is nearest to its limit, of the group's and of those around it.
template <class UseOf>
std::optional<LimitedUse> tightest(const std::vector<GroupDirectory>& groups, const UseOf& use_of) {
  const auto share = [](const LimitedUse& use) {
    return static_cast<double>(use.used) / static_cast<double>(*use.limit);
  };
  std::optional<LimitedUse> found;
  for (const GroupDirectory& group : groups) {
    const LimitedUse use = use_of(group);
    if (!use.limit || *use.limit == 0) continue;
    if (!found || share(use) > share(*found)) found = use;
  }
  return found;
}

std::optional<LimitedUse> use_of_bytes(std::string_view status,
                                       std::string_view key,
                                       std::string_view limits,
                                       std::string_view name) {
  const auto used = bytes_after(status, key);
  if (!used) return {};
  return LimitedUse{*used, number_after(limits, name)};
}

void read_parent(std::string_view status, ProcessFacts& facts) {
  const auto pid = number_after(status, "PPid");
  if (!pid || *pid == 0) return;
  const auto parent = Process::open(static_cast<pid_t>(*pid));
  if (!parent) return;
  const auto threads = observe_activity(*parent);
  if (!threads) return;
  facts.parent = parent->pid();
  for (const ThreadActivity& one : *threads) facts.threads_of_parent.push_back(one.tid_in_target);
}

}  // namespace

std::string descriptor_kind(std::string_view link) {
  const std::size_t colon = link.find(":[");
  const bool is_numbered = colon != std::string_view::npos && !link.starts_with("anon_inode");
  if (is_numbered && !link.starts_with('/')) return std::string(link.substr(0, colon));
  return std::string(link);
}

ProcessFacts read_facts(const Process& process) {
  ProcessFacts facts;
  const std::string limits = own_file(process, "limits");
  const std::string status = own_file(process, "status");
  read_descriptors(process, limits, facts);
  if (const auto threads = number_after(status, "Threads")) {
    facts.threads = LimitedUse{*threads, number_after(limits, "Max processes")};
  }
  facts.address_space = use_of_bytes(status, "VmSize", limits, "Max address space");
  facts.private_data = use_of_bytes(status, "VmData", limits, "Max data size");
  facts.stack_limit = number_after(limits, "Max stack size");
  facts.resident_bytes = bytes_after(status, "VmRSS").value_or(0);
  facts.swapped_bytes = bytes_after(status, "VmSwap").value_or(0);
  if (const auto maps = process.maps()) {
    const std::string most = kernel_text("/proc/sys/vm/max_map_count");
    std::string_view rest = most;
    facts.mappings = LimitedUse{maps->mappings().size(), take_number(rest)};
  }
  read_parent(status, facts);
  facts.tasks = tightest(control_groups("pids", process), task_use);
  for (const GroupDirectory& group : control_groups("freezer", process)) {
    if (facts.frozen_group.empty() && is_frozen(group)) facts.frozen_group = group.path;
  }
  facts.group_memory = tightest(control_groups("memory", process), memory_use_that_stays);
  return facts;
}

}  // namespace heapattach::diagnose
