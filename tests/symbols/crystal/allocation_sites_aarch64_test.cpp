// Reads aarch64 code as the compiler makes it, on any machine.

#include <cstring>

#include <doctest/doctest.h>
#include <elf.h>

#include "symbols/crystal/arch/allocation_sites.h"
#include "symbols/crystal/arch/calls.h"

namespace heapattach::crystal {

namespace {

constexpr RemoteAddr kAt{0x10000};
constexpr RemoteAddr kMalloc{0x20000};
constexpr RemoteAddr kMallocAtomic{0x30000};
constexpr RemoteAddr kOther{0x50000};
constexpr std::uint32_t kReturn = 0xd65f03c0;

// A function written word by word. A call or a jump is given by its target.
class Function {
 public:
  Function& words(std::initializer_list<std::uint32_t> list) {
    words_.insert(words_.end(), list);
    return *this;
  }
  Function& call(RemoteAddr to) { return words({0x94000000U | distance_to(to)}); }
  Function& jump(RemoteAddr to) { return words({0x14000000U | distance_to(to)}); }

  [[nodiscard]] std::vector<AllocationSite> sites(const ConstantAt& constant = {}) const {
    const auto disassembler = Disassembler::open(EM_AARCH64);
    REQUIRE(disassembler.has_value());
    const auto allocator = [](RemoteAddr at) -> std::optional<Allocator> {
      if (at == kMalloc) return Allocator::Normal;
      if (at == kMallocAtomic) return Allocator::Atomic;
      return std::nullopt;
    };
    return find_allocation_sites(*disassembler, std::as_bytes(std::span(words_)), kAt, allocator,
                                 constant);
  }
  [[nodiscard]] Code code() const { return {kAt, std::as_bytes(std::span(words_)), EM_AARCH64}; }

 private:
  [[nodiscard]] std::uint32_t distance_to(RemoteAddr to) const {
    const std::uint64_t here = kAt.value + words_.size() * 4;
    return static_cast<std::uint32_t>(to.value - here) >> 2U & 0x3ffffffU;
  }

  std::vector<std::uint32_t> words_;
};

// The beginning of a default build's allocator, up to the call that zeroes the object.
Function zeroed_24_bytes() {
  return Function{}
      .words({0xd100c3ff, 0xf90013fe})              // sub sp, sp, #0x30; str x30, [sp, #32]
      .words({0xaa1f03e8, 0xd2800309, 0x8b090100})  // mov x8, xzr; mov x9, #0x18; add x0, x8, x9
      .call(kMalloc)
      .words({0xf90007e0, 0xf9000be0})  // str x0, [sp, #8]; str x0, [sp, #16]
      .call(kOther)                     // memset
      .words({0xf94007e9, 0xf9400be0})  // ldr x9, [sp, #8]; ldr x0, [sp, #16]
      .words({0xb9000d3f});             // str wzr, [x9, #12]
}

// Adds the end of the allocator: it calls initialize, and returns the object.
Function& finished(Function& code) {
  return code
      .words({0xb9000128, 0xf9000fe0})  // str w8, [x9]; str x0, [sp, #24]
      .call(kOther)
      .words({0xf9400fe0, 0xf94013fe, 0x9100c3ff, kReturn});  // ldr x0, [sp, #24] …
}

}  // namespace

TEST_CASE("a default build's allocator for aarch64 shows id, size and kind") {
  Function code = zeroed_24_bytes();
  const auto sites = finished(code.words({0x52800368})).sites();  // mov w8, #0x1b
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0x1b);
  CHECK(sites[0].bytes == 24);
  CHECK(sites[0].allocator == Allocator::Normal);
  CHECK(sites[0].is_returned);
  CHECK(sites[0].allocator_at == kMalloc);
  CHECK(sites[0].made_at == kAt + 24);
}

TEST_CASE("an id of aarch64's code that is loaded from a constant is recognised") {
  const ConstantAt constant = [](RemoteAddr at, unsigned bytes) -> std::optional<std::uint64_t> {
    if (at == RemoteAddr{0x42f24} && bytes == 4) return 0xc4;
    return std::nullopt;
  };
  Function code = zeroed_24_bytes();
  code.words(
      {0x90000188, 0x913c9108, 0xb9400108});  // adrp x8, 0x40000; add …, #0xf24; ldr w8, [x8]
  CHECK(finished(code).sites(constant).empty());
  Function right = zeroed_24_bytes();
  right.words({0xd0000188, 0x913c9108, 0xb9400108});  // adrp x8, 0x42000
  const auto sites = finished(right).sites(constant);
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0xc4);
}

TEST_CASE("an allocator inlined by --release for aarch64 shows id and size") {
  Function code;
  code.words({0x52800600}).call(kMalloc);  // mov w0, #0x30
  SUBCASE("after vector registers have zeroed the object") {
    code.words({0x6f00e400, 0xaa0003f3})  // movi v0.2d, #0; mov x19, x0
        .words({0xad000000, 0x3d800800})  // stp q0, q0, [x0]; str q0, [x0, #32]
        .call(kOther)
        .words({0x52801228, 0xb9000268});  // mov w8, #0x91; str w8, [x19]
  }
  SUBCASE("in a pair") {
    code.words({0x52801228, 0x29005408});  // mov w8, #0x91; stp w8, w21, [x0]
  }
  SUBCASE("with zeros after it") {
    code.words({0xd2801228, 0xf9000008});  // mov x8, #0x91; str x8, [x0]
  }
  const auto sites = code.words({kReturn}).sites();
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0x91);
  CHECK(sites[0].bytes == 48);
}

TEST_CASE("an id in a constant of 16 bytes is recognised") {
  const ConstantAt constant = [](RemoteAddr at, unsigned bytes) -> std::optional<std::uint64_t> {
    if (at == RemoteAddr{0x10840} && bytes == 8) return 0x700000091;
    return std::nullopt;
  };
  const auto sites = Function{}
                         .words({0x52800600})
                         .call(kMalloc)
                         .words({0x90000008, 0x3dc21100})  // adrp x8, 0x10000; ldr q0, [x8, #2112]
                         .words({0x3d800000, kReturn})     // str q0, [x0]
                         .sites(constant);
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0x91);
}

TEST_CASE("no id is taken from aarch64's code where paths or instructions are not followed") {
  Function code;
  SUBCASE("the size depends on an argument") {
    code.call(kMalloc).words({0x52801228, 0xb9000008});
  }
  SUBCASE("two ids") {
    code.words({0x52800600}).call(kMalloc).words({0x52801228, 0xb9000008});
    code.words({0x52801248, 0xb9000008});  // mov w8, #0x92
  }
  SUBCASE("a register that an unknown instruction has changed") {
    code.words({0x52800600}).call(kMalloc).words({0x52801228});
    code.words({0x1ac00908, 0xb9000008});  // udiv w8, w8, w0
  }
  SUBCASE("a jump comes in between, to where the register is stored") {
    code.words({0x52800600}).call(kMalloc).words({0x52801228});
    code.words({0x35000029, 0xb9000008});  // cbnz w9, 1f; 1: str w8, [x0]
  }
  SUBCASE("a byte over the id") {
    code.words({0x52800600}).call(kMalloc).words({0x52801228, 0xb9000008, 0x39000009});
  }
  CHECK(code.words({kReturn}).sites().empty());
}

TEST_CASE("aarch64's stubs and wrappers of an allocator are allocators") {
  constexpr std::uint64_t kSlot = 0x400d0;
  AllocatorEntries entries{{kMalloc.value, Allocator::Normal}};
  Function stubs;
  stubs
      .words({0xd503245f})  // bti c
      .words({0x90000190, 0xf9406a11, 0x91034210, 0xd61f0220})
      .words({0x90000190, 0xf9406e11, 0x91036210, 0xd61f0220});  // the stub of another slot
  add_stubs(stubs.code(), {{kSlot, Allocator::Atomic}}, entries);
  CHECK(entries.size() == 3);
  CHECK(entries.at(kAt.value) == Allocator::Atomic);
  CHECK(entries.at(kAt.value + 4) == Allocator::Atomic);

  entries = {{kMalloc.value, Allocator::Normal}};
  Function wrappers;
  wrappers.words({0xf81f0ffe}).call(kOther).call(kMalloc).words({0xf84107fe, kReturn});
  wrappers.words({0xf81f0ffe}).call(kMalloc).words({0xf84107fe, kReturn});
  wrappers.jump(kMalloc);
  wrappers.call(kMalloc).words({kReturn});  // a function that is not a wrapper
  CHECK(add_wrappers(wrappers.code(), entries));
  CHECK(entries.size() == 4);
  for (const std::uint64_t at : {0U, 20U, 36U}) CHECK(entries.contains(kAt.value + at));
}

TEST_CASE("in aarch64's code, calls and the sizes for them are found") {
  Function function;
  function.words({0xaa1f03e8, 0xd2800309, 0x8b090100}).call(kMalloc);
  function.words({0x52800600, 0xd503201f}).call(kMallocAtomic).call(kOther).words({kReturn});
  const Code code = function.code();
  std::vector<std::size_t> calls;
  each_call(code, [&](std::size_t at) { calls.push_back(at); });
  CHECK(calls == std::vector<std::size_t>{12, 24, 28});
  CHECK(target_of_call(code, 12) == kMalloc.value);
  CHECK(begin_of_size(code, 12) == 0);
  CHECK(begin_of_size(code, 24) == 16);
  CHECK(first_constant(code) == std::nullopt);
  CHECK(first_constant({kAt, code.bytes.subspan(16), EM_AARCH64}) == 0x30);
  CHECK(!stores_constant(code));
  Function storing;
  storing.words({0xb9000128});
  CHECK(stores_constant(storing.code()));
  Function spilling;
  spilling.words({0xf90003e0});  // str x0, [sp]
  CHECK(!stores_constant(spilling.code()));
}

}  // namespace heapattach::crystal
