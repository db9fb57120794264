#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heapattach {

// GCGRPH and GCFULL dumps, read independently of the code under test.

struct Listed {
  std::uint64_t bytes = 0;
  bool is_atomic = false;
  std::uint64_t first = 0;  // the first word of the object, in a GCGRPH dump
  std::map<std::uint64_t, std::uint64_t>
      words;  // by offset: its edges, or all words in a full dump
};
using Dump = std::map<std::uint64_t, Listed>;

// Reads a dump. Fails the running test if the text is not one.
Dump read_dump(const std::string& text, bool is_full);

// Checks that each edge points into a listed object.
void check_consistent(const Dump& dump);

}  // namespace heapattach
