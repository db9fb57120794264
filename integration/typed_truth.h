#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integration/live_target.h"

namespace heapattach {

// The names of the available C or C++ programs: "typed_c_gcc5", … They differ in compiler, version
// of DWARF, optimization, and the location of the debug information. The long form has more of
// them.
std::vector<std::string> typed_programs_of(const std::string& language);

// An object, described by the program itself or by a snapshot.
struct DescribedObject {
  std::string type;
  std::map<std::string, std::uint64_t> edges;  // by path
};
using DescribedHeap = std::map<std::uint64_t, DescribedObject>;  // by address

// A sample of the objects of a program of targets/typed_*, with all their edges, as it prints them.
DescribedHeap truth_of(LiveTarget& target);

// Asks a question whose answer has several lines.
std::vector<std::string> ask_for_lines(LiveTarget& target, const std::string& question);

// heapattach's description of all objects.
DescribedHeap snapshot_of(const LiveTarget& target, const std::vector<std::string>& options = {});

// The edges of `truth` that are missing in `found`, one line each. Only the targets are compared.
std::string missing_edges(const DescribedHeap& truth, const DescribedHeap& found);

// The differences between `found` and `truth` for the objects that `truth` describes: missing,
// wrong and additional types and edges. One line each, at most forty.
std::string difference(const DescribedHeap& truth, const DescribedHeap& found);

}  // namespace heapattach
