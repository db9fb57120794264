#include "report/cli/fail_if.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/type_names.h"

namespace heapattach {

namespace {

using Comparison = FailIf::Comparison;

// Longer operators first: ">" would match the beginning of ">=".
constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons{{
    {">=", Comparison::GreaterEqual},
    {"<=", Comparison::LessEqual},
    {"==", Comparison::Equal},
    {"!=", Comparison::NotEqual},
    {">", Comparison::Greater},
    {"<", Comparison::Less},
}};

// Longer words first, as above.
constexpr std::array<std::pair<std::string_view, FailIf::What>, 7> kWords{{
    {"count", FailIf::What::Count},
    {"bytes", FailIf::What::Bytes},
    {"retained", FailIf::What::Retained},
    {"growth_bytes", FailIf::What::GrowthBytes},
    {"growth", FailIf::What::Growth},
    {"leaked_bytes", FailIf::What::LeakedBytes},
    {"leaked", FailIf::What::Leaked},
}};

// Conditions without a type and a number.
constexpr std::array<std::pair<std::string_view, FailIf::What>, 3> kLoneWords{{
    {"found", FailIf::What::Found},
    {"stuck", FailIf::What::Stuck},
    {"deadlock", FailIf::What::Deadlock},
}};

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view without_trailing_spaces(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Error wrong(std::string_view why) {
  return {ErrorKind::Malformed,
          fmt::format("{}; write it as 'count(TYPE) > 100', 'bytes(TYPE) > 10M', "
                      "'retained(TYPE) > 1G', with --diff also 'growth(TYPE) > 0' or "
                      "'growth_bytes(TYPE) > 1M', with --leaks 'leaked(TYPE) > 0' or "
                      "'leaked_bytes(TYPE) > 1M', with --diagnose 'found' or "
                      "'stuck', with --stacks 'deadlock'",
                      why)};
}

// Takes the leading word off `text`.
std::optional<FailIf::What> take_word(std::string_view& text) {
  for (const auto& [word, what] : kWords) {
    if (!text.starts_with(word)) continue;
    text = without_spaces(text.substr(word.size()));
    return what;
  }
  return std::nullopt;
}

// The position that closes the parenthesis at the start of `text`; npos if there is none.
std::size_t closing(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  unsigned shift = 0;
  if (unit == "k" || unit == "K") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  const bool is_number = failure == std::errc{} && (unit.empty() || shift != 0);
  if (!is_number || value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return Error{ErrorKind::Malformed,
                 fmt::format("'{}' is not a number of bytes or objects", text)};
  }
  return value << shift;
}

Result<FailIf> parse_fail_if(std::string_view text) {
  FailIf condition;
  condition.text = std::string(text);
  std::string_view rest = without_spaces(text);
  const std::string_view word = without_trailing_spaces(rest);
  for (const auto& [known, meaning] : kLoneWords) {
    if (word != known) continue;
    condition.what = meaning;
    return condition;
  }
  const auto what = take_word(rest);
  if (!what) return wrong("it does not begin with count, bytes or another size");
  condition.what = *what;
  if (!rest.starts_with('(')) return wrong("no type in parentheses");
  const std::size_t end = closing(rest);
  if (end == std::string_view::npos) return wrong("a parenthesis is not closed");
  condition.type = std::string(without_spaces(rest.substr(1, end - 1)));
  if (condition.type.empty()) return wrong("no type in the parentheses");
  rest = without_spaces(rest.substr(end + 1));
  for (const auto& [sign, comparison] : kComparisons) {
    if (!rest.starts_with(sign)) continue;
    condition.comparison = comparison;
    const auto limit = parse_size(without_spaces(rest.substr(sign.size())));
    if (!limit) return wrong(limit.error().message());
    condition.limit = *limit;
    return condition;
  }
  return wrong("no comparison after the type");
}

std::int64_t measure(const FailIf& condition, const snapshot::CountTable& table) {
  std::uint64_t sum = 0;
  for (const snapshot::CountRow& row : table.rows) {
    if (!row.is_reachable || !matches_type(condition.type, row.type)) continue;
    sum += condition.what == FailIf::What::Count ? row.objects : row.bytes;
  }
  return static_cast<std::int64_t>(sum);
}

std::int64_t measure(const FailIf& condition, const analyze::Difference& difference) {
  std::int64_t sum = 0;
  for (const analyze::TypeGrowth& row : difference.rows) {
    if (!matches_type(condition.type, row.type)) continue;
    switch (condition.what) {
      case FailIf::What::Count: sum += static_cast<std::int64_t>(row.after.objects); break;
      case FailIf::What::Bytes: sum += static_cast<std::int64_t>(row.after.bytes); break;
      case FailIf::What::Growth: sum += row.grown_objects(); break;
      case FailIf::What::GrowthBytes: sum += row.grown_bytes(); break;
      case FailIf::What::Retained:
      case FailIf::What::Leaked:
      case FailIf::What::LeakedBytes:
      case FailIf::What::Found:
      case FailIf::What::Stuck:
      case FailIf::What::Deadlock: break;
    }
  }
  return sum;
}

bool holds(const FailIf& condition, std::int64_t value) {
  switch (condition.comparison) {
    case Comparison::Greater: return std::cmp_greater(value, condition.limit);
    case Comparison::GreaterEqual: return std::cmp_greater_equal(value, condition.limit);
    case Comparison::Less: return std::cmp_less(value, condition.limit);
    case Comparison::LessEqual: return std::cmp_less_equal(value, condition.limit);
    case Comparison::Equal: return std::cmp_equal(value, condition.limit);
    case Comparison::NotEqual: return std::cmp_not_equal(value, condition.limit);
  }
  return false;
}

}  // namespace heapattach
