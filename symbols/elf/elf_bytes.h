#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/elf/elf_parser.h"

namespace heapattach {

// A worker's result about a file of `file_bytes`, as bytes: facts, or the error. The reader trusts
// nothing: anything that the worker could not have found makes it Malformed.
[[nodiscard]] std::vector<std::byte> to_bytes(const Result<ElfFacts>& facts);
Result<ElfFacts> elf_facts_from_bytes(std::vector<std::byte> bytes, std::uint64_t file_bytes);

}  // namespace heapattach
