#include "symbols/crystal/arch/allocation_sites.h"

#include <doctest/doctest.h>

#include "attach/arch/processors.h"

namespace heapattach::crystal {

namespace {

constexpr RemoteAddr kAt{0x1000};
constexpr RemoteAddr kMalloc{0x2000};
constexpr RemoteAddr kMallocAtomic{0x3000};

// A function written byte by byte. A call or a jump is given by its target.
class Code {
 public:
  Code& bytes(std::initializer_list<int> list) {
    for (const int byte : list) code_.push_back(static_cast<std::byte>(byte));
    return *this;
  }
  Code& call(RemoteAddr to) { return relative(0xe8, to); }
  Code& jump(RemoteAddr to) { return relative(0xe9, to); }

  // Adds the last four bytes of an instruction: the distance to an address.
  Code& distance(RemoteAddr to) {
    const auto distance = static_cast<std::uint32_t>(to.value - (kAt.value + code_.size() + 4));
    for (unsigned i = 0; i < 4; ++i) bytes({static_cast<int>(distance >> (8 * i) & 0xffU)});
    return *this;
  }

  [[nodiscard]] std::vector<AllocationSite> sites(const ConstantAt& constant = {}) const {
    const auto disassembler = Disassembler::open(kOwnProcessor);
    REQUIRE(disassembler.has_value());
    return find_allocation_sites(
        *disassembler, code_, kAt,
        [](RemoteAddr at) -> std::optional<Allocator> {
          if (at == kMalloc) return Allocator::Normal;
          if (at == kMallocAtomic) return Allocator::Atomic;
          return std::nullopt;
        },
        constant);
  }

 private:
  Code& relative(int opcode, RemoteAddr to) {
    const std::uint64_t next = kAt.value + code_.size() + 5;
    const auto distance = static_cast<std::uint32_t>(to.value - next);
    bytes({opcode});
    for (unsigned i = 0; i < 4; ++i) bytes({static_cast<int>(distance >> (8 * i) & 0xffU)});
    return *this;
  }

  std::vector<std::byte> code_;
};

// push %rax; xor %eax,%eax; mov %eax,%edi; add $0x18,%rdi
Code with_size_24() {
  return Code{}.bytes({0x50, 0x31, 0xc0, 0x89, 0xc7, 0x48, 0x83, 0xc7, 0x18});
}

}  // namespace

TEST_CASE("a default build's allocator shows id, size and kind") {
  const auto sites = with_size_24()
                         .call(kMalloc)
                         .bytes({0x48, 0x89, 0xc7})                    // mov %rax,%rdi
                         .bytes({0x48, 0x89, 0x3c, 0x24})              // mov %rdi,(%rsp)
                         .call(RemoteAddr{0x5000})                     // memset
                         .bytes({0x48, 0x8b, 0x0c, 0x24})              // mov (%rsp),%rcx
                         .bytes({0xc7, 0x01, 0xc4, 0x00, 0x00, 0x00})  // movl $0xc4,(%rcx)
                         .bytes({0x48, 0x8b, 0x04, 0x24})              // mov (%rsp),%rax
                         .bytes({0x59, 0xc3})                          // pop %rcx; ret
                         .sites();
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0xc4);
  CHECK(sites[0].bytes == 24);
  CHECK(sites[0].allocator == Allocator::Normal);
  CHECK(sites[0].is_returned);
}

TEST_CASE("an inlined allocator shows id and size, and that its object is not returned") {
  const auto sites = Code{}
                         .bytes({0xbf, 0x0c, 0x00, 0x00, 0x00})  // mov $0xc,%edi
                         .call(kMallocAtomic)
                         .bytes({0xf3, 0x0f, 0x7f, 0x00})                    // movdqu %xmm0,(%rax)
                         .bytes({0x48, 0xc7, 0x00, 0xa0, 0x00, 0x00, 0x00})  // movq $0xa0,(%rax)
                         .bytes({0x31, 0xc0, 0xc3})                          // xor %eax,%eax; ret
                         .sites();
  REQUIRE(sites.size() == 1);
  CHECK(sites[0].id == 0xa0);
  CHECK(sites[0].bytes == 12);
  CHECK(sites[0].allocator == Allocator::Atomic);
  CHECK_FALSE(sites[0].is_returned);
}

TEST_CASE("an id loaded from a constant of the program is recognised") {
  const auto constant = [](RemoteAddr at, unsigned bytes) -> std::optional<std::uint64_t> {
    if (at == RemoteAddr{0x9000} && bytes == 4) return 0xc4;
    if (at == RemoteAddr{0x8000} && bytes == 8) return 0x9000;
    return std::nullopt;
  };
  const auto id_of = [&](Code& code) {
    const auto sites = code.bytes({0x8b, 0x09, 0x89, 0x08, 0x59, 0xc3}).sites(constant);
    return sites.size() == 1 ? sites[0].id : 0;
  };
  SUBCASE("by its address") {
    Code code = with_size_24();
    code.call(kMalloc).bytes({0x48, 0x8d, 0x0d}).distance(RemoteAddr{0x9000});  // lea …(%rip),%rcx
    CHECK(id_of(code) == 0xc4);
  }
  SUBCASE("by its address in a table") {
    Code code = with_size_24();
    code.call(kMalloc).bytes({0x48, 0x8b, 0x0d}).distance(RemoteAddr{0x8000});  // mov …(%rip),%rcx
    CHECK(id_of(code) == 0xc4);
  }
  SUBCASE("in a program with another load address") {
    Code code = with_size_24();
    code.call(kMalloc).bytes({0xb9, 0x00, 0x90, 0x00, 0x00});  // mov $0x9000,%ecx
    CHECK(id_of(code) == 0xc4);
  }
  SUBCASE("but not a variable") {
    Code code = with_size_24();
    code.call(kMalloc).bytes({0x48, 0x8d, 0x0d}).distance(RemoteAddr{0xa000});
    CHECK(id_of(code) == 0);
  }
}

TEST_CASE("the address of a literal that is stored in a buffer is not an id") {
  Code code = with_size_24();
  code.call(kMalloc)
      .bytes({0x48, 0x8d, 0x0d})
      .distance(RemoteAddr{0x9000})  // lea literal(%rip),%rcx
      .bytes({0x48, 0x89, 0x08, 0x59, 0xc3});
  CHECK(code.sites().empty());
}

TEST_CASE("a size that is an argument makes no site") {
  const auto sites = Code{}
                         .call(kMalloc)
                         .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00, 0xc3})  // movl $5,(%rax); ret
                         .sites();
  CHECK(sites.empty());
}

TEST_CASE("two ids stored into one object make no site") {
  const auto sites = with_size_24()
                         .call(kMalloc)
                         .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00})  // movl $5,(%rax)
                         .bytes({0xc7, 0x00, 0x06, 0x00, 0x00, 0x00})  // movl $6,(%rax)
                         .bytes({0x59, 0xc3})
                         .sites();
  CHECK(sites.empty());
}

TEST_CASE("a negative id is ignored") {
  const auto sites =
      with_size_24().call(kMalloc).bytes({0xc7, 0x00, 0xff, 0xff, 0xff, 0xff, 0x59, 0xc3}).sites();
  CHECK(sites.empty());
}

TEST_CASE("a store after a jump counts only for a slot written at one location") {
  Code once = with_size_24();
  once.call(kMalloc)
      .bytes({0x48, 0x89, 0x04, 0x24})  // mov %rax,(%rsp)
      .bytes({0x85, 0xf6, 0x74, 0x00})  // test %esi,%esi; je to the next
      .bytes({0x48, 0x8b, 0x04, 0x24})  // mov (%rsp),%rax
      .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00, 0x59, 0xc3});
  CHECK(once.sites().size() == 1);

  Code twice = with_size_24();
  twice.call(kMalloc)
      .bytes({0x48, 0x89, 0x04, 0x24})  // mov %rax,(%rsp)
      .bytes({0x85, 0xf6, 0x74, 0x04})  // test %esi,%esi; je over the next
      .bytes({0x48, 0x89, 0x34, 0x24})  // mov %rsi,(%rsp)
      .bytes({0x48, 0x8b, 0x04, 0x24})  // mov (%rsp),%rax
      .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00, 0x59, 0xc3});
  CHECK(twice.sites().empty());
}

TEST_CASE("an object that only one of two returns gives is not the function's result") {
  Code code = with_size_24();
  code.call(kMalloc)
      .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00})  // movl $5,(%rax)
      .bytes({0x85, 0xf6, 0x74, 0x02})              // test %esi,%esi; je past the return
      .bytes({0x59, 0xc3})
      .bytes({0x31, 0xc0, 0x59, 0xc3});  // xor %eax,%eax; pop; ret
  REQUIRE(code.sites().size() == 1);
  CHECK_FALSE(code.sites()[0].is_returned);

  Code leaving = with_size_24();
  leaving.call(kMalloc)
      .bytes({0xc7, 0x00, 0x05, 0x00, 0x00, 0x00})
      .bytes({0x85, 0xf6, 0x74, 0x02})
      .bytes({0x59, 0xc3})
      .jump(RemoteAddr{0x9000});
  REQUIRE(leaving.sites().size() == 1);
  CHECK_FALSE(leaving.sites()[0].is_returned);
}

TEST_CASE("bytes that are not code make no site and do no harm") {
  Code code;
  for (int i = 0; i < 4096; ++i) code.bytes({(i * 37 + (i >> 3)) & 0xff});
  CHECK(code.sites().empty());
  CHECK(Code{}.sites().empty());
}

}  // namespace heapattach::crystal
