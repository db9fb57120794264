#include "attach/process/thread_state.h"

#include <string>

#include <doctest/doctest.h>

#include "attach/process/stat_field.h"

namespace heapattach {

namespace {

std::string stat_line(const std::string& name, char state, const std::string& flags = "4194560") {
  return "4711 (" + name + ") " + state + " 1 4711 4711 0 -1 " + flags +
         " 100 0 0 0 1 2 0 0 20 0 17 0 123456 3060 412 18446744073709551615 0 0\n";
}

}  // namespace

TEST_CASE("the state letter is found after any name") {
  for (const std::string name :
       {"cat", ") R 1", "a b", ")", "(", "", "R) S (", "x\n4711 (y) T 1", ") Z 1 2 3 4"}) {
    CAPTURE(name);
    const auto state = parse_thread_state(stat_line(name, 'D'));
    REQUIRE(state);
    CHECK(state->name == name);
    CHECK(state->state == 'D');
    CHECK(state->threads == 17);
    CHECK(state->start_ticks == 123456);
    CHECK_FALSE(state->is_exiting());
    CHECK_FALSE(state->is_kernel_thread());
  }
}

TEST_CASE("fields are counted after any name, and a missing one is malformed") {
  for (const std::string name : {"cat", ") R 1", "a b", "", ") Z 1 2 3 4"}) {
    CAPTURE(name);
    const std::string line = stat_line(name, 'S');
    CHECK(stat_field(line, 4).value() == 1);
    CHECK(stat_field(line, 22).value() == 123456);
    CHECK(stat_field(line, 25).value() == 18446744073709551615U);
    CHECK(stat_field(line, 28).error().kind == ErrorKind::Malformed);
  }
  CHECK_FALSE(stat_field("", 4));
  CHECK_FALSE(stat_field("4711", 4));
  CHECK_FALSE(stat_field("4711 (cat)", 4));
}

TEST_CASE("zombies and the dead are exiting, others are not") {
  for (const char letter : std::string("ZXx")) {
    CHECK(parse_thread_state(stat_line("a", letter)).value().is_exiting());
  }
  for (const char letter : std::string("RSDTtIWP")) {
    CHECK_FALSE(parse_thread_state(stat_line("a", letter)).value().is_exiting());
  }
}

TEST_CASE("a kernel thread is recognised by its flag") {
  CHECK(parse_thread_state(stat_line("kworker/0:1", 'I', "69238880")).value().is_kernel_thread());
}

TEST_CASE("a stat line that is cut off is malformed") {
  const std::string whole = stat_line("a) b", 'S');
  for (std::size_t length = 0; length < whole.find(" 123456"); ++length) {
    CAPTURE(length);
    const auto state = parse_thread_state(whole.substr(0, length));
    REQUIRE_FALSE(state);
    CHECK(state.error().kind == ErrorKind::Malformed);
  }
  CHECK_FALSE(parse_thread_state(""));
  CHECK_FALSE(parse_thread_state("4711 cat S 1"));
  CHECK_FALSE(parse_thread_state(")("));
}

}  // namespace heapattach
