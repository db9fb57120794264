#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbols/ruby/layout.h"
#include "symbols/ruby/values.h"

// Finds how a release lays out its heap, by objects that every process has. No table of releases is
// needed for it.
namespace heapattach::ruby {

// The list of all pages of a heap.
struct ListPlace {
  std::uint64_t variable = 0;  // the word of the object space that has the list's address
  bool has_count = false;      // the count precedes the entries; otherwise it follows the variable
};

// Sets the size of pages, and the offsets in their records, from `objects`, which must be objects
// of the heap. The offsets are believed only if every object's page begins with the address of its
// record, the record has the address of the first slot, and the object is at the beginning of a
// slot. Returns whether such offsets were found.
bool fit_pages(const Values& values, std::span<const Value> objects, Layout& layout);

// Finds the list whose entries are records of pages, in ascending order, among them those of
// `objects`. Each page's record references the part of the object space in which the list is.
std::optional<ListPlace> find_page_list(const Values& values,
                                        const Layout& layout,
                                        std::span<const Value> objects);

// The object space that has the variable of `place`: the one that the virtual machine references at
// `known`, or, if `known` is 0, the last one before the variable that it references at all. Sets
// the offsets in it. 0 if there is none.
std::uint64_t fit_object_space(const Values& values,
                               std::uint64_t vm,
                               const ListPlace& place,
                               std::uint16_t known,
                               Layout& layout);

}  // namespace heapattach::ruby
