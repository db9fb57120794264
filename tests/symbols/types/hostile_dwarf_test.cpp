#include <cstring>

#include <doctest/doctest.h>
#include <elf.h>
#include <fmt/format.h>

#include "symbols/dwarf/dwarf_types.h"
#include "tests/symbols/types/file_bytes.h"
#include "tests/symbols/types/typed_program.h"

namespace heapattach::types {

// Reads debug information that is damaged or malicious. Whatever it contains, reading must end, and
// the resulting model must be walkable.
namespace {

void put_sections(Bytes& bytes, const std::vector<Elf64_Shdr>& sections) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(bytes.data() + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
}

// Follows all references in a model.
void walk(const TypeModel& model) {
  for (const Type& type : model.types()) {
    if (type.target != kNoType) REQUIRE(type.target < model.types().size());
    for (const Member& member : type.members) {
      if (member.type != kNoType) REQUIRE(member.type < model.types().size());
    }
  }
}

TypeModel read(const Bytes& bytes, bool use_sandbox = false) {
  TypeOptions options;
  options.use_sandbox = use_sandbox;
  TypeModel model = read_types_of(file_of(bytes), 0, options);
  walk(model);
  return model;
}

std::vector<std::string> all_programs() {
  std::vector<std::string> all = typed_programs("c");
  for (std::string& program : typed_programs("cxx")) all.push_back(std::move(program));
  return all;
}

}  // namespace

TEST_CASE("debug information cut off at any section's boundary does no harm") {
  for (const std::string& program : all_programs()) {
    const Bytes whole = bytes_of(program);
    for (const Elf64_Shdr& section : sections_of(whole)) {
      if (section.sh_type == SHT_NOBITS) continue;
      for (const std::uint64_t end : {section.sh_offset, section.sh_offset + section.sh_size / 2,
                                      section.sh_offset + section.sh_size}) {
        if (end <= whole.size()) read(Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(end)));
      }
    }
  }
}

TEST_CASE("sections of debug information that end too early do no harm") {
  for (const std::string& program : all_programs()) {
    const Bytes whole = bytes_of(program);
    const auto sections = sections_of(whole);
    for (std::size_t i = 1; i < sections.size(); ++i) {
      for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, sections[i].sh_size / 2,
                                       sections[i].sh_size - 1, std::uint64_t{1} << 63}) {
        auto changed = sections;
        changed[i].sh_size = size;
        Bytes bytes = whole;
        put_sections(bytes, changed);
        read(bytes);
      }
    }
  }
}

TEST_CASE("wrong bytes anywhere in debug information do no harm") {
  for (const std::string& program : all_programs()) {
    const Bytes whole = bytes_of(program);
    std::uint32_t random = 12345;
    for (int round = 0; round < 150; ++round) {
      Bytes bytes = whole;
      for (int changes = 0; changes < 8; ++changes) {
        random = random * 1664525 + 1013904223;
        // The sections of debug information come after the loaded segments.
        const std::size_t at = 0x3000 + (random >> 4) % (bytes.size() - 0x3000);
        bytes[at] = static_cast<char>(random >> 24);
      }
      read(bytes);
    }
  }
}

TEST_CASE("damaged debug information costs the types, not the caller") {
  for (const std::string& program : typed_programs("c")) {
    Bytes bytes = bytes_of(program);
    for (const Elf64_Shdr& section : sections_of(bytes)) {
      if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_ALLOC) != 0) continue;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(section.sh_offset), section.sh_size,
                  '\x7f');
    }
    CHECK(read(bytes, true).empty());
  }
}

}  // namespace heapattach::types
