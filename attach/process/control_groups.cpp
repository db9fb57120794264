#include "attach/process/control_groups.h"

#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

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

// "max", and anything else that is not a number, means no limit.
std::optional<std::uint64_t> number_in(const std::string& path) {
  const std::string text = kernel_text(path);
  std::string_view rest = text;
  return take_number(rest);
}

// The directories where groups with the controller are mounted. A later mount covers an earlier
// one.
struct Mounted {
  std::string version_1;
  std::string version_2;
};

Mounted mounted_groups(std::string_view controller, std::string_view mounts) {
  Mounted found;
  for_each_line(mounts, [&](std::string_view line) {
    take_word(line, ' ');
    const std::string_view at = take_word(line, ' ');
    const std::string_view type = take_word(line, ' ');
    const std::string_view options = take_word(line, ' ');
    if (type == "cgroup2") found.version_2 = at;
    if (type == "cgroup" && has_word(options, controller)) found.version_1 = at;
  });
  return found;
}

}  // namespace

std::vector<GroupDirectory> control_groups(std::string_view controller,
                                           std::string_view cgroup,
                                           std::string_view mounts) {
  const Mounted mounted = mounted_groups(controller, mounts);
  std::vector<GroupDirectory> found;
  for_each_line(cgroup, [&](std::string_view line) {
    const bool is_version_2 = take_word(line, ':') == "0";
    const std::string_view controllers = take_word(line, ':');
    if (!is_version_2 && !has_word(controllers, controller)) return;
    const std::string& at = is_version_2 ? mounted.version_2 : mounted.version_1;
    std::string path(line);  // begins with a slash; "/../x" is outside of our namespace
    if (at.empty() || !path.starts_with('/') || path.find("..") != std::string::npos) return;
    if (path.ends_with('/')) path.pop_back();
    while (true) {
      found.push_back({at + path, is_version_2});
      if (path.empty()) return;
      path.resize(path.find_last_of('/'));
    }
  });
  return found;
}

std::vector<GroupDirectory> control_groups(std::string_view controller, const Process& process) {
  const auto groups = process.read_file("cgroup");
  if (!groups) return {};
  return control_groups(controller, *groups, kernel_text("/proc/self/mounts"));
}

LimitedUse memory_use(const GroupDirectory& group) {
  const bool is_new = group.is_version_2;
  return {
      number_in(group.path + (is_new ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0),
      number_in(group.path + (is_new ? "/memory.max" : "/memory.limit_in_bytes"))};
}

LimitedUse memory_use_that_stays(const GroupDirectory& group) {
  LimitedUse use = memory_use(group);
  if (use.limit) use.used -= std::min(use.used, droppable_bytes(group));
  return use;
}

std::vector<GroupDirectory> own_control_groups(std::string_view controller) {
  return control_groups(controller, kernel_text("/proc/self/cgroup"),
                        kernel_text("/proc/self/mounts"));
}

std::uint64_t memory_left() {
  auto left = bytes_after(kernel_text("/proc/meminfo"), "MemAvailable").value_or(0);
  for (const GroupDirectory& group : own_control_groups("memory")) {
    const LimitedUse use = memory_use_that_stays(group);
    if (use.limit) left = std::min(left, *use.limit - std::min(*use.limit, use.used));
  }
  return left;
}

bool is_frozen(const GroupDirectory& group) {
  if (!group.is_version_2) return kernel_text(group.path + "/freezer.state").starts_with("FR");
  return number_after(kernel_text(group.path + "/cgroup.events"), "frozen") == 1;
}

LimitedUse task_use(const GroupDirectory& group) {
  return {number_in(group.path + "/pids.current").value_or(0), number_in(group.path + "/pids.max")};
}

std::uint64_t droppable_bytes(const GroupDirectory& group) {
  return number_after(kernel_text(group.path + "/memory.stat"),
                      group.is_version_2 ? "inactive_file" : "total_inactive_file")
      .value_or(0);
}

}  // namespace heapattach
