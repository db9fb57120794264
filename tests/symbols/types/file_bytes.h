#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/fd.h"

// Files as bytes, for tests that damage them.
namespace heapattach {

using Bytes = std::vector<char>;

inline Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Fd file_of(const Bytes& bytes) {
  Fd file(memfd_create("hostile", MFD_CLOEXEC));
  REQUIRE_FALSE(file.empty());
  REQUIRE(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

inline std::vector<Elf64_Shdr> sections_of(const Bytes& bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  return sections;
}

}  // namespace heapattach
