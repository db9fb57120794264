#include "report/cli/read_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fcntl.h>

#include "attach/base/fd.h"
#include "inject/call_names.h"
#include "report/collect/join_values.h"
#include "symbols/heaps.h"

namespace heapattach {

namespace {

// A process or program that the copy started would be out of our control.
constexpr std::array<std::string_view, 6> kNeverAllowed{"execve", "execveat", "fork",
                                                        "vfork",  "clone",    "clone3"};

// A number of `unit`s, with a fraction if one was given, as milliseconds.
Result<std::chrono::milliseconds> read_time(std::string_view text, double unit_ms) {
  constexpr double kMostMs = 1e12;  // thirty years: sums with it cannot overflow
  double value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = failure == std::errc{} && rest == text.data() + text.size();
  if (!is_number || !(value > 0) || value * unit_ms > kMostMs) {
    return usage("not a time, such as 500ms, 10s or 5m");
  }
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(value * unit_ms)));
}

}  // namespace

Result<std::chrono::milliseconds> read_interval(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
  for (const auto& [unit, milliseconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    return read_time(text.substr(0, text.size() - unit.size()), milliseconds);
  }
  return read_time(text, 1000);
}

Result<std::chrono::milliseconds> read_interval_with_unit(std::string_view text) {
  constexpr std::chrono::seconds kMostWithoutUnit{100};
  const auto time = HA_TRY(read_interval(text));
  const bool has_unit = !text.empty() && std::string_view("msh").find(text.back()) != text.npos;
  if (has_unit || time < kMostWithoutUnit) return time;
  return usage(fmt::format("a time such as 2s is needed; {} looks like a process id", text));
}

Result<std::size_t> read_number(const std::string& value, std::size_t least) {
  const auto number = parse_size(value);
  if (!number || *number < least) {
    return usage(least == 0 ? "not a number" : fmt::format("not a number above {}", least - 1));
  }
  return static_cast<std::size_t>(*number);
}

const std::vector<Choice<snapshot::HeapChoice>>& heap_choices() {
  static const auto kChoices = [] {
    std::vector<Choice<snapshot::HeapChoice>> choices{{"auto", {}}};
    for (const heap::Kind* kind : heap_kinds()) {
      const bool is_new = std::none_of(choices.begin(), choices.end(), [&](const auto& choice) {
        return choice.first == kind->key;
      });
      if (kind->find != nullptr && is_new) choices.push_back({kind->key, {.key = kind->key}});
    }
    choices.push_back({"both", {.all = true}});
    return choices;
  }();
  return kChoices;
}

Result<snapshot::HeapChoice> read_heap(const std::string& value) {
  return choose(value, heap_choices());
}

Result<std::vector<int>> read_calls(std::string_view names) {
  std::vector<int> numbers;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto number = call_number(name);
    if (!number) return usage(fmt::format("{}: no such system call", name));
    if (std::find(kNeverAllowed.begin(), kNeverAllowed.end(), name) != kNeverAllowed.end()) {
      return usage(fmt::format("{} cannot be allowed: a copy never starts a process", name));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<void> add_ignored(const std::string& value, Draft& draft) {
  auto& ignored = draft.options.leaks.ignored;
  if (!value.starts_with('@')) {
    ignored.push_back(value);
    return {};
  }
  constexpr std::size_t kMost = 1U << 20;
  const Fd file = HA_TRY(Fd::open(value.substr(1), O_RDONLY));
  const std::string text = HA_TRY(read_all(file, kMost));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && line.front() != '#') ignored.push_back(line);
    at = end + 1;
  }
  return {};
}

Result<std::size_t> read_value_bytes(const std::string& value) {
  if (value.empty()) return kDefaultValueBytes;
  const auto bytes = parse_size(value);
  if (!bytes || *bytes == 0 || *bytes > snapshot::kMostValueBytes) {
    return usage(fmt::format("not a number from 1 to {}", snapshot::kMostValueBytes));
  }
  return static_cast<std::size_t>(*bytes);
}

Result<bool> read_redact(const std::string& value) {
  if (value == "full") return true;
  return usage("the only value is full; without --values, no values are shown");
}

Result<std::chrono::milliseconds> read_max_pause(const std::string& value) {
  const bool has_unit = value.ends_with('s') || value.ends_with('m') || value.ends_with('h');
  const auto limit = HA_TRY(has_unit ? read_interval(value) : read_time(value, 1));
  // A fraction of a millisecond would be rounded up, and the pause be longer than allowed.
  double given = 0;
  std::from_chars(value.data(), value.data() + value.size(), given);
  const bool is_too_short = given < 1 && limit <= std::chrono::milliseconds(1);
  if (is_too_short) return usage("the shortest limit is 1 millisecond");
  return limit;
}

Result<std::size_t> read_rounds(const std::string& value) {
  constexpr std::size_t kMostRounds = 1'000'000;
  const std::size_t rounds = HA_TRY(read_number(value, 1));
  if (rounds > kMostRounds) return usage(fmt::format("not a number from 1 to {}", kMostRounds));
  return rounds;
}

Result<pid_t> read_thread(const std::string& value) {
  const auto thread = parse_size(value);
  if (!thread || *thread == 0 || *thread > INT32_MAX) return usage("not a thread id");
  return static_cast<pid_t>(*thread);
}

Result<analyze::FindExpression> read_find(const std::string& value) {
  auto parsed = analyze::parse_find(value);
  if (!parsed) return usage(parsed.error().message());
  return std::move(parsed).value();
}

}  // namespace heapattach
