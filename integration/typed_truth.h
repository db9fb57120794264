#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integration/live_target.h"

namespace heapattach {

// How the C and C++ programs are built, the names of those that were: "typed_c_gcc5", … The long
// form has more of them. They differ in compiler, version of DWARF, optimization, and in where the
// debug information stands.
std::vector<std::string> typed_programs_of(const std::string& language);

// An object, as a program describes its own or as a snapshot does.
struct DescribedObject {
  std::string type;
  std::map<std::string, std::uint64_t> edges;  // by path
};
using DescribedHeap = std::map<std::uint64_t, DescribedObject>;  // by address

// What a program of targets/typed_* says of a sample of its objects: all of their edges.
DescribedHeap truth_of(LiveTarget& target);

// The lines of a longer answer.
std::vector<std::string> ask_for_lines(LiveTarget& target, const std::string& question);

// What heapattach says of all objects.
DescribedHeap snapshot_of(const LiveTarget& target, const std::vector<std::string>& options = {});

// Which edges of `truth` are missing in `found`, by where they lead alone, a line each.
std::string missing_edges(const DescribedHeap& truth, const DescribedHeap& found);

// In what `found` differs from `truth` for the objects that `truth` describes: types and edges that
// are missing, are other ones, or are too many. A line each, at most forty.
std::string difference(const DescribedHeap& truth, const DescribedHeap& found);

}  // namespace heapattach
