#include "report/cli/when.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "attach/base/page.h"
#include "attach/process/control_groups.h"
#include "attach/process/kernel_text.h"
#include "attach/process/process.h"
#include "attach/process/stat_field.h"

namespace heapattach {

namespace {

constexpr std::array<std::pair<std::string_view, When::What>, 4> kNumbers{{
    {"rss", When::What::Resident},
    {"memory", When::What::Memory},
    {"threads", When::What::Threads},
    {"growth(rss)", When::What::ResidentGrowth},
}};

// Parses what follows the word, such as " > 500", as a condition of --fail-if.
Result<FailIf> read_comparison(std::string_view rest) {
  return parse_fail_if("count(x)" + std::string(rest));
}

Error not_for_when() {
  return Error{ErrorKind::Usage, "not a condition"}.advise(
      "'rss > 75%', 'memory > 90%', 'threads > 500', 'growth(rss) > 100M', 'stuck', "
      "'count(TYPE) > 1000' or 'growth(TYPE) > 1000'");
}

Result<When> read_report_condition(std::string_view text) {
  When when;
  when.what = When::What::Report;
  when.text = text;
  auto condition = parse_fail_if(text);
  if (!condition) return not_for_when();
  if (condition->is_of_leaks()) {
    return Error{ErrorKind::Usage, "--watch does not look for leaks"}.advise("heapattach leaks");
  }
  when.condition = std::move(*condition);
  return when;
}

// The tightest limit on the memory of a process.
LimitedUse tightest(const Process& process) {
  const std::string machine = kernel_text("/proc/meminfo");
  const std::uint64_t all = bytes_after(machine, "MemTotal").value_or(0);
  const std::uint64_t available = bytes_after(machine, "MemAvailable").value_or(0);
  LimitedUse found{all - std::min(all, available), all};
  for (const GroupDirectory& group : control_groups("memory", process)) {
    const LimitedUse use = memory_use_that_stays(group);
    if (use.limit && *use.limit < *found.limit) found = use;
  }
  return found;
}

std::int64_t as_number(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

}  // namespace

Result<When> parse_when(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const auto& [word, what] : kNumbers) {
    if (!text.starts_with(word)) continue;
    std::string_view rest = text.substr(word.size());
    while (rest.ends_with(' ')) rest.remove_suffix(1);
    When when;
    when.what = what;
    when.text = text;
    when.is_percent = rest.ends_with('%');
    if (when.is_percent) rest.remove_suffix(1);
    const bool may_be_percent = what == When::What::Resident || what == When::What::Memory;
    auto condition = read_comparison(rest);
    if (!condition) return not_for_when();
    if (when.is_percent && !may_be_percent) {
      return Error{ErrorKind::Usage, "only rss and memory have percentages"};
    }
    when.condition = std::move(*condition);
    return when;
  }
  return read_report_condition(text);
}

std::optional<ProcessNumbers> read_numbers(pid_t pid) {
  constexpr int kThreads = 20;
  constexpr int kResidentPages = 24;
  const auto process = Process::open(pid);
  if (!process) return {};
  const auto stat = process->read_file("stat");
  if (!stat) return {};
  const auto threads = stat_field(*stat, kThreads);
  const auto pages = stat_field(*stat, kResidentPages);
  if (!threads || !pages) return {};
  const LimitedUse use = tightest(*process);
  return ProcessNumbers{*pages * page_bytes(), *threads, use.limit.value_or(0), use.used};
}

void GrowthPerMinute::add(std::uint64_t bytes, Time now) {
  constexpr std::chrono::seconds kStep{1};
  constexpr std::chrono::seconds kSpan{60};
  while (samples_.size() > 1 && now - samples_.front().at > kSpan) samples_.pop_front();
  if (samples_.size() > 1 && now - samples_[samples_.size() - 2].at < kStep) {
    samples_.back() = {now, bytes};
  } else {
    samples_.push_back({now, bytes});
  }
}

std::int64_t GrowthPerMinute::bytes() const {
  if (samples_.empty()) return 0;
  return as_number(samples_.back().bytes) - as_number(samples_.front().bytes);
}

bool holds(const When& when, const ProcessNumbers& numbers, std::int64_t growth) {
  if (when.what == When::What::Threads) return holds(when.condition, as_number(numbers.threads));
  if (when.what == When::What::ResidentGrowth) return holds(when.condition, growth);
  const bool is_resident = when.what == When::What::Resident;
  const std::uint64_t bytes = is_resident ? numbers.resident_bytes : numbers.used_bytes;
  if (!when.is_percent) return holds(when.condition, as_number(bytes));
  if (numbers.limit_bytes == 0) return false;
  FailIf of_bytes = when.condition;
  const std::uint64_t percent = std::min<std::uint64_t>(of_bytes.limit, 100);
  of_bytes.limit = numbers.limit_bytes / 100 * percent + numbers.limit_bytes % 100 * percent / 100;
  return holds(of_bytes, as_number(bytes));
}

}  // namespace heapattach
