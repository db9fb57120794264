#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/elf/elf_parser.h"

namespace heapattach {

// Encodes a worker's result, facts or an error, about a file of `file_bytes`. The reader does not
// trust the bytes: anything that the worker could not have found is Malformed.
[[nodiscard]] std::vector<std::byte> to_bytes(const Result<ElfFacts>& facts);
Result<ElfFacts> elf_facts_from_bytes(std::vector<std::byte> bytes, std::uint64_t file_bytes);

}  // namespace heapattach
