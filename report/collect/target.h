#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/collect/opened.h"
#include "report/collect/take_options.h"
#include "report/typing/naming.h"
#include "report/typing/type_rows.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/cxx/vtables.h"
#include "symbols/heap/roots.h"
#include "symbols/heap/source.h"
#include "symbols/runtimes.h"

namespace heapattach::snapshot {

// The heaps of an opened target that are to be read.
struct HeapFound {
  std::vector<std::unique_ptr<heap::Source>> heaps;  // the first is the process's own

  // The collector's heap, whose objects the program does not free itself; null if there is none.
  [[nodiscard]] heap::Source* collected() const {
    return heaps.front()->kind().is_collected ? heaps.front().get() : nullptr;
  }
  [[nodiscard]] bool has_by_hand() const { return !heaps.back()->kind().is_collected; }
};

// The data used to name the objects of a heap.
struct NamesFound {
  crystal::TypeTable classes;
  runtimes::Runtimes runtimes;
  std::string runtime;  // as in the header of a snapshot
  types::TypeModel types;
};

// What can be learned about a target while it runs undisturbed, or about a core file: where its
// heap is, how to read it, and the names of its types. A Target is complete once it is constructed,
// and is never moved, because its parts refer to each other.
class Target : public Opened, public HeapFound, public NamesFound {
 public:
  // Reads the target's files and a little of its memory. Stops nothing.
  static Result<std::unique_ptr<Target>> learn(const TakeOptions& options);

  Target(Opened opened, HeapFound heap, NamesFound names, crystal::FiberLayout fiber_layout);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() = default;

  crystal::FiberLayout fibers;
  cxx::VtableNames vtables;
  Naming naming;
  TypeRows rows;
};

}  // namespace heapattach::snapshot
