#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "report/collect/join.h"

namespace heapattach::snapshot {

// The struct that objects probably are, by the usable size of their allocations.
using SizeGuesses = std::map<std::uint64_t, std::string>;

// Guesses what malloc's objects without a type are: what nearly all objects of that size are whose
// type references show; or the only struct of the program, as its debug information describes it,
// that has an allocation of that size. In either case the objects' words must fit it. Words
// where the struct has pointers must be null or addresses, other words must not lead to objects,
// and most objects must have a pointer to an object that is large enough. So a struct without
// pointers is never guessed: a text of the same size would fit as well.
//
// The result is still a guess, because debug information may lack a library's structs.
[[nodiscard]] SizeGuesses guess_by_size(const JoinSources& from, const Snapshot& snapshot);

// The usable size of the smallest allocation of glibc's malloc that has room for `bytes`.
[[nodiscard]] std::uint64_t usable_size_for(std::uint64_t bytes);

}  // namespace heapattach::snapshot
