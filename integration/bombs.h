#pragma once

#include <cstdint>
#include <string>

// Writes files that are cheap to make and expensive to read. heapattach reads them if a target maps
// them.
namespace heapattach {

// A library whose one symbol has its name in a hole of 6 GB.
void write_sparse_names(const std::string& path);
// A library with 200,000 symbols that share one name of 4 MB.
void write_shared_names(const std::string& path);
// A library with `types` structures whose names are suffixes of one text of 1 MB.
void write_long_type_names(const std::string& path, std::uint32_t types);
// A library with `types` structures, each with a member that points to the one before.
void write_many_types(const std::string& path, std::uint32_t types);
// A compressed snapshot that is a thousand times larger when unpacked.
void write_packed_blanks(const std::string& path, std::uint64_t bytes);

}  // namespace heapattach
