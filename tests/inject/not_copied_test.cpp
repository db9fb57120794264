#include "inject/not_copied.h"

#include <doctest/doctest.h>

namespace heapattach {

TEST_CASE("memory that no copy gets is recognised by its flag") {
  const auto ranges = not_copied(
      "00400000-00401000 r-xp 00000000 08:01 12    /bin/x dc\n"
      "Size:                  4 kB\n"
      "VmFlags: rd ex mr mw me sd \n"
      "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
      "Size:               8192 kB\n"
      "THPeligible:    0\n"
      "VmFlags: rd wr mr mw me dc ac sd \n"
      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0    [stack]\n"
      "VmFlags: rd wr mr mw me gd ac \n");
  CHECK(ranges == std::vector<Range>{{{0x7f0000000000}, 0x800000}});
  CHECK(not_copied("").empty());
  CHECK(not_copied("VmFlags: rd").empty());
  CHECK(not_copied("dead-beef").empty());
}

TEST_CASE("a thread whose stack or thread pointer is in such memory cannot be copied") {
  const std::vector<Range> ranges{{{0x1000}, 0x1000}};
  FrozenThread thread;
  CHECK(!is_copied(thread, ranges));
  thread.registers.emplace();
  thread.registers->stack_pointer = {0x5000};
  thread.registers->thread_pointer = {0x5100};
  CHECK(is_copied(thread, ranges));
  thread.registers->thread_pointer = {0x1fff};
  CHECK(!is_copied(thread, ranges));
  thread.registers->thread_pointer = {0x5100};
  thread.registers->stack_pointer = {0x1000};
  CHECK(!is_copied(thread, ranges));
}

}  // namespace heapattach
