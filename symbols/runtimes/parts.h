#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "symbols/runtimes/heap_view.h"
#include "symbols/runtimes/object_names.h"

namespace heapattach::runtimes {

// Memory that an object claims as part of itself.
struct Part {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;  // at least
  ShapeNumber shape = 0;
  bool is_raw = false;  // not an object of the language, whatever it looks like
};

// Names parts. Borrows its arguments.
class Parts {
 public:
  Parts(const HeapView& view, ObjectNames& names) : view_(view), names_(names) {}

  // Returns false if there is no such object, it is too small, or it has a name other than
  // `instead_of`.
  bool claim(const Part& part, ShapeNumber instead_of = ObjectNames::kNone);

  // Names everything that parts reference, directly or not, and that has no other name, as memory
  // of the part's object. Call it last.
  void name_memory();

 private:
  const HeapView& view_;
  ObjectNames& names_;
  std::vector<heap::ObjectRef> claimed_;
};

}  // namespace heapattach::runtimes
