#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// How the objects of a type appear in a Java heap dump: as instances of a class, with a field for
// each word that is a reference in any of them, or as arrays of references.
struct HprofShape {
  bool has_objects = false;
  bool is_class = false;
  std::vector<std::uint32_t> words;  // for a class: the offsets of its references, ascending
  std::vector<std::string> names;    // of these
  std::uint32_t fill_words = 0;      // for a class: padding to give its instances the right size
};

// The shapes by type. A type becomes a class if all its objects have one size and reference others
// from only a few words.
[[nodiscard]] std::vector<HprofShape> hprof_shapes(const snapshot::Snapshot& snapshot);

}  // namespace heapattach
