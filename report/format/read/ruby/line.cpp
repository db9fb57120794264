#include "report/format/read/ruby/line.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "symbols/text/json_grammar.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostAddress = kUsualAddressEnd - 1;
constexpr std::string_view kNoAddress = "an impossible address";

class Reader {
 public:
  Reader(std::string_view text, Line& line)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), line_(line) {}

  std::string read() && {
    if (!object() && wrong_.empty()) wrong_ = "a line of a Ruby dump is incomplete or is not JSON";
    if (wrong_.empty()) return {};
    return fmt::format("{} (at character {})", wrong_, at_ - begin_ + 1);
  }

 private:
  [[nodiscard]] char next() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }
  bool fail(std::string_view why) {
    wrong_ = why;
    return false;
  }

  bool object() {
    if (!take('{')) return false;
    if (!take('}')) {
      do {
        std::string_view key;
        if (!text(key) || !take(':') || !member(key)) return false;
      } while (take(','));
      if (!take('}')) return false;
    }
    return (next() == '\0' || fail("unexpected text after the object")) && is_class();
  }

  // The value of a key. Values of an unexpected kind, such as a null, are skipped.
  bool member(std::string_view key) {
    const char first = next();
    if (first == '"') return text_member(key);
    if (first == '[' && key == "references") return references();
    if (first >= '0' && first <= '9') {
      std::uint64_t unknown = 0;
      return number(number_of(key, unknown));
    }
    if (first == 't' && key == "singleton") line_.is_singleton = true;
    if (first == 't' && key == "shared") line_.is_shared = true;
    return skip();
  }

  bool text_member(std::string_view key) {
    if (key == "address") return address(line_.address);
    if (key == "class") return hexadecimal(line_.of_class);
    if (key == "superclass") return address(line_.superclass);
    std::string_view found;
    if (!text(found)) return false;
    if (key == "type") {
      line_.type = found;
    } else if (key == "value") {
      line_.value = found;
      line_.has_value = true;
    } else if (key == "imemo_type" || key == "struct" || key == "node_type" ||
               key == "shape_type") {
      line_.detail = found;
    } else if (key == "name") {
      line_.name = found;
    } else if (key == "root") {
      line_.root = found;
    } else if (key == "file") {
      line_.file = found;
    } else if (key == "edge_name") {
      line_.edge_name = found;
    }
    return true;
  }

  std::uint64_t& number_of(std::string_view key, std::uint64_t& unknown) {
    if (key == "memsize") {
      line_.has_memsize = true;
      return line_.memsize;
    }
    if (key == "slot_size") return line_.slot_size;
    if (key == "length") return line_.length;
    if (key == "line") return line_.line;
    if (key == "id") return line_.id;
    if (key == "shape_id") {
      line_.has_shape = true;
      return line_.shape;
    }
    if (key == "parent_id") {
      line_.has_parent = true;
      return line_.parent;
    }
    return unknown;
  }

  bool text(std::string_view& found) {
    if (!take('"')) return false;
    const char* const first = at_;
    for (;;) {
      at_ = end_of_plain_text(at_, end_);
      if (at_ == end_) return false;
      if (*at_ == '"') break;
      at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    }
    found = {first, static_cast<std::size_t>(at_ - first)};
    ++at_;
    return true;
  }

  // "0x7f12a0"; C libraries write a null pointer as (nil).
  bool hexadecimal(std::uint64_t& found) {
    std::string_view shown;
    if (!text(shown)) return false;
    if (shown == "(nil)") return true;
    if (!shown.starts_with("0x")) return fail("an address is not in hexadecimal");
    const char* const end = shown.data() + shown.size();
    const auto [rest, failure] = std::from_chars(shown.data() + 2, end, found, 16);
    return (failure == std::errc{} && rest == end) || fail(kNoAddress);
  }
  bool address(std::uint64_t& found) { return hexadecimal(found) && is_address(found); }
  bool is_address(std::uint64_t number) { return number <= kMostAddress || fail(kNoAddress); }
  // In place of the class, internal objects may have something else, such as the Float that a
  // constant was.
  bool is_class() {
    return line_.type == "IMEMO" || line_.type == "NODE" || is_address(line_.of_class);
  }

  bool references() {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      std::uint64_t to = 0;
      if (!address(to)) return false;
      line_.references.push_back(to);
    } while (take(','));
    return take(']');
  }

  bool number(std::uint64_t& found) {
    const char* const first = at_;
    at_ = end_of_number(at_, end_);
    if (at_ == nullptr) {
      at_ = first;
      return fail("a number is malformed");
    }
    const auto [rest, failure] = std::from_chars(first, at_, found);
    if (failure == std::errc::result_out_of_range) return fail("a number is too large");
    if (rest != at_) found = 0;  // a fraction, which no number that we know is
    return true;
  }

  // A value that is not needed: its texts and brackets must be whole.
  bool skip() {
    int depth = 0;
    do {
      std::string_view unused;
      const char first = next();
      if (first == '\0') return false;
      if (first == '"') {
        if (!text(unused)) return false;
        continue;
      }
      if (first == '{' || first == '[') ++depth;
      if (first == '}' || first == ']') --depth;
      if (depth < 0) return false;
      if (depth == 0 && (first != '}' && first != ']')) return word();
      ++at_;
    } while (depth > 0);
    return true;
  }

  // true, false, null, a negative number.
  bool word() {
    const char* const first = at_;
    while (at_ != end_ && (std::string_view("+-.").find(*at_) != std::string_view::npos ||
                           (*at_ >= '0' && *at_ <= '9') || (*at_ >= 'a' && *at_ <= 'z') ||
                           (*at_ >= 'A' && *at_ <= 'Z'))) {
      ++at_;
    }
    return at_ != first;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  Line& line_;
  std::string wrong_;
};

}  // namespace

std::string read_line(std::string_view text, Line& line) {
  std::vector<std::uint64_t> references = std::move(line.references);
  references.clear();
  line = {};
  line.references = std::move(references);
  return Reader(text, line).read();
}

}  // namespace heapattach::ruby
