#include "report/cli/read_values.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fcntl.h>

#include "attach/base/fd.h"
#include "inject/call_names.h"
#include "report/collect/join_values.h"

namespace heapattach {

namespace {

constexpr std::array<std::pair<std::string_view, snapshot::SortBy>, 4> kSorts{{
    {"bytes", snapshot::SortBy::Bytes},
    {"count", snapshot::SortBy::Count},
    {"name", snapshot::SortBy::Name},
    {"retained", snapshot::SortBy::Retained},
}};
constexpr std::array<std::pair<std::string_view, snapshot::CountBy>, 3> kGroups{{
    {"type", snapshot::CountBy::Type},
    {"holder", snapshot::CountBy::Holder},
    {"line", snapshot::CountBy::Line},
}};
constexpr std::array<std::pair<std::string_view, trace::SortBy>, 4> kTraceSorts{{
    {"allocated", trace::SortBy::Allocated},
    {"in-use", trace::SortBy::InUse},
    {"count", trace::SortBy::Count},
    {"rate", trace::SortBy::Rate},
}};
constexpr std::array<std::pair<std::string_view, trace::GroupBy>, 6> kTraceGroups{{
    {"stack", trace::GroupBy::Stack},
    {"function", trace::GroupBy::Function},
    {"line", trace::GroupBy::Line},
    {"type", trace::GroupBy::Type},
    {"thread", trace::GroupBy::Thread},
    {"fiber", trace::GroupBy::Fiber},
}};
constexpr std::array<std::pair<std::string_view, trace::Value>, 4> kTraceValues{{
    {"alloc_space", trace::Value::AllocSpace},
    {"alloc_objects", trace::Value::AllocObjects},
    {"inuse_space", trace::Value::InuseSpace},
    {"inuse_objects", trace::Value::InuseObjects},
}};
constexpr std::array<std::pair<std::string_view, trace::FrameText>, 4> kFrameTexts{{
    {"none", trace::FrameText::None},
    {"address", trace::FrameText::Address},
    {"name", trace::FrameText::Name},
    {"full", trace::FrameText::Full},
}};
constexpr std::array<std::pair<std::string_view, snapshot::Hold>, 4> kHolds{{
    {"read", snapshot::Hold::Nothing},
    {"freeze", snapshot::Hold::Freeze},
    {"clone", snapshot::Hold::Clone},
    {"auto", snapshot::Hold::Auto},
}};
constexpr std::array<std::pair<std::string_view, snapshot::HeapChoice>, 4> kHeaps{{
    {"auto", snapshot::HeapChoice::Auto},
    {"gc", snapshot::HeapChoice::Gc},
    {"malloc", snapshot::HeapChoice::Malloc},
    {"both", snapshot::HeapChoice::Both},
}};
constexpr std::array<std::pair<std::string_view, ColourChoice>, 3> kColours{{
    {"auto", ColourChoice::Auto},
    {"always", ColourChoice::Always},
    {"never", ColourChoice::Never},
}};
constexpr std::array<std::pair<std::string_view, Returns>, 5> kReturns{{
    {"int", Returns::Int},
    {"long", Returns::Long},
    {"none", Returns::None},
    {"pointer", Returns::Pointer},
    {"string", Returns::String},
}};
constexpr std::array<std::pair<std::string_view, CallPlace>, 2> kPlaces{{
    {"hold", CallPlace::Held},
    {"run", CallPlace::Running},
}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kYesNo{{{"yes", true}, {"no", false}}};

// A process or program that the copy started would be out of our control.
constexpr std::array<std::string_view, 6> kNeverAllowed{"execve", "execveat", "fork",
                                                        "vfork",  "clone",    "clone3"};

// A number of `unit`s, with a fraction if one was given, as milliseconds.
Result<std::chrono::milliseconds> read_time(std::string_view text, double unit_ms) {
  constexpr double kMostMs = 1e12;  // thirty years: sums with it cannot overflow
  double value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = failure == std::errc{} && rest == text.data() + text.size();
  if (!is_number || !(value > 0) || value * unit_ms > kMostMs) return usage("not a time above 0");
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(value * unit_ms)));
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

Result<std::size_t> read_number(const std::string& value, std::size_t least) {
  const auto number = parse_size(value);
  if (!number || *number < least) {
    return usage(least == 0 ? "not a number" : fmt::format("not a number above {}", least - 1));
  }
  return static_cast<std::size_t>(*number);
}

Result<void> set_sort(const std::string& value, Draft& draft) {
  if (draft.options.report == Report::Trace) {
    draft.options.trace.sort = HA_TRY(choose(value, kTraceSorts));
    return {};
  }
  draft.options.rows.sort = HA_TRY(choose(value, kSorts));
  return {};
}

Result<void> set_by(const std::string& value, Draft& draft) {
  if (draft.options.report == Report::Trace) {
    draft.options.trace.by = HA_TRY(choose(value, kTraceGroups));
    return {};
  }
  draft.options.by = HA_TRY(choose(value, kGroups));
  return {};
}

Result<void> set_top(const std::string& value, Draft& draft) {
  draft.options.rows.top = HA_TRY(read_number(value, 1));
  return {};
}

Result<void> add_type(const std::string& value, Draft& draft) {
  draft.options.rows.types.push_back(value);
  return {};
}

Result<void> set_min_bytes(const std::string& value, Draft& draft) {
  draft.options.rows.min_bytes = HA_TRY(parse_size(value));
  return {};
}

Result<void> set_length(const std::string& value, Draft& draft) {
  draft.options.trace.length = HA_TRY(read_interval(value));
  return {};
}

Result<void> set_every(const std::string& value, Draft& draft) {
  draft.options.trace.every = HA_TRY(read_number(value, 1));
  return {};
}

Result<void> set_min_count(const std::string& value, Draft& draft) {
  draft.options.trace.min_count = static_cast<double>(HA_TRY(read_number(value, 0)));
  return {};
}

Result<void> set_value(const std::string& value, Draft& draft) {
  draft.options.trace.value = HA_TRY(choose(value, kTraceValues));
  return {};
}

Result<void> set_depth(const std::string& value, Draft& draft) {
  draft.options.trace.depth = HA_TRY(read_number(value, 1));
  return {};
}

Result<void> set_frames(const std::string& value, Draft& draft) {
  draft.options.trace.frames = HA_TRY(choose(value, kFrameTexts));
  return {};
}

Result<void> add_fail_if(const std::string& value, Draft& draft) {
  draft.options.fail_if.push_back(HA_TRY(parse_fail_if(value)));
  return {};
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

Result<void> set_at_exit(const std::string&, Draft& draft) {
  draft.options.leaks.at_exit = true;
  return {};
}

Result<void> set_confirm(const std::string& value, Draft& draft) {
  draft.options.leaks.confirm = HA_TRY(read_interval(value));
  return {};
}

Result<void> add_exclusion(const std::string& value, Draft& draft) {
  draft.options.explain.exclusions.push_back(HA_TRY(analyze::parse_exclusion(value)));
  return {};
}

Result<void> set_values(const std::string& value, Draft& draft) {
  constexpr std::size_t kDefault = 64;
  draft.options.value_bytes = kDefault;
  if (value.empty()) return {};
  const auto bytes = parse_size(value);
  if (!bytes || *bytes == 0 || *bytes > snapshot::kMostValueBytes) {
    return usage(fmt::format("not a number from 1 to {}", snapshot::kMostValueBytes));
  }
  draft.options.value_bytes = static_cast<std::size_t>(*bytes);
  return {};
}

Result<void> set_redact(const std::string& value, Draft& draft) {
  if (value != "full") return usage("it can only be full; values are shown only with --values");
  draft.options.redact = true;
  return {};
}

Result<void> set_hold(const std::string& value, Draft& draft) {
  draft.options.hold = HA_TRY(choose(value, kHolds));
  return {};
}

Result<void> set_heap(const std::string& value, Draft& draft) {
  draft.options.heap = HA_TRY(choose(value, kHeaps));
  return {};
}

Result<void> set_max_pause(const std::string& value, Draft& draft) {
  const auto limit = HA_TRY(read_time(value, 1));
  // A fraction of a millisecond would be rounded up, and the pause be longer than allowed.
  double given = 0;
  std::from_chars(value.data(), value.data() + value.size(), given);
  if (given < 1) return usage("the shortest limit is 1 millisecond");
  draft.options.max_pause = limit;
  return {};
}

Result<void> set_timeout(const std::string& value, Draft& draft) {
  draft.options.timeout = HA_TRY(read_time(value, 1000));
  return {};
}

Result<void> set_rounds(const std::string& value, Draft& draft) {
  constexpr std::size_t kMostRounds = 1'000'000;
  const std::size_t rounds = HA_TRY(read_number(value, 1));
  if (rounds > kMostRounds) return usage(fmt::format("not a number from 1 to {}", kMostRounds));
  draft.options.rounds = static_cast<unsigned>(rounds);
  return {};
}

Result<void> set_returns(const std::string& value, Draft& draft) {
  draft.options.returns = HA_TRY(choose(value, kReturns));
  return {};
}

Result<void> set_place(const std::string& value, Draft& draft) {
  draft.options.place = value.empty() ? CallPlace::Held : HA_TRY(choose(value, kPlaces));
  return {};
}

Result<void> set_thread(const std::string& value, Draft& draft) {
  const auto thread = parse_size(value);
  if (!thread || *thread == 0 || *thread > INT32_MAX) return usage("not a thread id");
  draft.options.call_thread = static_cast<pid_t>(*thread);
  return {};
}

Result<void> set_allowed_calls(const std::string& value, Draft& draft) {
  draft.options.allowed_calls = HA_TRY(read_calls(value));
  return {};
}

Result<void> set_colour(const std::string& value, Draft& draft) {
  draft.options.colour = HA_TRY(choose(value, kColours));
  return {};
}

Result<void> set_human(const std::string& value, Draft& draft) {
  draft.options.human = value.empty() || HA_TRY(choose(value, kYesNo));
  return {};
}

Result<void> add_debug_dir(const std::string& value, Draft& draft) {
  draft.options.symbols.debug_dirs.push_back(value);
  return {};
}

Result<void> set_brief(const std::string& /*value*/, Draft& draft) {
  draft.options.brief = true;
  return {};
}

Result<void> set_no_mark(const std::string& /*value*/, Draft& draft) {
  draft.options.trace.with_final_mark = false;
  return {};
}

Result<void> set_live(const std::string& /*value*/, Draft& draft) {
  draft.options.trace.live = true;
  return {};
}

Result<void> set_full(const std::string& /*value*/, Draft& draft) {
  draft.options.trace.with_all_frames = true;
  draft.options.brief = false;
  return {};
}

Result<void> set_find(const std::string& value, Draft& draft) {
  auto parsed = analyze::parse_find(value);
  if (!parsed) return usage(parsed.error().message());
  draft.options.explain.find = std::move(parsed).value();
  return {};
}

Result<void> set_explained(const std::string& value, Draft& draft) {
  draft.options.explain.what = value;
  return {};
}

Result<void> set_interval(const std::string& value, Draft& draft) {
  draft.options.interval = HA_TRY(read_interval(value));
  return {};
}

Result<void> set_ruby(const std::string& value, Draft& draft) {
  draft.options.ruby_code = value;
  return {};
}

Result<void> set_call(const std::string& value, Draft& draft) {
  draft.options.call = HA_TRY(parse_call(value));
  return {};
}

}  // namespace heapattach
