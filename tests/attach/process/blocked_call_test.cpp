#include "attach/process/blocked_call.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("a blocked thread shows its call, stack and program counter") {
  const auto call =
      parse_blocked_call("232 0x5 0x7ffd0 0x8 0xffffffff 0x0 0x0 0x7ffd3a5e2b38 0x7f2a11f0e5c6\n");
  REQUIRE(call);
  CHECK(call->number == 232);
  CHECK(call->arguments[0] == 5);
  CHECK(call->arguments[3] == 0xffffffff);
  CHECK(call->stack_pointer.value == 0x7ffd3a5e2b38);
  CHECK(call->instruction_pointer.value == 0x7f2a11f0e5c6);
}

TEST_CASE("a thread that blocks outside any call has number -1") {
  const auto call = parse_blocked_call("-1 0x7ffd3a5e2b38 0x7f2a11f0e5c6\n");
  REQUIRE(call);
  CHECK(call->number == -1);
  CHECK(call->stack_pointer.value == 0x7ffd3a5e2b38);
}

TEST_CASE("a running thread, and garbage, show nothing") {
  for (const char* text :
       {"running\n", "", "\n", "1 2 3", "-1 0x 0x1", "-1 0x1 0x1g", "x 0x1 0x2",
        "232 0x5 0x7 0x8\n", "-1 0x11112222333344445 0x1", "232 0x5 x 0x8 0xf 0x0 0x0 0x7 0x7"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_blocked_call(text));
  }
}

}  // namespace heapattach
