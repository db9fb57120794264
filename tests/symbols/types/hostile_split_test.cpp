#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>
#include <elf.h>

#include "symbols/dwarf/dwarf_types.h"
#include "symbols/elf/companions.h"
#include "tests/symbols/types/file_bytes.h"
#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

// Reads damaged companion files of debug information. Whatever they contain, reading must end, and
// the resulting model must be walkable.
namespace {

struct Spread {
  std::string program;
  Companion::Kind kind = Companion::Kind::Split;
  std::string beside;
};

std::vector<Spread> all_spread() {
  std::vector<Spread> found;
  for (const char* source : {"c", "cxx"}) {
    for (const std::string& program : split_programs(source, false)) {
      found.push_back({program, Companion::Kind::Split, program + ".dwo"});
    }
    for (const std::string& program : split_programs(source, true)) {
      found.push_back({program, Companion::Kind::Split, program + ".dwp"});
    }
  }
  const std::string moved = std::string(TYPED_DIR) + "/c_gcc_moved";
  if (std::filesystem::exists(moved + ".supplement")) {
    found.push_back({moved, Companion::Kind::Supplement, moved + ".supplement"});
  }
  return found;
}

// The number of types that are read with these bytes as the companion file.
std::size_t types_with(const Spread& spread, const Bytes& bytes) {
  const auto program = Fd::open(spread.program, O_RDONLY);
  REQUIRE(program);
  const Fd file = file_of(bytes);
  auto mapped = MappedBytes::map(file);
  if (!mapped) return 0;
  const Companion companion{spread.kind, spread.beside, std::move(mapped).value()};
  TypeOptions options;
  options.use_sandbox = false;
  const TypeModel model = read_types_of(*program, 0, options, std::span(&companion, 1));
  for (const Type& type : model.types()) {
    if (type.target != kNoType) REQUIRE(type.target < model.types().size());
    for (const Member& member : type.members) {
      if (member.type != kNoType) REQUIRE(member.type < model.types().size());
    }
  }
  return model.types().size();
}

}  // namespace

TEST_CASE("the other files of debug information may be cut off at any section's boundary") {
  for (const Spread& spread : all_spread()) {
    CAPTURE(spread.beside);
    const Bytes whole = bytes_of(spread.beside);
    const std::size_t all = types_with(spread, whole);
    CHECK(all > 5);
    for (const Elf64_Shdr& section : sections_of(whole)) {
      for (const std::uint64_t end : {section.sh_offset, section.sh_offset + section.sh_size / 2,
                                      section.sh_offset + section.sh_size}) {
        if (end >= whole.size()) continue;
        CHECK(types_with(spread, Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(end))) <= all);
      }
    }
  }
}

TEST_CASE("any of their sections may end too early or pretend to be huge") {
  for (const Spread& spread : all_spread()) {
    CAPTURE(spread.beside);
    const Bytes whole = bytes_of(spread.beside);
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof header);
    const auto sections = sections_of(whole);
    for (std::size_t i = 1; i < sections.size(); ++i) {
      for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, sections[i].sh_size / 2,
                                       sections[i].sh_size - 1, std::uint64_t{1} << 63}) {
        auto changed = sections[i];
        changed.sh_size = size;
        Bytes bytes = whole;
        std::memcpy(bytes.data() + header.e_shoff + i * sizeof changed, &changed, sizeof changed);
        types_with(spread, bytes);
      }
    }
  }
}

TEST_CASE("any of their bytes may be wrong") {
  for (const Spread& spread : all_spread()) {
    CAPTURE(spread.beside);
    const Bytes whole = bytes_of(spread.beside);
    std::uint32_t random = 4711;
    for (int round = 0; round < 40; ++round) {
      Bytes bytes = whole;
      for (int changes = 0; changes < 8; ++changes) {
        random = random * 1664525 + 1013904223;
        bytes[0x40 + (random >> 4) % (bytes.size() - 0x40)] = static_cast<char>(random >> 24);
      }
      types_with(spread, bytes);
    }
  }
}

}  // namespace heapattach::types
