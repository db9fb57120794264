#include "attach/process/thread_activity.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/process/each_thread.h"
#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::chrono::nanoseconds of_ticks(std::uint64_t ticks) {
  const auto per_second = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return std::chrono::nanoseconds(ticks * (kNanosecondsPerSecond / per_second));
}

ThreadActivity activity_of(const Process& process, pid_t tid, const ThreadState& state) {
  ThreadActivity seen{.tid = tid,
                      .tid_in_target = number_in_target(process, tid),
                      .name = state.name,
                      .state = state.state,
                      .wait_channel = {},
                      .time = {of_ticks(state.user_ticks + state.system_ticks), {}},
                      .seen = std::chrono::steady_clock::now()};
  if (const auto text = process.read_file(fmt::format("task/{}/schedstat", tid))) {
    if (const auto time = parse_schedstat(*text)) seen.time = *time;
    seen.seen = std::chrono::steady_clock::now();
  }
  // "0" if it runs, and also without permission.
  if (auto text = process.read_file(fmt::format("task/{}/wchan", tid)); text && *text != "0") {
    seen.wait_channel = std::move(*text);
  }
  return seen;
}

}  // namespace

std::optional<ProcessorTime> parse_schedstat(std::string_view text) {
  const auto running = take_number(text);
  const auto waiting = take_number(text);
  if (!running || !waiting) return {};
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (*running > kMost || *waiting > kMost) return {};
  return ProcessorTime{std::chrono::nanoseconds(*running), std::chrono::nanoseconds(*waiting)};
}

std::vector<pid_t> namespace_numbers(std::string_view status) {
  constexpr std::string_view kKey = "\nNSpid:";
  std::vector<pid_t> numbers;
  const std::size_t at = status.find(kKey);
  if (at == std::string_view::npos) return numbers;
  std::string_view line = status.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  while (const auto number = take_number(line)) numbers.push_back(static_cast<pid_t>(*number));
  return numbers;
}

pid_t number_in_target(const Process& process, pid_t tid) {
  const auto status = process.read_file(fmt::format("task/{}/status", tid));
  const std::vector<pid_t> numbers = status ? namespace_numbers(*status) : std::vector<pid_t>();
  return numbers.empty() ? tid : numbers.back();
}

Result<std::vector<ThreadActivity>> observe_activity(const Process& process) {
  std::vector<ThreadActivity> threads;
  HA_TRY(see_each_thread(process, [&](pid_t tid, const ThreadState& state) {
    threads.push_back(activity_of(process, tid, state));
  }));
  return threads;
}

}  // namespace heapattach
