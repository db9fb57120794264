#include "report/analyze/find_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace heapattach::analyze {

namespace {

constexpr std::array<std::pair<std::string_view, FindOperator>, 7> kOperators{{
    {"==", FindOperator::Equal},
    {"!=", FindOperator::NotEqual},
    {"<=", FindOperator::LessEqual},
    {">=", FindOperator::GreaterEqual},
    {"<", FindOperator::Less},
    {">", FindOperator::Greater},
    {"~", FindOperator::Matches},
}};

bool is_space(char letter) {
  return std::isspace(static_cast<unsigned char>(letter)) != 0;
}

// The position where the conditions of an expression begin: its first bracket that is not empty,
// because "struct leaf[]" is a type.
std::size_t opening_of(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    const std::size_t next = text.find_first_not_of(' ', at + 1);
    if (next == std::string_view::npos || text[next] != ']') return at;
  }
  return std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<FindExpression> parse() {
    FindExpression found;
    found.text = std::string(text_);
    const std::size_t opening = std::min(opening_of(text_), text_.size());
    std::string_view type = text_.substr(0, opening);
    while (!type.empty() && is_space(type.back())) type.remove_suffix(1);
    while (!type.empty() && is_space(type.front())) type.remove_prefix(1);
    if (type.empty()) return wrong("it must start with a type, as in Session[@user == \"ann\"]");
    found.type = std::string(type);
    at_ = opening;
    if (at_ == text_.size()) return found;
    ++at_;
    found.any_of = HA_TRY(conditions());
    skip_spaces();
    if (at_ != text_.size()) return wrong("nothing may follow the closing bracket");
    return found;
  }

 private:
  Result<std::vector<std::vector<FindCondition>>> conditions() {
    std::vector<std::vector<FindCondition>> any_of(1);
    for (;;) {
      any_of.back().push_back(HA_TRY(condition()));
      skip_spaces();
      if (take("]")) return any_of;
      if (take_word("or") || take("||")) {
        any_of.emplace_back();
      } else if (!take_word("and") && !take("&&")) {
        return wrong(at_ == text_.size() ? "a closing bracket is missing"
                                         : "expected and, or, or the closing bracket");
      }
    }
  }

  Result<FindCondition> condition() {
    skip_spaces();
    FindCondition made;
    made.column = at_ + 1;
    made.path = path();
    if (made.path.empty()) return wrong("expected a field, such as @user or @user.name");
    skip_spaces();
    const auto* const op = std::find_if(kOperators.begin(), kOperators.end(),
                                        [&](const auto& row) { return take(row.first); });
    if (op == kOperators.end()) {
      if (at_ < text_.size() && text_[at_] == '=') return wrong("= is not an operator; use ==");
      return made;
    }
    made.op = op->second;
    skip_spaces();
    const std::size_t value_at = at_;
    made.value = HA_TRY(value());
    const std::size_t end = std::exchange(at_, value_at);
    const bool is_text = made.value.kind == FindValue::Kind::Text;
    const bool is_ordered = made.op != FindOperator::Equal && made.op != FindOperator::NotEqual &&
                            made.op != FindOperator::Matches;
    if (made.op == FindOperator::Matches && (!is_text || made.value.is_symbol)) {
      return wrong("~ takes a glob in quotes");
    }
    const bool is_number = made.value.kind == FindValue::Kind::Plain && made.value.text[0] != 't' &&
                           made.value.text[0] != 'f';
    if (is_ordered && !is_number) return wrong(fmt::format("{} takes a number", op->first));
    at_ = end;
    return made;
  }

  // Takes a path: letters of names, dots, and brackets around a number or a star.
  std::string path() {
    const std::size_t first = at_;
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '@' ||
          letter == '.' || letter == '?' || letter == '+' || letter == ':') {
        ++at_;
        continue;
      }
      const std::size_t end = letter == '[' ? text_.find(']', at_) : std::string_view::npos;
      if (end == std::string_view::npos) break;
      at_ = end + 1;
    }
    return std::string(text_.substr(first, at_ - first));
  }

  Result<FindValue> value() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::string word = this->word();
    if (word.size() > 1 && word.front() == ':') return symbol(word);
    if (word.empty()) return wrong("expected a value: \"text\", a number, true, false or nil");
    FindValue found{FindValue::Kind::Plain, word};
    double number = 0;
    const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool is_number = failure == std::errc{} && rest == word.data() + word.size();
    if (word == "nil" || word == "null" || word == "nullptr") {
      found = {};
    } else if (word != "true" && word != "false" && !is_number) {
      return wrong("not a number, true, false or nil; a text must be in double quotes");
    }
    at_ += word.size();
    return found;
  }

  // The letters up to a blank or the closing bracket.
  [[nodiscard]] std::string word() const {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ']' && !is_space(text_[end])) ++end;
    return std::string(text_.substr(at_, end - at_));
  }

  Result<FindValue> symbol(const std::string& word) {
    FindValue found{FindValue::Kind::Text, word.substr(1)};
    if (word[1] == '"' || word[1] == '\'') {
      ++at_;
      found = HA_TRY(quoted());
    } else {
      at_ += word.size();
    }
    found.is_symbol = true;
    return found;
  }

  // Takes a text in quotes. The next letter is the opening quote, and decides which one closes it.
  Result<FindValue> quoted() {
    FindValue found{FindValue::Kind::Text, {}};
    const char quote = text_[at_];
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == quote) {
        at_ = i + 1;
        return found;
      }
      if (text_[i] == '\\' && i + 1 < text_.size()) ++i;
      found.text += text_[i];
    }
    return wrong("the closing quote is missing");
  }

  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  bool take_word(std::string_view word) {
    const std::size_t end = at_ + word.size();
    const bool is_whole = end >= text_.size() || is_space(text_[end]);
    return is_whole && take(word);
  }
  [[nodiscard]] Error wrong(std::string_view why) const { return find_error(text_, at_ + 1, why); }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

bool FindExpression::needs_values() const {
  return std::any_of(any_of.begin(), any_of.end(), [](const auto& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const FindCondition& one) { return one.needs_values(); });
  });
}

Result<FindExpression> parse_find(std::string_view text) {
  return Parser(text).parse();
}

Error find_error(std::string_view text, std::size_t column, std::string_view why) {
  const std::string_view rest = text.substr(std::min(column - 1, text.size()));
  const std::string where = rest.empty() ? "at the end" : fmt::format("at '{}'", rest);
  return {ErrorKind::Malformed, fmt::format("--find, column {}, {}: {}", column, where, why)};
}

}  // namespace heapattach::analyze
