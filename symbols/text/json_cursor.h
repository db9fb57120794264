#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapattach {

// Reads one JSON value piece by piece, checking all of it, without recursion and without building
// anything. Each function consumes the element that it is named after and any blanks before it.
// After the first error all of them fail, and error() describes what is wrong and where.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  // Calls visit(key) with the decoded key. visit must consume the value and return whether it
  // succeeded.
  template <class Visit>
  bool object(const Visit& visit) {
    std::string key;
    if (!open('{')) return false;
    for (bool is_first = true; !close('}', is_first); is_first = false) {
      if (!string(key) || !colon() || !visit(std::string_view(key)) || !is_good()) return fail();
    }
    return is_good();
  }
  // Calls visit(), which must consume an element and return whether it succeeded.
  template <class Visit>
  bool array(const Visit& visit) {
    if (!open('[')) return false;
    for (bool is_first = true; !close(']', is_first); is_first = false) {
      if (!visit() || !is_good()) return fail();
    }
    return is_good();
  }

  bool string(std::string& out);  // decoded; a lone surrogate becomes U+FFFD
  bool number(std::uint64_t& out);
  bool number(double& out);
  bool boolean(bool& out);
  bool address(std::uint64_t& out);  // "0x7f12a0"
  // A number, true, false or null as written.
  bool word(std::string_view& out);
  bool skip();                          // any value
  bool skipped(std::string_view& out);  // the same, with its text
  bool is_string();                     // the next value

  // Whether only blanks are left.
  bool at_end();

  [[nodiscard]] bool is_good() const { return wrong_.empty(); }
  // Makes every further call fail with the given reason.
  bool fail(std::string_view why = "unexpected value");
  [[nodiscard]] std::string error() const;

 private:
  void blanks();
  bool open(char bracket);
  // Returns whether the bracket closes here. Otherwise a comma must precede the next element,
  // unless it is the first.
  bool close(char bracket, bool is_first);
  bool colon();
  bool raw_string(std::string_view& out, bool& has_escapes);
  bool skip_scalar();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string_view wrong_;
};

}  // namespace heapattach
