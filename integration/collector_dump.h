#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heapattach {

// GCGRPH and GCFULL dumps, read independently of the code under test.

struct Listed {
  std::uint64_t bytes = 0;
  bool is_atomic = false;
  std::uint64_t first = 0;                       // of a GCGRPH dump: what its first word is
  std::map<std::uint64_t, std::uint64_t> words;  // by offset: its edges, or all in a full dump
};
using Dump = std::map<std::uint64_t, Listed>;

// What is no such dump fails the running test.
Dump read_dump(const std::string& text, bool is_full);

// Checks that each edge leads into an object that is listed too.
void check_consistent(const Dump& dump);

}  // namespace heapattach
