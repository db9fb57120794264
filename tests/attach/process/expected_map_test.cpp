#include "attach/process/expected_map.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "tests/support/temporary_directory.h"

namespace heapattach {

namespace {

std::optional<std::string> read_unless(const std::string& expected, const std::string& text) {
  const TemporaryDirectory files;
  std::ofstream(files.file("maps")) << text;
  const auto file = Fd::open(files.file("maps"), O_RDONLY);
  REQUIRE(file);
  auto read = read_if_other(*file, expected);
  REQUIRE(read);
  return std::move(*read);
}

}  // namespace

TEST_CASE("a text is returned whole if it is not the expected one") {
  std::string text(50'000, 'x');  // several reads
  for (std::size_t i = 0; i < text.size(); i += 100)
    text[i] = static_cast<char>('a' + i / 100 % 26);
  CHECK(read_unless(text, text) == std::nullopt);
  CHECK(read_unless("", "") == std::nullopt);

  CHECK(read_unless("", text) == text);
  CHECK(read_unless(text, "") == "");
  CHECK(read_unless(text + "y", text) == text);
  CHECK(read_unless(text, text + "y") == text + "y");
  for (const std::size_t at : {0U, 16'383U, 16'384U, 30'000U, 49'999U}) {
    CAPTURE(at);
    std::string other = text;
    other[at] = '!';
    CHECK(read_unless(text, other) == other);
  }
  CHECK(read_unless(text, text.substr(0, 32'768)) == text.substr(0, 32'768));
}

}  // namespace heapattach
