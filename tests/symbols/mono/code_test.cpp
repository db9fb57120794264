#include "symbols/mono/code.h"

#include <doctest/doctest.h>

#include "tests/symbols/mono/mono_heap.h"

namespace heapattach {
namespace {

constexpr std::uint64_t kCode = 0x4100'0000;

MemoryMap map_with_code() {
  return parse_maps(
             "41000000-41010000 rwxp 00000000 00:00 0 \n"
             "42000000-42010000 r-xp 00000000 08:01 7 /usr/lib/library.so\n")
      .value();
}

// A heap with a table of compiled methods.
class Compiled {
 public:
  Compiled() {
    bank = mono.add_class({.name = "Bank", .space = "Game", .parent = mono.object});
    mono.heap.fake.add_memory(RemoteAddr{kCode}, 0x1000);
    chunk = mono.room(24 + 64 * 8);
    const auto table = mono.room(32);
    mono.put(table, mono.domain);
    mono.put(table + 8, 1);
    mono.put(table + 16, chunk);
    mono.put(mono.domain + 0x148, table);
  }

  void add(const std::string& name, std::uint64_t code, std::uint32_t bytes, std::uint32_t flags) {
    const auto method = mono.room(40);
    mono.put(method + 8, bank);
    mono.put(method + 24, mono.text(name));
    const auto record = mono.room(40);
    mono.put(record, method);
    mono.put(record + 16, code);
    mono.put(record + 24, std::uint64_t{bytes} << 32);
    mono.put(record + 32, flags);
    mono.put(chunk + 24 + count * 8, record);
    mono.put(chunk, ++count << 32);
  }

  std::vector<std::string> names(std::vector<std::uint64_t> words) {
    auto facts = mono.facts().value();
    facts.domain = mono.domain;
    std::vector<std::string> found;
    const auto methods =
        mono::methods_at(facts, std::move(words), mono.heap.fake.memory(), map_with_code());
    for (const mono::Method& method : methods.found) {
      found.push_back(method.name);
    }
    return found;
  }

  MonoHeap mono;
  std::uint64_t bank = 0;
  std::uint64_t chunk = 0;
  std::uint64_t count = 0;
};

using Names = std::vector<std::string>;

TEST_CASE("compiled methods are found by addresses in their code, in any order") {
  Compiled compiled;
  compiled.add("Second", kCode + 0x200, 0x80, 0);
  compiled.add("First", kCode + 0x100, 0x80, 0);
  compiled.add("", kCode + 0x300, 0x80, 1U << 28U);
  CHECK(compiled.names({kCode + 0x27f, kCode + 0x110}) ==
        Names{"Game.Bank.First", "Game.Bank.Second"});
  // An address just after a call is the last one's, even if nothing follows.
  CHECK(compiled.names({kCode + 0x180}) == Names{"Game.Bank.First"});
  CHECK(compiled.names({kCode + 0x300}) == Names{"(trampoline of Mono)"});
  CHECK(compiled.names({kCode + 0x190}) == Names{});
}

TEST_CASE("what is not code that was generated is not a method") {
  Compiled compiled;
  SUBCASE("code of a file") {
    compiled.add("Method", 0x4200'0000, 0x80, 0);
    CHECK(compiled.names({0x4200'0010}) == Names{});
  }
  SUBCASE("code beyond its mapping") {
    compiled.add("First", kCode + 0x100, 0x80, 0);
    compiled.add("Method", kCode + 0xfff0, 0x80, 0);
    CHECK(compiled.names({kCode + 0xfff8}) == Names{});
  }
  SUBCASE("a table of another domain") {
    compiled.add("First", kCode + 0x100, 0x80, 0);
    compiled.mono.put(compiled.mono.domain + 0x148, compiled.chunk);
    CHECK(compiled.names({kCode + 0x110}) == Names{});
  }
}

}  // namespace
}  // namespace heapattach
