#include "report/call/call_expression.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace heapattach {

namespace {

constexpr std::size_t kMostArguments = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<CallExpression> parse() {
    CallExpression call;
    const std::size_t open = text_.find('(');
    if (open == std::string_view::npos) return wrong("no '(' after a function's name");
    call.function = trimmed(text_.substr(0, open));
    if (call.function.empty()) return wrong("no function name before '('");
    at_ = open + 1;
    if (!take(')')) HA_TRY(take_arguments(call.arguments));
    take(';');
    skip_spaces();
    if (at_ != text_.size()) return wrong("extra text after the call");
    return call;
  }

 private:
  Result<void> take_arguments(std::vector<CallArgument>& arguments) {
    do {
      if (arguments.size() == kMostArguments) return wrong("too many arguments");
      arguments.push_back(HA_TRY(take_argument()));
    } while (take(','));
    if (!take(')')) return wrong("neither ',' nor ')' after an argument");
    return {};
  }

  Result<CallArgument> take_argument() {
    if (take('"')) return CallArgument{HA_TRY(take_text())};
    skip_spaces();
    const std::size_t end = std::min(text_.find_first_of(",)", at_), text_.size());
    const std::string word = trimmed(text_.substr(at_, end - at_));
    const auto number = number_of(word);
    if (!number) {
      return wrong(fmt::format("'{}' is not a number, a \"text\" or null", word));
    }
    at_ = end;
    return CallArgument{*number};
  }

  static std::optional<std::uint64_t> number_of(std::string_view word) {
    if (word == "null" || word == "NULL" || word == "nil") return 0;
    const bool is_negative = word.starts_with('-');
    if (is_negative) word.remove_prefix(1);
    const bool is_hex = word.starts_with("0x") || word.starts_with("0X");
    if (is_hex) word.remove_prefix(2);
    std::uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, failure] = std::from_chars(word.data(), end, value, is_hex ? 16 : 10);
    if (failure != std::errc{} || rest != end) return std::nullopt;
    return is_negative ? std::uint64_t{0} - value : value;
  }

  // Takes a text after its opening quotation mark.
  Result<std::string> take_text() {
    std::string taken;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char letter = text_[at_++];
      taken += letter == '\\' ? HA_TRY(take_escape()) : letter;
    }
    if (at_ == text_.size()) return wrong("a string without its closing '\"'");
    ++at_;
    if (taken.find('\0') != std::string::npos) return wrong("a string cannot contain a zero byte");
    return taken;
  }

  Result<char> take_escape() {
    constexpr std::string_view kLetters = "nrtabfv\\\"'e";
    constexpr std::string_view kMeanings = "\n\r\t\a\b\f\v\\\"'\x1b";
    if (at_ == text_.size()) return wrong("a string that ends in '\\'");
    const std::size_t which = kLetters.find(text_[at_]);
    if (which != std::string_view::npos) {
      ++at_;
      return kMeanings[which];
    }
    const bool is_hex = text_[at_] == 'x';
    if (is_hex) ++at_;
    unsigned value = 0;
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + std::min(text_.size(), at_ + (is_hex ? 2 : 3));
    const auto [rest, failure] = std::from_chars(first, last, value, is_hex ? 16 : 8);
    if (failure != std::errc{} || value > 0xff) return wrong("unknown escape");
    at_ += static_cast<std::size_t>(rest - first);
    return static_cast<char>(value);
  }

  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  static std::string trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
  }
  [[nodiscard]] Error wrong(std::string_view what) const {
    return {ErrorKind::Malformed,
            fmt::format("--call {}: {}, at byte {}; write it as name(\"text\", 1, 0x10, null)",
                        text_, what, at_)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<CallExpression> parse_call(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace heapattach
