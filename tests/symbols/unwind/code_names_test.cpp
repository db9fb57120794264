// Names code that has no symbol in its file: stubs, functions with compressed symbols, the vDSO,
// and the code to which a signal handler returns.

#include <array>
#include <cstring>

#include <doctest/doctest.h>

#include "symbols/elf/vdso.h"
#include "symbols/unwind/mini_symbols.h"
#include "symbols/unwind/places.h"
#include "tests/fakes/fake_memory.h"
#include "tests/fakes/own_memory.h"
#include "tests/symbols/unwind/inputs/known_stack.h"
#include "tests/symbols/unwind/own_stack.h"

namespace heapattach::unwind {

namespace {

MemoryMap own_map() {
  const auto maps = Fd::open("/proc/self/maps", O_RDONLY);
  REQUIRE(maps);
  return parse_maps(read_all(*maps, 1 << 24).value()).value();
}

std::string function_at(const Modules& modules, RemoteAddr pc) {
  ModuleDebugs debugs(modules);
  const auto places = Places(debugs).of(pc);
  return places.empty() ? std::string() : places.back().function;
}

// "heap\n", as xz packs it.
constexpr std::array<std::uint8_t, 64> kPacked = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01,
    0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x04, 0x68, 0x65, 0x61, 0x70, 0x0a,
    0x00, 0x00, 0x00, 0x00, 0x7c, 0xf1, 0x59, 0x7a, 0x2a, 0xf2, 0xd9, 0x94, 0x00, 0x01, 0x1d, 0x05,
    0xb8, 0x2d, 0x80, 0xaf, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a};

}  // namespace

TEST_CASE("the stub of another module's function is named after it") {
  const Modules& modules = own_modules();
  const RemoteAddr function{reinterpret_cast<std::uint64_t>(&known_call_outside)};
  const Module* const module = modules.find(function);
  REQUIRE(module != nullptr);
  const auto code = module->file_bytes(function);
  std::size_t at = 0;
  while (at < 32 && std::to_integer<unsigned>(code[at]) != 0xe8) ++at;
  REQUIRE(at < 32);
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + at + 1, sizeof distance);
  const RemoteAddr stub = function + at + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
  CHECK(function_at(modules, stub) == "getppid@plt");
  CHECK(function_at(modules, function) == "known_call_outside");
}

TEST_CASE("the code that the kernel maps into a process is a module") {
  auto found = find_vdso(OwnMemory(), own_map());
  REQUIRE(found);
  const auto vdso = Module::from_file(std::move(found->file), found->path, found->start.value);
  REQUIRE(vdso);
  CHECK(vdso->name() == "[vdso]");
  const auto symbol = vdso->find_symbol("__vdso_clock_gettime");
  REQUIRE(symbol);
  CHECK(vdso->contains(symbol->address));
  CHECK(vdso->file().get() >= 0);
}

TEST_CASE("a process without it, or with something else there, has no such module") {
  FakeMemory memory;
  CHECK_FALSE(find_vdso(memory, {}));
  const auto map =
      parse_maps("7000-9000 r-xp 00000000 00:00 0                          [vdso]\n").value();
  CHECK_FALSE(find_vdso(memory, map));
  memory.map_zero(RemoteAddr{0x7000}, 0x2000);
  auto zeros = find_vdso(memory, map);
  REQUIRE(zeros);
  CHECK_FALSE(Module::from_file(std::move(zeros->file), zeros->path, zeros->start.value));
}

TEST_CASE("compressed symbols are unpacked, up to a limit") {
  const auto packed = std::as_bytes(std::span(kPacked));
  const std::vector<char> unpacked = unpack_xz(packed, 100);
  CHECK(std::string(unpacked.begin(), unpacked.end()) == "heap\n");
  CHECK(unpack_xz(packed, 4).empty());
  CHECK(unpack_xz(packed.subspan(0, 40), 100).empty());
  CHECK(unpack_xz(packed.subspan(1), 100).empty());
  CHECK(unpack_xz({}, 100).empty());
  CHECK(MiniSymbols(nullptr).at(0x1000).empty());
}

}  // namespace heapattach::unwind
