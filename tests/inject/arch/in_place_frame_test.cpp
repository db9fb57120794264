#include "inject/arch/in_place_frame.h"

#include <cstring>

#include <doctest/doctest.h>

#include "inject/arch/stub.h"

namespace heapattach {

namespace {

constexpr RemoteAddr kStub{0x401000};
constexpr std::uint64_t kStackPointer = 0x7000'0000'0128;

RawRegisters standing() {
  RawRegisters found{};
  found.rsp = kStackPointer;
  found.rip = 0x1002;
  found.eflags = 0x647;
  found.orig_rax = 0;
  return found;
}

InPlaceFrame frame_of(std::span<const CallArgument> arguments) {
  const std::vector<std::byte> extended(1000, std::byte{7});
  auto frame = make_in_place_frame(standing(), kStub, {{0x4000}, {0x5000}, arguments}, extended);
  REQUIRE(frame.has_value());
  return std::move(frame).value();
}

std::uint64_t word_at(const InPlaceFrame& frame, std::uint64_t address) {
  std::uint64_t word = 0;
  REQUIRE(address - frame.at.value + sizeof word <= frame.bytes.size());
  std::memcpy(&word, frame.bytes.data() + (address - frame.at.value), sizeof word);
  return word;
}

}  // namespace

TEST_CASE("a function in place finds its arguments, and the stub what to restore") {
  const std::vector<CallArgument> arguments{std::uint64_t{1}, std::string("text"), std::uint64_t{3},
                                            std::uint64_t{4}, std::uint64_t{5},    std::uint64_t{6},
                                            std::uint64_t{7}};
  const InPlaceFrame frame = frame_of(arguments);
  const RawRegisters& in = frame.registers;
  CHECK(in.rip == kStub.value);
  CHECK(in.rsp == frame.at.value);
  CHECK(in.rsp % 16 == 0);  // before the stub's call
  CHECK(in.rbx == 0x5000);
  CHECK(in.r12 == 0x4000);
  CHECK(in.r13 % 64 == 0);
  CHECK(word_at(frame, in.r13) == 0x0707070707070707);
  CHECK(static_cast<std::int64_t>(in.orig_rax) == -1);
  CHECK(word_at(frame, in.r14) == 1);
  CHECK(word_at(frame, in.r14 + 16) == 3);
  CHECK(word_at(frame, in.r14 + 40) == 6);
  CHECK(word_at(frame, in.rsp) == 7);  // the first argument that is not in a register
  const std::uint64_t text = word_at(frame, in.r14 + 8);
  CHECK(std::memcmp(frame.bytes.data() + (text - frame.at.value), "text", 5) == 0);
  CHECK(frame.saved_errno.value == in.r14 + 48);
  CHECK(word_at(frame, frame.saved_errno.value) == 0);
}

TEST_CASE("a collector finds on the stack what only the registers referenced") {
  RawRegisters found = standing();
  found.rax = 0x1111'0000'0008;
  found.rbx = 0x2222'0000'0008;
  found.r15 = 0x3333'0000'0008;
  const std::vector<std::byte> extended(1000);
  const auto frame = make_in_place_frame(found, kStub, {{0x4000}, {}, {}}, extended);
  REQUIRE(frame.has_value());
  for (const std::uint64_t held : {found.rax, found.rbx, found.r15}) {
    bool is_seen = false;
    for (std::size_t at = 0; at + sizeof held <= frame->bytes.size(); at += sizeof held) {
      is_seen = is_seen || std::memcmp(frame->bytes.data() + at, &held, sizeof held) == 0;
    }
    CHECK(is_seen);
  }
}

TEST_CASE("a call in place uses neither the red zone nor the stub's room for the flags") {
  const InPlaceFrame frame = frame_of({});
  CHECK(frame.at.value + frame.bytes.size() == kStackPointer - kStackBytes);
  CHECK(kStackBytes >= 128 + sizeof(std::uint64_t));
}

TEST_CASE("a function gets room on the stack, which on the first thread grows by itself") {
  const InPlaceFrame frame = frame_of({});
  Mapping stack;
  stack.writable = true;
  stack.range = {frame.at - 4096, 0x10000};
  CHECK(!has_room(MemoryMap({stack}), standing(), frame));
  stack.path = "[stack]";
  CHECK(has_room(MemoryMap({stack}), standing(), frame));
  stack.path.clear();
  stack.range = {frame.at - 0x10000, 0x20000};
  CHECK(has_room(MemoryMap({stack}), standing(), frame));
  stack.writable = false;
  CHECK(!has_room(MemoryMap({stack}), standing(), frame));
  CHECK(!has_room(MemoryMap(), standing(), frame));
}

}  // namespace heapattach
