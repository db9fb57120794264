#pragma once

#include <cstdint>
#include <vector>

namespace heapattach {

// Sorts words in a few passes over all of them: by eleven bits at a time, from the lowest, without
// the bits that all words share. Takes about half of std::sort's time for half a million addresses.
void radix_sort(std::vector<std::uint64_t>& words);

}  // namespace heapattach
