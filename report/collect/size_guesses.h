#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "report/collect/join.h"

namespace heapattach::snapshot {

// The struct that objects probably are, by the usable size of their allocations.
using SizeGuesses = std::map<std::uint64_t, std::string>;

// Guesses what malloc's objects without a type are. The guess is the type that references show for
// nearly all other objects of that size; or the only struct in the program's debug information that
// has an allocation of that size. In either case, the objects' words must fit the type: words where
// it has pointers must be null or addresses, other words must not point to objects, and most
// objects must have a pointer to an object that is large enough. So a struct without pointers is
// never guessed, because a text of the same size would fit as well.
//
// The result is still a guess, because debug information may lack a library's structs.
[[nodiscard]] SizeGuesses guess_by_size(const JoinSources& from, const Snapshot& snapshot);

// The usable size of the smallest allocation of glibc's malloc that has room for `bytes`.
[[nodiscard]] std::uint64_t usable_size_for(std::uint64_t bytes);

}  // namespace heapattach::snapshot
