#include "inject/reap.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/fd.h"
#include "inject/choose_thread.h"
#include "inject/padding.h"
#include "inject/stub.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostText = 65536;

std::string text_of(const std::string& path) {
  const auto file = Fd::open(path, 0);
  if (!file) return {};
  auto text = read_all(*file, kMostText);
  return text ? std::move(*text) : std::string();
}

// The last number of the line "NSpid:": the process as the innermost namespace knows it.
pid_t innermost_number(std::string_view status) {
  const std::size_t line = status.find("\nNSpid:");
  if (line == std::string_view::npos) return 0;
  status.remove_prefix(line + 1);
  status = status.substr(0, status.find('\n'));
  const std::size_t last = status.find_last_of(" \t");
  pid_t number = 0;
  std::from_chars(status.data() + last + 1, status.data() + status.size(), number);
  return number;
}

// A clone that was killed before it could take its name is known by what only it has: the rank that
// it was given with the OOM killer.
bool is_first_to_go(pid_t pid) {
  return text_of(fmt::format("/proc/{}/oom_score_adj", pid)) == "1000\n";
}

std::vector<pid_t> numbers_in(const std::string& text) {
  std::vector<pid_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    pid_t number = 0;
    if (std::from_chars(at, end, number).ec != std::errc()) break;
    numbers.push_back(number);
    at = std::find(at, end, ' ');
    if (at != end) ++at;
  }
  return numbers;
}

bool is_dead_clone(pid_t child, bool is_any_first) {
  const auto state = parse_thread_state(text_of(fmt::format("/proc/{}/stat", child)));
  if (!state || !state->is_exiting()) return false;
  return state->name == kCloneName || (!is_any_first && is_first_to_go(child));
}

}  // namespace

std::vector<pid_t> dead_clones(const Process& target) {
  std::vector<pid_t> found;
  const auto listing = target.list_threads();
  if (!listing) return found;
  const bool is_any_first = is_first_to_go(target.pid());
  for (const pid_t tid : listing->tids) {
    const auto children = target.read_file(fmt::format("task/{}/children", tid));
    if (!children) continue;  // the kernel may be built without it
    for (const pid_t child : numbers_in(*children)) {
      if (!is_dead_clone(child, is_any_first)) continue;
      const pid_t number = innermost_number(text_of(fmt::format("/proc/{}/status", child)));
      if (number > 0) found.push_back(number);
    }
  }
  return found;
}

Result<void> reap_clones(const Process& target,
                         std::span<const pid_t> numbers,
                         RemoteControl& control) {
  if (numbers.empty()) return {};
  const MemoryMap map = HA_TRY(target.maps());
  const auto padding = find_padding(map, control.memory(), Stub::size_bytes());
  if (!padding) return Error{ErrorKind::Unsupported, "it has no padding behind its code any more"};
  // What would stay otherwise is worse than a stop on a machine that is too busy for its threads.
  const FreezeOptions options{.thread_deadline = std::chrono::seconds(5),
                              .budget = std::chrono::seconds(10),
                              .for_cleaning = true};
  const auto frozen = while_frozen(target, options, [&](const FrozenView& view) -> Result<void> {
    std::vector<pid_t> tids;
    for (const FrozenThread& thread : view.threads) {
      if (thread.registers) tids.push_back(thread.tid);
    }
    for (const pid_t number : numbers) {
      const Borrowed thread = HA_TRY(choose_thread(control, target, map, tids, options.rewind));
      const RemoteCall call{.stub = *padding,
                            .number = SYS_wait4,
                            .arguments = {static_cast<std::uint64_t>(number), 0,
                                          static_cast<std::uint64_t>(WNOHANG | __WCLONE), 0},
                            .deadline = view.deadline};
      const CallResult got = HA_TRY(make_call(control, thread, call));
      // ECHILD: the target has taken notice of it by itself.
      if (got.value == number || got.value == -ECHILD) continue;
      return Error{ErrorKind::Os,
                   fmt::format("wait4({}) in the target gave {}", number, got.value)};
    }
    return {};
  });
  if (!frozen) return frozen.error();
  return {};
}

}  // namespace heapattach
