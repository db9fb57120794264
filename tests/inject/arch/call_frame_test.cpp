#include "inject/arch/call_frame.h"

#include <cstring>

#include <doctest/doctest.h>

namespace heapattach {

namespace {

RawRegisters standing() {
  RawRegisters found{};
  found.rsp = 0x7000'0000'0123;
  found.rip = 0x1002;
  found.eflags = 0x647;  // with the direction flag
  found.orig_rax = 35;
  return found;
}

std::uint64_t word_at(const CallFrame& frame, std::uint64_t address) {
  std::uint64_t word = 0;
  REQUIRE(address - frame.at.value + sizeof word <= frame.stack.size());
  std::memcpy(&word, frame.stack.data() + (address - frame.at.value), sizeof word);
  return word;
}

const char* text_at(const CallFrame& frame, std::uint64_t address) {
  REQUIRE(address - frame.at.value < frame.stack.size());
  return reinterpret_cast<const char*>(frame.stack.data()) + (address - frame.at.value);
}

}  // namespace

TEST_CASE("a function is entered as the ABI requires") {
  const std::vector<CallArgument> arguments{std::uint64_t{1}, std::string("text"), std::uint64_t{3},
                                            std::uint64_t{4}, std::uint64_t{5},    std::uint64_t{6},
                                            std::uint64_t{7}, std::string("")};
  const auto frame = make_call_frame(standing(), {0x4000}, arguments);
  REQUIRE(frame.has_value());
  const RawRegisters& in = frame->registers;
  CHECK(in.rip == 0x4000);
  CHECK((in.rsp + 8) % 16 == 0);
  CHECK(in.rsp == frame->at.value);
  CHECK(in.rsp + frame->stack.size() <= standing().rsp);
  CHECK((in.eflags & 0x400) == 0);
  CHECK(static_cast<std::int64_t>(in.orig_rax) == -1);
  CHECK(in.rax == 0);
  CHECK(in.rdi == 1);
  CHECK(std::string(text_at(*frame, in.rsi)) == "text");
  CHECK(in.rdx == 3);
  CHECK(in.rcx == 4);
  CHECK(in.r8 == 5);
  CHECK(in.r9 == 6);
  CHECK(word_at(*frame, in.rsp) == kReturnAddress.value);
  CHECK(word_at(*frame, in.rsp + 8) == 7);
  CHECK(std::string(text_at(*frame, word_at(*frame, in.rsp + 16))).empty());
}

TEST_CASE("a return is distinguished from a jump to the same address") {
  const auto frame = make_call_frame(standing(), {0x4000}, {});
  REQUIRE(frame.has_value());
  RawRegisters now = frame->registers;
  now.rip = kReturnAddress.value;
  CHECK(!has_returned(*frame, now));
  now.rsp += 8;
  CHECK(has_returned(*frame, now));
  now.rip = 0;
  CHECK(!has_returned(*frame, now));
}

TEST_CASE("texts that the stack might not hold are refused") {
  const std::vector<CallArgument> arguments{std::string(kMostTextBytes, 'x')};
  const auto frame = make_call_frame(standing(), {0x4000}, arguments);
  REQUIRE(!frame.has_value());
  CHECK(frame.error().kind == ErrorKind::Impossible);
}

}  // namespace heapattach
