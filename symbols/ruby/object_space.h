#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "symbols/ruby/layout.h"
#include "symbols/ruby/values.h"

namespace heapattach::ruby {

// Finds the object space, which is Ruby's heap, in the virtual machine at `vm`. Its place differs
// between patch releases: 3.1.5 has a member before it that 3.1.4 lacks. So every word of the
// virtual machine is tried, those near the layout's offset first, and believed only if
// - its counts and bounds of pages agree with its list of pages, at both ends,
// - the pages of `known` objects, such as the core classes, are in that list, and reference the
//   record that the list has.
//
// Fails with Malformed if no word fits, or two different ones do; the message says what did not
// fit. While a running process's list of pages grows, no word may fit for a moment.
Result<std::uint64_t> find_object_space(const Layout& layout,
                                        const MemoryReader& memory,
                                        std::uint64_t vm,
                                        std::span<const Value> known);

}  // namespace heapattach::ruby
