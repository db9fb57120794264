#include "symbols/text/json_cursor.h"

#include <charconv>

#include <fmt/format.h>

#include "symbols/text/json_grammar.h"

namespace heapattach {

bool JsonCursor::fail(std::string_view why) {
  if (wrong_.empty()) wrong_ = why;
  return false;
}

std::string JsonCursor::error() const {
  return fmt::format("{} at column {}", wrong_, at_ - begin_ + 1);
}

void JsonCursor::blanks() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
}

bool JsonCursor::open(char bracket) {
  blanks();
  if (!is_good() || at_ == end_ || *at_ != bracket) {
    if (at_ == begin_) return fail("not JSON");
    return fail(bracket == '{' ? "expected an object" : "expected a list");
  }
  ++at_;
  return true;
}

bool JsonCursor::close(char bracket, bool is_first) {
  blanks();
  if (at_ != end_ && *at_ == bracket) {
    ++at_;
    return true;
  }
  if (is_first) return false;
  if (at_ == end_ || *at_ != ',') {
    fail("expected a comma");
    return true;
  }
  ++at_;
  return false;
}

bool JsonCursor::colon() {
  blanks();
  if (at_ == end_ || *at_ != ':') return fail("expected a colon");
  ++at_;
  return is_good();
}

bool JsonCursor::is_string() {
  blanks();
  return at_ != end_ && *at_ == '"';
}

bool JsonCursor::raw_string(std::string_view& out, bool& has_escapes) {
  if (!is_good() || !is_string()) return fail("expected a string");
  const char* const first = ++at_;
  has_escapes = false;
  for (;;) {
    at_ = end_of_plain_text(at_, end_);
    if (at_ == end_) return fail("unterminated string");
    if (*at_ == '"') break;
    if (*at_ != '\\') return fail("control character in a string");
    has_escapes = true;
    if (end_ - at_ < 2) return fail("unterminated string");
    at_ += 2;
  }
  out = {first, static_cast<std::size_t>(at_ - first)};
  ++at_;
  return true;
}

bool JsonCursor::string(std::string& out) {
  std::string_view raw;
  bool has_escapes = false;
  if (!raw_string(raw, has_escapes)) return false;
  if (!has_escapes) {
    out.assign(raw);
    return true;
  }
  const std::string_view wrong = decode_escapes(raw, out);
  return wrong.empty() || fail(wrong);
}

bool JsonCursor::skip_scalar() {
  blanks();
  for (const std::string_view literal : {"true", "false", "null"}) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(literal)) {
      at_ += literal.size();
      return true;
    }
  }
  const char* const end = end_of_number(at_, end_);
  if (end == nullptr) return fail("expected a value");
  at_ = end;
  return true;
}

bool JsonCursor::word(std::string_view& out) {
  blanks();
  const char* const first = at_;
  if (!is_good() || !skip_scalar()) return false;
  out = {first, static_cast<std::size_t>(at_ - first)};
  return true;
}

bool JsonCursor::number(std::uint64_t& out) {
  std::string_view text;
  if (!word(text)) return false;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || rest != text.data() + text.size()) {
    return fail("not a whole number below 2^64");
  }
  return true;
}

bool JsonCursor::number(double& out) {
  std::string_view text;
  if (!word(text)) return false;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || rest != text.data() + text.size()) return fail("expected a number");
  return true;
}

bool JsonCursor::boolean(bool& out) {
  std::string_view text;
  if (!word(text)) return false;
  out = text == "true";
  return out || text == "false" || fail("expected true or false");
}

bool JsonCursor::address(std::uint64_t& out) {
  std::string_view text;
  bool has_escapes = false;
  if (!raw_string(text, has_escapes)) return false;
  if (!text.starts_with("0x") || text.size() < 3) return fail("expected an address");
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + 2, end, out, 16);
  return (failure == std::errc{} && rest == end) || fail("expected an address");
}

bool JsonCursor::skip() {
  // Brackets that are open, outermost first. Not the call stack: a line may be nothing else.
  std::vector<bool> open_lists;
  std::string_view text;
  bool has_escapes = false;
  bool is_first = true;
  do {
    if (!open_lists.empty() && close(open_lists.back() ? ']' : '}', is_first)) {
      if (!is_good()) return false;
      open_lists.pop_back();
      is_first = false;
      continue;
    }
    const bool is_member = !open_lists.empty() && !open_lists.back();
    if (is_member && (!raw_string(text, has_escapes) || !colon())) return false;
    blanks();
    if (!is_good() || at_ == end_) return fail("expected a value");
    is_first = *at_ == '{' || *at_ == '[';
    if (is_first) {
      open_lists.push_back(*at_++ == '[');
    } else if (*at_ == '"' ? !raw_string(text, has_escapes) : !skip_scalar()) {
      return false;
    }
  } while (!open_lists.empty());
  return is_good();
}

bool JsonCursor::skipped(std::string_view& out) {
  blanks();
  const char* const first = at_;
  if (!skip()) return false;
  out = {first, static_cast<std::size_t>(at_ - first)};
  return true;
}

bool JsonCursor::at_end() {
  blanks();
  return is_good() && at_ == end_;
}

}  // namespace heapattach
