#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/model/model.h"

namespace heapattach {

// How the objects of a type appear in a heap dump of Java: as instances of a class, which has a
// field for each word that is a reference in any of them, or as arrays of references.
struct HprofShape {
  bool has_objects = false;
  bool is_class = false;
  std::vector<std::uint32_t> words;  // of a class: the offsets of its references, ascending
  std::vector<std::string> names;    // of these
  std::uint32_t fill_words =
      0;  // of a class: padding that makes its instances as large as they are
};

// By type. A type is a class if its objects have one size and reference others from few words.
[[nodiscard]] std::vector<HprofShape> hprof_shapes(const snapshot::Snapshot& snapshot);

}  // namespace heapattach
