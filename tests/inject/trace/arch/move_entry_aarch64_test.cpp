#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "inject/trace/arch/jump.h"
#include "inject/trace/arch/layout.h"
#include "inject/trace/arch/move_entry.h"

// Moves the first instructions of aarch64 functions, on any machine. An assembler made the
// encodings.

namespace heapattach::trace {

namespace {

constexpr RemoteAddr kEntry{0x10000};
constexpr RemoteAddr kTo{0x900000};
constexpr std::uint32_t kReturn = 0xd65f03c0;

std::vector<std::byte> bytes_of(std::initializer_list<std::uint32_t> words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.begin(), bytes.size());
  return bytes;
}

Result<MovedEntry> moved(std::initializer_list<std::uint32_t> words, RemoteAddr to = kTo) {
  return move_entry_of_aarch64(bytes_of(words), kEntry, to);
}

std::vector<std::uint32_t> words_of(std::span<const std::byte> code) {
  std::vector<std::uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), words.size() * 4);
  return words;
}

// The instruction b to `goal`, at this index of the moved code.
std::uint32_t jump_from(std::size_t index, std::uint64_t goal) {
  return words_of(on_aarch64::jump(kTo.value + 4 * index, goal)).front();
}

using Words = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a jump of aarch64 has one instruction, and reaches 128 MiB either way") {
  CHECK(words_of(on_aarch64::jump(0x1000, 0x1000)) == Words{0x14000000});
  CHECK(words_of(on_aarch64::jump(0x1000, 0x1008)) == Words{0x14000002});
  CHECK(words_of(on_aarch64::jump(0x1000, 0xffc)) == Words{0x17ffffff});
  constexpr std::uint64_t kFrom = 0x100000000;
  CHECK(words_of(on_aarch64::jump(kFrom, kFrom + 0x7fffffc)) == Words{0x15ffffff});
  CHECK(words_of(on_aarch64::jump(kFrom, kFrom - 0x8000000)) == Words{0x16000000});
  CHECK(!on_aarch64::can_jump(kFrom, kFrom + 0x8000000));
  CHECK(!on_aarch64::can_jump(kFrom, kFrom - 0x8000004));
  CHECK(!on_aarch64::can_jump(kFrom, kFrom + 2));
}

TEST_CASE("the first instruction of aarch64 moves unchanged if it is independent of its place") {
  const std::uint32_t independent[] = {
      0xa9be7bfd,  // stp x29, x30, [sp, #-32]!
      0xd10083ff,  // sub sp, sp, #32
      0xf100201f,  // cmp x0, #8
      0xaa0003e2,  // mov x2, x0
      0xd2800021,  // mov x1, #1
      0xf9400003,  // ldr x3, [x0]
      0xd53bd044,  // mrs x4, tpidr_el0
      0xd503201f,  // nop
      0x9ac12000,  // lsl x0, x0, x1
      0x93c01000,  // ror (extr x0, x0, x0, #4)
      0x1e270000,  // fmov s0, w0
      0x3dc00000,  // ldr q0, [x0]
      0xc85ffc01,  // ldaxr x1, [x0]
      0xdac143fe,  // xpaci x30
  };
  for (const std::uint32_t word : independent) {
    const auto entry = moved({word, kReturn});
    REQUIRE(entry);
    CHECK(entry->kept == 0);
    CHECK(entry->bytes == 4);
    CHECK(entry->undo.empty());
    CHECK(words_of(entry->code) == Words{word, jump_from(1, kEntry.value + 4)});
  }
}

TEST_CASE("branches of aarch64 keep their goals") {
  SUBCASE("b") {
    CHECK(words_of(moved({0x14000400})->code) == Words{jump_from(0, kEntry.value + 0x1000)});
  }
  SUBCASE("b.eq, cbz, cbnz") {
    for (const std::uint32_t word : {0x54000000U, 0xb4000000U, 0x35000003U}) {
      // The branch goes 0x20 bytes forward. Moved, it goes 8 bytes: over the jump back.
      const auto entry = moved({word | 8U << 5U, kReturn});
      REQUIRE(entry);
      CHECK(words_of(entry->code) == Words{word | 2U << 5U, jump_from(1, kEntry.value + 4),
                                           jump_from(2, kEntry.value + 0x20)});
    }
  }
  SUBCASE("tbz backwards") {
    const std::uint32_t word = 0x36180001;  // tbz w1, #3
    const auto entry = moved({word | 0x3fffU << 5U, kReturn});
    REQUIRE(entry);
    CHECK(words_of(entry->code) ==
          Words{word | 2U << 5U, jump_from(1, kEntry.value + 4), jump_from(2, kEntry.value - 4)});
  }
}

TEST_CASE("addresses of aarch64 that depend on the instruction's place stay the same") {
  SUBCASE("adr x3, 0x10 onwards") {
    const auto entry = moved({0x10000083, kReturn});
    REQUIRE(entry);
    // adrp x3, -0x8f0 pages; add x3, x3, #0x10
    CHECK(words_of(entry->code) ==
          Words{0x90000003 | (0x1ff710U >> 2U) << 5U, 0x91004063, jump_from(2, kEntry.value + 4)});
  }
  SUBCASE("adrp x16, 2 pages onwards") {
    const auto entry = moved({0xd0000010, kReturn});
    REQUIRE(entry);
    // -0x8ee pages
    CHECK(words_of(entry->code) ==
          Words{0xd0000010 | (0x1ff712U >> 2U) << 5U, jump_from(1, kEntry.value + 4)});
  }
  SUBCASE("ldr x5, 0x2000 onwards") {
    const auto entry = moved({0x58010005, kReturn});
    REQUIRE(entry);
    CHECK(words_of(entry->code) == Words{0xd0000005 | (0x1ff712U >> 2U) << 5U, 0x910000a5,
                                         0xf94000a5, jump_from(3, kEntry.value + 4)});
  }
  SUBCASE("ldrsw, ldr w") {
    CHECK(words_of(moved({0x98010005, kReturn})->code).at(2) == 0xb98000a5);
    CHECK(words_of(moved({0x18010005, kReturn})->code).at(2) == 0xb94000a5);
  }
}

TEST_CASE("a mark for indirect branches stays, and the instruction after it moves") {
  const auto entry = moved({0xd503245f, 0xa9be7bfd, kReturn});  // bti c; stp
  REQUIRE(entry);
  CHECK(entry->kept == 4);
  CHECK(entry->bytes == 4);
  CHECK(entry->undo.empty());
  CHECK(words_of(entry->code) == Words{0xa9be7bfd, jump_from(1, kEntry.value + 8)});
}

TEST_CASE("a signature of the return address is undone by the hook, and done again") {
  const auto a = moved({0xd503233f, 0xa9be7bfd, kReturn});  // paciasp; stp
  REQUIRE(a);
  CHECK(a->kept == 4);
  CHECK(words_of(a->undo) == Words{0xd50323bf});  // autiasp
  CHECK(words_of(a->code) == Words{0xd503233f, 0xa9be7bfd, jump_from(2, kEntry.value + 8)});
  const auto b = moved({0xd503237f, 0x90000001, kReturn});  // pacibsp; adrp x1
  REQUIRE(b);
  CHECK(words_of(b->undo) == Words{0xd50323ff});  // autibsp
  CHECK(words_of(b->code).front() == 0xd503237f);
}

TEST_CASE("instructions of aarch64 that would not do the same elsewhere are refused") {
  const auto why = [](std::initializer_list<std::uint32_t> words, RemoteAddr to = kTo) {
    const auto entry = moved(words, to);
    REQUIRE(!entry);
    CHECK(entry.error().kind == ErrorKind::Impossible);
    return entry.error().message();
  };
  CHECK(why({0x94000010, kReturn}).find("is a call") != std::string::npos);  // bl
  CHECK(why({0xd63f0000, kReturn}).find("is a call") != std::string::npos);  // blr x0
  CHECK(why({kReturn}).find("ends the function") != std::string::npos);
  CHECK(why({0xd61f0000}).find("ends the function") != std::string::npos);         // br x0
  CHECK(why({0xd4200000}).find("ends the function") != std::string::npos);         // brk
  CHECK(why({0xd4000001}).find("ends the function") != std::string::npos);         // svc
  CHECK(why({0x74000000}).find("ends the function") != std::string::npos);         // cb<cond>
  CHECK(why({0x1c000000, kReturn}).find("cannot be moved") != std::string::npos);  // ldr s0
  CHECK(why({0xd8000000, kReturn}).find("cannot be moved") != std::string::npos);  // prfm
  CHECK(why({0x5800001f, kReturn}).find("cannot be moved") != std::string::npos);  // ldr xzr
  CHECK(why({0x00000000, kReturn}).find("is unknown") != std::string::npos);
  CHECK(why({0x04200000, kReturn}).find("is unknown") != std::string::npos);  // SVE
  CHECK(why({0xdac1a3fe, kReturn}).find("is unknown") != std::string::npos);  // paciasppc
  CHECK(why({0xd503245f}).find("beyond the function") != std::string::npos);
  CHECK(why({0xf3800000, kReturn}).find("is unknown") != std::string::npos);  // autiasppc
  CHECK(why({0xa9be7bfd, kReturn}, RemoteAddr{0x10000000}).find("out of reach") !=
        std::string::npos);
  CHECK(why({0x90000001, kReturn}, RemoteAddr{0x200000000}).find("out of reach") !=
        std::string::npos);
}

TEST_CASE("after a mark, no jump may lead back to the instruction that moves") {
  // bti c; subs x0, x0, #1; b.ne to the subs
  const auto entry = moved({0xd503245f, 0xf1000400, 0x54ffffe1, kReturn});
  REQUIRE(!entry);
  CHECK(entry.error().message().find("jumps between") != std::string::npos);
  // A branch to the mark itself is another call of the function.
  CHECK(moved({0xd503245f, 0xf1000400, 0x54ffffc1, kReturn}));
  CHECK(moved({0xf1000400, 0x54ffffe1, kReturn}));
}

TEST_CASE("a return address of aarch64 follows bl") {
  const auto code = bytes_of({0xa9be7bfd, 0x94000010, 0xd503201f, kReturn});
  CHECK(!on_aarch64::follows_call(code, 0));
  CHECK(!on_aarch64::follows_call(code, 4));
  CHECK(on_aarch64::follows_call(code, 8));
  CHECK(!on_aarch64::follows_call(code, 10));
  CHECK(!on_aarch64::follows_call(code, 12));
}

TEST_CASE("an instruction that only returns needs a mark where the code has marks") {
  CHECK(on_aarch64::find_return(bytes_of({0xd503201f, 0xd503201f, kReturn}), 4) == 8);
  CHECK(on_aarch64::find_return(bytes_of({kReturn, 0xd503201f}), 4) == std::nullopt);
  CHECK(on_aarch64::find_return(bytes_of({0xd503245f, 0xd503201f, kReturn}), 4) == std::nullopt);
  CHECK(on_aarch64::find_return(bytes_of({0xd503245f, 0xd503201f, 0xd503245f, kReturn}), 4) == 8);
}

}  // namespace heapattach::trace
