// The options of --call and --inject.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "inject/call_names.h"
#include "report/cli/raw_options.h"

namespace heapattach {

namespace {

constexpr std::array<std::pair<std::string_view, Returns>, 4> kReturns{{
    {"int", Returns::Int},
    {"long", Returns::Long},
    {"pointer", Returns::Pointer},
    {"string", Returns::String},
}};
constexpr std::array<std::pair<std::string_view, CallPlace>, 3> kPlaces{{
    {"", CallPlace::Held},
    {"hold", CallPlace::Held},
    {"run", CallPlace::Running},
}};

// A process or program that it started would be out of our hands.
constexpr std::array<std::string_view, 6> kNeverAllowed{"execve", "execveat", "fork",
                                                        "vfork",  "clone",    "clone3"};

Result<std::vector<int>> read_allowed_calls(std::string_view names) {
  std::vector<int> numbers;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto number = call_number(name);
    if (!number) return usage(fmt::format("--allow-calls {}: no such system call", name));
    if (std::find(kNeverAllowed.begin(), kNeverAllowed.end(), name) != kNeverAllowed.end()) {
      return usage(fmt::format("--allow-calls {}: a copy never starts a process", name));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Result<void> read_call(const RawOptions& raw, Options& options) {
  options.allowed_calls = HA_TRY(read_allowed_calls(raw.allow_calls));
  options.routine = raw.routine;
  options.routine_library = raw.routine_library;
  options.keep = raw.keep;
  if (!raw.call.empty()) options.call = HA_TRY(parse_call(raw.call));
  if (!raw.returns.empty()) options.returns = HA_TRY(choose("--returns", raw.returns, kReturns));
  if (raw.in_place) options.place = HA_TRY(choose("--in-place", *raw.in_place, kPlaces));
  if (raw.thread.empty()) return {};
  const auto thread = parse_size(raw.thread);
  if (!thread || *thread == 0 || *thread > INT32_MAX) {
    return usage(fmt::format("--thread {}: not the number of a thread", raw.thread));
  }
  options.call_thread = static_cast<pid_t>(*thread);
  return {};
}

}  // namespace heapattach
