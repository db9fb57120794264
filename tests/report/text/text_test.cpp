#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "report/text/json_text.h"
#include "report/text/terminal_text.h"
#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

bool is_lossy(std::string_view text) {
  std::string out;
  return append_json_string(out, text);
}

}  // namespace

TEST_CASE("characters that control a terminal or reorder text are escaped in JSON") {
  CHECK(json("Größe 漢字 🐈") == "\"Größe 漢字 🐈\"");
  CHECK(json("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(json({"\0\x01\t\n\r\x1b\x7f", 7}) == R"("\u0000\u0001\t\n\r\u001b\u007f")");
  CHECK(json("\u0085\u009b") == R"("\u0085\u009b")");
  CHECK(json("\u202e\u2066\u200f\u2028") == R"("\u202e\u2066\u200f\u2028")");
  CHECK(json("\U000E0041") == R"("\udb40\udc41")");
  CHECK_FALSE(is_lossy("\x1b\u202e"));
}

TEST_CASE("invalid UTF-8 is replaced, and reported") {
  // Examples of the Unicode standard, table 3-8 and its neighbours: one replacement character for
  // each maximal invalid part.
  CHECK(json("\xc0\xaf") == "\"\uFFFD\uFFFD\"");                      // overlong
  CHECK(json("\xed\xa0\x80") == "\"\uFFFD\uFFFD\uFFFD\"");            // a surrogate
  CHECK(json("\xf4\x90\x80\x80") == "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // past the last code
  CHECK(json("\xf1\x80\x80X") == "\"\uFFFDX\"");                      // cut short by a letter
  CHECK(json("\xe1\x80") == "\"\uFFFD\"");                            // cut short by the end
  CHECK(json("\x80\xff") == "\"\uFFFD\uFFFD\"");
  CHECK(is_lossy("a\xff"));
}

TEST_CASE("a name of any length is cut at a character") {
  const std::string text = std::string(kMaxNameBytes - 1, 'x') + "é and more";
  CHECK(is_lossy(text));
  CHECK(json(text) == '"' + std::string(kMaxNameBytes - 1, 'x') + '"');
  CHECK_FALSE(is_lossy(std::string(kMaxNameBytes, 'x')));
  CHECK(cut_utf8(std::string(100, '\x80'), 10).size() <= 10);
  CHECK(terminal_text(text).size() < kMaxNameBytes + 8);
}

TEST_CASE("no raw control byte reaches a terminal") {
  CHECK(terminal_text("Größe 漢字") == "Größe 漢字");
  CHECK(terminal_text("\x1b]0;x\x07\r\n\t\x7f") == "\\x1b]0;x\\x07\\x0d\\n\\t\\x7f");
  CHECK(terminal_text("\u009b31m\u202e\xff\xc0") == "\\u{9b}31m\\u{202e}\\xff\\xc0");
  CHECK(terminal_text("a\\n") == "a\\\\n");
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    const std::string text = terminal_text({&letter, 1});
    CHECK_FALSE(text.empty());
    for (const char shown : text) {
      CHECK(static_cast<unsigned char>(shown) >= 0x20);
      CHECK(static_cast<unsigned char>(shown) < 0x7f);
    }
  }
}

}  // namespace heapattach
