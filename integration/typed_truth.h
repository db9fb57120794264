#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integration/live_target.h"

namespace heapattach {

// How the C and C++ programs are built, and the names of the available ones: "typed_c_gcc5", … The
// long form has more of them. They differ in compiler, version of DWARF, optimization, and the
// location of the debug information.
std::vector<std::string> typed_programs_of(const std::string& language);

// An object, described by the program itself or by a snapshot.
struct DescribedObject {
  std::string type;
  std::map<std::string, std::uint64_t> edges;  // by path
};
using DescribedHeap = std::map<std::uint64_t, DescribedObject>;  // by address

// What a program of targets/typed_* prints about a sample of its objects: all of their edges.
DescribedHeap truth_of(LiveTarget& target);

// The lines of a longer answer.
std::vector<std::string> ask_for_lines(LiveTarget& target, const std::string& question);

// heapattach's description of all objects.
DescribedHeap snapshot_of(const LiveTarget& target, const std::vector<std::string>& options = {});

// The edges of `truth` that are missing in `found`, compared only by their targets, a line each.
std::string missing_edges(const DescribedHeap& truth, const DescribedHeap& found);

// The differences between `found` and `truth` for the objects that `truth` describes: missing,
// wrong and extra types and edges. A line each, at most forty.
std::string difference(const DescribedHeap& truth, const DescribedHeap& found);

}  // namespace heapattach
