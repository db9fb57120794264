#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heapattach::ruby {

// A line of ObjectSpace.dump_all: an object, a class, a root or a shape. Texts are raw, as between
// their quotes. Missing keys are empty or 0.
struct Line {
  std::uint64_t address = 0;
  std::uint64_t of_class = 0;
  std::uint64_t superclass = 0;
  std::uint64_t memsize = 0;
  std::uint64_t slot_size = 0;
  std::uint64_t length = 0;    // of an array
  std::uint64_t line = 0;      // where it was allocated
  std::uint64_t shape = 0;     // of an object: its shape_id
  std::uint64_t id = 0;        // of a shape
  std::uint64_t parent = 0;    // of a shape: the id of its parent
  std::string_view type;       // "STRING", "ROOT"
  std::string_view detail;     // the kind of an IMEMO, DATA, NODE or SHAPE
  std::string_view name;       // of a class
  std::string_view root;       // of a ROOT
  std::string_view value;      // of a string or symbol
  std::string_view file;       // where it was allocated
  std::string_view edge_name;  // of a shape: its instance variable
  bool has_memsize = false;
  bool has_value = false;
  bool has_shape = false;
  bool has_parent = false;
  bool is_singleton = false;
  bool is_shared = false;  // its elements belong to another array
  std::vector<std::uint64_t> references;
};

// Reads a line from any release since 2.1, with keys in any order, with or without blanks. Texts
// may contain bytes that JSON forbids, because earlier releases write them. Returns a description
// of the error, empty if there is none.
std::string read_line(std::string_view text, Line& line);

}  // namespace heapattach::ruby
