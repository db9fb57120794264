#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <dwarf.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"

// Writes debug information that no compiler writes: one unit of DWARF 4 in C, entry by entry.
namespace heapattach::types {

class WrittenDwarf {
 public:
  struct Label {
    std::uint32_t number = 0;
  };
  struct Attribute {
    unsigned name = 0;
    unsigned form = 0;
    std::uint64_t number = 0;  // the label of a reference
    std::string text;
  };

  static Attribute text(unsigned name, std::string_view value) {
    return {name, DW_FORM_string, 0, std::string(value)};
  }
  static Attribute number(unsigned name, std::uint64_t value) {
    return {name, DW_FORM_data8, value, {}};
  }
  static Attribute ref(unsigned name, Label to) { return {name, DW_FORM_ref4, to.number, {}}; }
  // A reference to an entry of the supplementary file.
  static Attribute alt_ref(unsigned name, std::uint32_t offset) {
    return {name, DW_FORM_GNU_ref_alt, offset, {}};
  }

  WrittenDwarf() {
    put(std::uint32_t{0});  // the length
    put(std::uint16_t{4});
    put(std::uint32_t{0});  // where the abbreviations are
    put(std::uint8_t{8});
    open(DW_TAG_compile_unit, {number(DW_AT_language, DW_LANG_C99)});
  }

  Label label() { return {next_label_++}; }
  // Makes `label` the label of the next entry.
  void place(Label label) { places_[label.number] = static_cast<std::uint32_t>(info_.size()); }
  void entry(unsigned tag, const std::vector<Attribute>& attributes) {
    write(tag, attributes, false);
  }
  // Begins an entry that contains all entries until close().
  void open(unsigned tag, const std::vector<Attribute>& attributes) {
    write(tag, attributes, true);
  }
  void close() { put(std::uint8_t{0}); }
  // Adds a variable, so that readers find its type.
  void global(std::string_view name, Label type) {
    entry(DW_TAG_variable, {text(DW_AT_name, name),
                            ref(DW_AT_type, type),
                            {DW_AT_location, DW_FORM_exprloc, 0x4000, {}}});
  }
  void section(std::string name, std::string bytes) {
    others_.emplace_back(std::move(name), std::move(bytes));
  }

  // The ELF file with everything written so far.
  [[nodiscard]] Fd file() {
    const std::string bytes = elf();
    Fd file(memfd_create("written", MFD_CLOEXEC));
    REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    return file;
  }

 private:
  template <class T>
  static void put(std::string& into, T value) {
    into.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(T value) {
    put(info_, value);
  }
  static void put_leb(std::string& into, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) into += static_cast<char>((value & 0x7f) | 0x80);
    into += static_cast<char>(value);
  }

  void write(unsigned tag, const std::vector<Attribute>& attributes, bool has_children) {
    std::string abbreviation;
    put_leb(abbreviation, tag);
    abbreviation += has_children ? '\1' : '\0';
    for (const Attribute& attribute : attributes) {
      put_leb(abbreviation, attribute.name);
      put_leb(abbreviation, attribute.form);
    }
    abbreviation.append(2, '\0');
    const auto [known, is_new] =
        abbreviations_.try_emplace(abbreviation, abbreviations_.size() + 1);
    if (is_new) {
      put_leb(abbrev_, known->second);
      abbrev_ += abbreviation;
    }
    put_leb(info_, known->second);
    for (const Attribute& attribute : attributes) write(attribute);
  }

  void write(const Attribute& attribute) {
    switch (attribute.form) {
      case DW_FORM_string: info_.append(attribute.text.c_str(), attribute.text.size() + 1); break;
      case DW_FORM_data8: put(attribute.number); break;
      case DW_FORM_ref4:
        references_.emplace_back(info_.size(), attribute.number);
        put(std::uint32_t{0});
        break;
      case DW_FORM_exprloc:
        put(std::uint8_t{9});
        put(std::uint8_t{DW_OP_addr});
        put(attribute.number);
        break;
      default: put(static_cast<std::uint32_t>(attribute.number)); break;
    }
  }

  std::string elf() {
    close();  // the unit
    const auto length = static_cast<std::uint32_t>(info_.size() - 4);
    std::memcpy(info_.data(), &length, sizeof length);
    for (const auto& [at, label] : references_) {
      std::memcpy(info_.data() + at, &places_.at(static_cast<std::uint32_t>(label)), 4);
    }
    std::vector<std::pair<std::string, std::string>> sections = {
        {"", ""}, {".debug_info", info_}, {".debug_abbrev", abbrev_ + '\0'}};
    sections.insert(sections.end(), others_.begin(), others_.end());
    std::string names;
    for (const auto& [name, bytes] : sections) names += name + '\0';
    names += std::string(".shstrtab") + '\0';
    sections.emplace_back(".shstrtab", names);
    return with_headers(sections);
  }

  static std::string with_headers(
      const std::vector<std::pair<std::string, std::string>>& sections) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
    std::string bytes(sizeof header, '\0');
    std::string headers;
    std::uint32_t name_at = 0;
    for (const auto& [name, content] : sections) {
      Elf64_Shdr section{};
      section.sh_name = name_at;
      section.sh_type = name.empty() ? SHT_NULL : SHT_PROGBITS;
      if (name == ".shstrtab") section.sh_type = SHT_STRTAB;
      section.sh_offset = bytes.size();
      section.sh_size = content.size();
      section.sh_addralign = 1;
      bytes += content;
      name_at += static_cast<std::uint32_t>(name.size() + 1);
      put(headers, section);
    }
    header.e_shoff = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes + headers;
  }

  std::string info_;
  std::string abbrev_;
  std::map<std::string, std::size_t> abbreviations_;  // with their codes
  std::uint32_t next_label_ = 0;
  std::map<std::uint32_t, std::uint32_t> places_;
  std::vector<std::pair<std::size_t, std::uint64_t>> references_;  // place and label
  std::vector<std::pair<std::string, std::string>> others_;
};

}  // namespace heapattach::types
