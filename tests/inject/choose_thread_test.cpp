#include "inject/choose_thread.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>

namespace heapattach {

namespace {

Candidate good() {
  Candidate candidate;
  candidate.registers.cs = 0x33;
  candidate.registers.orig_rax = static_cast<std::uint64_t>(-1);
  candidate.sequence = RseqState{};
  candidate.stub = RemoteAddr{0x5000};
  return candidate;
}

Candidate in_call(long number, std::int64_t result) {
  Candidate candidate = good();
  candidate.registers.orig_rax = static_cast<std::uint64_t>(number);
  candidate.registers.rax = static_cast<std::uint64_t>(result);
  return candidate;
}

}  // namespace

TEST_CASE("a thread in user code or in an interrupted call is preferred") {
  CHECK(!objection_to(good()));
  CHECK(reluctance_to(good()) == 0);
  CHECK(!objection_to(in_call(SYS_read, -512)));
  CHECK(reluctance_to(in_call(SYS_read, -512)) == 0);
}

TEST_CASE("a thread is not borrowed if our call could harm it") {
  Candidate bad = good();
  SUBCASE("32-bit code") {
    bad.registers.cs = 0x23;
  }
  SUBCASE("a seccomp filter that may kill it") {
    bad.filters = Filters::MayHarm;
  }
  SUBCASE("a seccomp filter that we may not read") {
    bad.filters = Filters::Unknown;
  }
  SUBCASE("system calls that go to the program") {
    bad.is_dispatched = true;
  }
  SUBCASE("its own single steps") {
    bad.registers.eflags = 0x100;
  }
  SUBCASE("no stack below the red zone") {
    bad.has_stack = false;
  }
  SUBCASE("wide vector registers") {
    bad.has_wide_vectors = true;
  }
  SUBCASE("no padding that is near enough") {
    bad.stub.reset();
  }
  SUBCASE("a restartable sequence that makes no sense") {
    bad.sequence.reset();
  }
  SUBCASE("a collector's signal frame") {
    bad = in_call(SYS_rt_sigsuspend, -514);
  }
  SUBCASE("vfork") {
    bad = in_call(SYS_vfork, 12);
  }
  SUBCASE("a call made by int 0x80") {
    bad = in_call(SYS_read, -512);
    bad.is_after_syscall = false;
  }
  CHECK(objection_to(bad).has_value());
}

TEST_CASE("a thread in a restartable sequence, or in a handler, is the last resort") {
  Candidate inside = good();
  inside.sequence->is_inside = true;
  Candidate handler = good();
  handler.mask = ~std::uint64_t{0};
  CHECK(!objection_to(inside));
  CHECK(!objection_to(handler));
  CHECK(reluctance_to(inside) > reluctance_to(handler));
  CHECK(reluctance_to(handler) > reluctance_to(in_call(SYS_epoll_wait, -4)));
  CHECK(reluctance_to(in_call(SYS_epoll_wait, -4)) > reluctance_to(good()));
}

TEST_CASE("a function is called only on a thread that can continue afterwards") {
  CHECK(!objection_in_place(good()));
  CHECK(!objection_in_place(in_call(SYS_read, -512)));
  CHECK(!objection_in_place(in_call(SYS_write, 12)));
  Candidate for_ever = in_call(SYS_epoll_wait, -4);
  for_ever.registers.r10 = static_cast<std::uint64_t>(-1);
  CHECK(!objection_in_place(for_ever));
  Candidate bad = good();
  SUBCASE("a system call that cannot be restarted") {
    bad = for_ever;
    bad.registers.r10 = 1000;
  }
  SUBCASE("one whose remaining time only the kernel knows") {
    bad = in_call(SYS_nanosleep, -516);
  }
  SUBCASE("a restartable sequence") {
    bad.sequence->is_inside = true;
  }
  SUBCASE("blocked faults") {
    bad.mask = ~std::uint64_t{0};
  }
  SUBCASE("a seccomp filter that is harmless for our own calls") {
    CHECK(!objection_to(bad));
    bad.filters = Filters::Harmless;
    CHECK(!objection_to(bad));
  }
  SUBCASE("a thread that must not make any call of ours") {
    bad.filters = Filters::MayHarm;
  }
  CHECK(objection_in_place(bad).has_value());
}

}  // namespace heapattach
