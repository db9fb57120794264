#include "report/cli/fail_if.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "report/glob.h"

namespace heapattach {

namespace {

using Comparison = FailIf::Comparison;

// Longer operators first: ">" would take the beginning of ">=".
constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons{{
    {">=", Comparison::GreaterEqual},
    {"<=", Comparison::LessEqual},
    {"==", Comparison::Equal},
    {"!=", Comparison::NotEqual},
    {">", Comparison::Greater},
    {"<", Comparison::Less},
}};

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Error wrong(std::string_view text, std::string_view why) {
  return {ErrorKind::Malformed,
          fmt::format("--fail-if '{}': {}; write it as 'count(TYPE) > 100' or 'bytes(TYPE) > 10M'",
                      text, why)};
}

// Where the parenthesis that `text` begins with is closed; npos if it is not.
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
    return Error{ErrorKind::Malformed, fmt::format("'{}' is no number of bytes or objects", text)};
  }
  return value << shift;
}

Result<FailIf> parse_fail_if(std::string_view text) {
  FailIf condition;
  condition.text = std::string(text);
  std::string_view rest = without_spaces(text);
  if (rest.starts_with("bytes")) {
    condition.what = FailIf::What::Bytes;
  } else if (!rest.starts_with("count")) {
    return wrong(text, rest.starts_with("growth") ? "growth() is not in this build"
                                                  : "it begins with neither count nor bytes");
  }
  rest = without_spaces(rest.substr(5));  // both words have five letters
  if (!rest.starts_with('(')) return wrong(text, "no type in parentheses");
  const std::size_t end = closing(rest);
  if (end == std::string_view::npos) return wrong(text, "a parenthesis is not closed");
  condition.type = std::string(without_spaces(rest.substr(1, end - 1)));
  if (condition.type.empty()) return wrong(text, "no type in the parentheses");
  rest = without_spaces(rest.substr(end + 1));
  for (const auto& [sign, comparison] : kComparisons) {
    if (!rest.starts_with(sign)) continue;
    condition.comparison = comparison;
    const auto limit = parse_size(without_spaces(rest.substr(sign.size())));
    if (!limit) return wrong(text, limit.error().message);
    condition.limit = *limit;
    return condition;
  }
  return wrong(text, "no comparison after the type");
}

std::uint64_t measure(const FailIf& condition, const snapshot::CountTable& table) {
  std::uint64_t sum = 0;
  for (const snapshot::CountRow& row : table.rows) {
    if (!row.is_reachable || !matches_glob(condition.type, row.type)) continue;
    sum += condition.what == FailIf::What::Count ? row.objects : row.bytes;
  }
  return sum;
}

bool holds(const FailIf& condition, const snapshot::CountTable& table) {
  const std::uint64_t value = measure(condition, table);
  switch (condition.comparison) {
    case Comparison::Greater: return value > condition.limit;
    case Comparison::GreaterEqual: return value >= condition.limit;
    case Comparison::Less: return value < condition.limit;
    case Comparison::LessEqual: return value <= condition.limit;
    case Comparison::Equal: return value == condition.limit;
    case Comparison::NotEqual: return value != condition.limit;
  }
  return false;
}

}  // namespace heapattach
