#include "report/cli/find_processes.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/directory.h"
#include "attach/base/fd.h"
#include "attach/base/guardian.h"
#include "attach/process/thread_state.h"
#include "report/glob.h"

namespace heapattach {

namespace {

std::optional<pid_t> number(std::string_view text) {
  pid_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return value;
}

}  // namespace

// "4711 (name) S 1 …": the name may contain anything, but nothing after it contains a parenthesis.
std::optional<ListedProcess> parse_listed(std::string_view stat) {
  const std::size_t open = stat.find(" (");
  const std::size_t close = stat.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) {
    return {};
  }
  std::string_view rest = stat.substr(close + 2);
  if (rest.size() < 3 || rest[1] != ' ') return {};
  rest.remove_prefix(2);
  const auto pid = number(stat.substr(0, open));
  const auto parent = number(rest.substr(0, rest.find(' ')));
  if (!pid || !parent) return {};
  return ListedProcess{*pid, *parent, std::string(stat.substr(open + 2, close - open - 2))};
}

std::optional<ListedProcess> listed_process(pid_t pid) {
  constexpr std::size_t kLongestStat = 8192;
  const auto file = Fd::open(fmt::format("/proc/{}/stat", pid), O_RDONLY);
  if (!file) return {};
  const auto text = read_all(*file, kLongestStat);
  const auto state = text ? parse_thread_state(*text) : Result<ThreadState>(text.error());
  if (!state || state->is_kernel_thread() || state->is_exiting()) return {};
  return parse_listed(*text);
}

std::vector<ListedProcess> list_processes() {
  std::vector<ListedProcess> all;
  const Directory proc(opendir("/proc"));
  if (proc == nullptr) return all;
  while (const dirent* entry = readdir(proc.get())) {  // NOLINT(concurrency-mt-unsafe)
    const auto pid = number(entry->d_name);
    if (!pid || *pid == ::getpid() || *pid == guardian_pid()) continue;
    if (auto listed = listed_process(*pid)) all.push_back(std::move(*listed));
  }
  std::sort(all.begin(), all.end(),
            [](const ListedProcess& a, const ListedProcess& b) { return a.pid < b.pid; });
  return all;
}

std::vector<pid_t> tree_of(const std::vector<ListedProcess>& all, pid_t root) {
  std::vector<pid_t> tree;
  const bool is_listed = std::any_of(all.begin(), all.end(),
                                     [root](const ListedProcess& one) { return one.pid == root; });
  if (!is_listed) return tree;
  tree.push_back(root);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const ListedProcess& one : all) {
      const bool is_new = std::find(tree.begin(), tree.end(), one.pid) == tree.end();
      if (one.parent == tree[i] && is_new) tree.push_back(one.pid);
    }
  }
  return tree;
}

std::vector<pid_t> our_processes() {
  std::vector<ListedProcess> all = list_processes();
  all.push_back({::getpid(), 0, {}});
  return tree_of(all, ::getpid());
}

std::vector<pid_t> named_like(const std::vector<ListedProcess>& all, std::string_view pattern) {
  std::vector<pid_t> found;
  for (const ListedProcess& one : all) {
    if (matches_glob(pattern, one.name)) found.push_back(one.pid);
  }
  return found;
}

}  // namespace heapattach
