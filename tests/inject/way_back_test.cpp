#include "inject/way_back.h"

#include <doctest/doctest.h>
#include <linux/rseq.h>
#include <sys/syscall.h>

#include "tests/fakes/fake_memory.h"

namespace heapattach {

namespace {

RawRegisters in_call(long number, std::int64_t result) {
  RawRegisters at{};
  at.orig_rax = static_cast<std::uint64_t>(number);
  at.rax = static_cast<std::uint64_t>(result);
  at.rip = 0x401002;
  return at;
}

constexpr RemoteAddr kArea{0x1000};
constexpr RemoteAddr kSequence{0x2000};
constexpr RemoteAddr kAbort{0x5004};
constexpr std::uint32_t kSignature = 0x53053053;

// Makes the rseq area of a thread, which names a sequence of 32 bytes at 0x4000.
void put_sequence(const rseq_cs& sequence, FakeMemory& memory) {
  memory.map_zero(kArea, 32);
  memory.put(kArea + 8, kSequence.value);
  memory.put(kSequence, sequence);
  memory.put(kAbort - 4, kSignature);
}

rseq_cs a_sequence() {
  rseq_cs sequence{};
  sequence.start_ip = 0x4000;
  sequence.post_commit_offset = 32;
  sequence.abort_ip = kAbort.value;
  return sequence;
}

}  // namespace

TEST_CASE("without a tracer an interrupted call continues as the kernel would do it") {
  struct Row {
    std::int64_t result;
    std::uint64_t rax, rip;
  };
  const Row rows[] = {{-512, SYS_poll, 0x401000}, {-513, SYS_poll, 0x401000},
                      {-514, SYS_poll, 0x401000}, {-516, SYS_restart_syscall, 0x401000},
                      {0, 0, 0x401002},           {-4, static_cast<std::uint64_t>(-4), 0x401002}};
  for (const Row& row : rows) {
    CAPTURE(row.result);
    const RawRegisters back = way_back(in_call(SYS_poll, row.result), std::nullopt);
    CHECK(back.rax == row.rax);
    CHECK(back.rip == row.rip);
    CHECK(static_cast<std::int64_t>(back.orig_rax) == -1);
  }
}

TEST_CASE("a thread in user code keeps a rax that looks like an interrupted call") {
  const RawRegisters at = in_call(-1, -512);
  CHECK(call_state(at) == CallState::None);
  CHECK(way_back(at, std::nullopt).rip == at.rip);
}

TEST_CASE("a call that would return EINTR for no reason also continues without a tracer") {
  RawRegisters again = in_call(-1, SYS_epoll_wait);
  again.rip = 0x401000;
  const RawRegisters back = way_back(in_call(SYS_epoll_wait, -4), again);
  CHECK(back.rip == 0x401000);
  CHECK(back.rax == SYS_epoll_wait);
}

TEST_CASE("a thread inside a restartable sequence is sent to its abort handler") {
  FakeMemory memory;
  put_sequence(a_sequence(), memory);
  const RseqConfiguration known{.area = kArea, .signature = kSignature};
  const auto inside = rseq_state(known, {0x401f}, memory);
  REQUIRE(inside.has_value());
  CHECK(inside->is_inside);
  CHECK(inside->abort == kAbort);
  for (const RemoteAddr outside : {RemoteAddr{0x3fff}, RemoteAddr{0x4020}, kAbort}) {
    const auto state = rseq_state(known, outside, memory);
    REQUIRE(state.has_value());
    CHECK(!state->is_inside);
  }
}

TEST_CASE("a restartable sequence that the kernel would not accept is refused") {
  const RseqConfiguration known{.area = kArea, .signature = kSignature};
  const auto is_refused = [&](const rseq_cs& sequence, const RseqConfiguration& configuration) {
    FakeMemory memory;
    put_sequence(sequence, memory);
    return !rseq_state(configuration, {0x4010}, memory).has_value();
  };
  CHECK(!is_refused(a_sequence(), known));
  rseq_cs wrong = a_sequence();
  wrong.version = 1;
  CHECK(is_refused(wrong, known));
  wrong = a_sequence();
  wrong.flags = 1;
  CHECK(is_refused(wrong, known));
  wrong = a_sequence();
  wrong.abort_ip = 0x4008;  // inside of itself
  CHECK(is_refused(wrong, known));
  CHECK(is_refused(a_sequence(), {.area = kArea, .signature = 1}));
  CHECK(is_refused(a_sequence(), {.area = {0x9000}, .signature = kSignature}));
}

TEST_CASE("a thread without a registered or current sequence is in none") {
  FakeMemory memory;
  memory.map_zero(kArea, 32);
  CHECK(!rseq_state({}, {0x4010}, memory)->is_inside);
  CHECK(!rseq_state({.area = kArea, .signature = kSignature}, {0x4010}, memory)->is_inside);
}

}  // namespace heapattach
