#include "symbols/elf/module.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>

namespace heapattach {

extern "C" {
__attribute__((noinline, used)) int heapattach_test_marker(int x) {
  return x + 42;
}
}
static const char* const kConstant = "a constant of the tests";

namespace {

// The module of the test program itself, at the address that dladdr() reports.
Module this_program() {
  Dl_info info{};
  REQUIRE(dladdr(&kConstant, &info) != 0);
  auto module = Module::from_file(Fd::open("/proc/self/exe", O_RDONLY).value(), "/a/b/tests",
                                  reinterpret_cast<std::uint64_t>(info.dli_fbase));
  REQUIRE(module);
  return std::move(module).value();
}

RemoteAddr address_of(const void* here) {
  return {reinterpret_cast<std::uint64_t>(here)};
}

}  // namespace

TEST_CASE("a module finds its symbols by name and by address") {
  const Module module = this_program();
  CHECK(module.name() == "tests");
  const auto* code = reinterpret_cast<const void*>(&heapattach_test_marker);
  const auto symbol = module.find_symbol("heapattach_test_marker");
  REQUIRE(symbol);
  CHECK(symbol->address == address_of(code));
  CHECK(symbol->is_function);
  const auto covering = module.symbol_at(symbol->address + 1);
  REQUIRE(covering);
  CHECK(covering->name == "heapattach_test_marker");
  CHECK_FALSE(module.find_symbol("heapattach_test_mark"));
}

TEST_CASE("a module lists each symbol once, by address") {
  const Module module = this_program();
  const auto symbols = module.symbols();
  REQUIRE(symbols.size() > 100);
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    CHECK_FALSE(symbols[i].address < symbols[i - 1].address);
    if (symbols[i].address == symbols[i - 1].address) {
      CHECK(symbols[i].name != symbols[i - 1].name);
    }
  }
}

TEST_CASE("a module's bytes in the file are those in memory") {
  const Module module = this_program();
  const auto bytes = module.file_bytes(address_of(kConstant));
  const std::size_t size = std::strlen(kConstant) + 1;
  REQUIRE(bytes.size() >= size);
  CHECK(std::memcmp(bytes.data(), kConstant, size) == 0);
  CHECK(module.contains(address_of(kConstant)));
  CHECK(module.file_bytes(RemoteAddr{8}).empty());
}

TEST_CASE("a file that is not an ELF file is malformed") {
  const auto module = Module::from_file(Fd::open("/proc/self/maps", O_RDONLY).value(), "maps", 0);
  REQUIRE_FALSE(module);
  CHECK(module.error().kind == ErrorKind::Malformed);
}

}  // namespace heapattach
