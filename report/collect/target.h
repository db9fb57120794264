#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/collect/opened.h"
#include "report/collect/take_options.h"
#include "report/typing/naming.h"
#include "report/typing/type_rows.h"
#include "symbols/boehm/collector.h"
#include "symbols/boehm/roots.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/cxx/vtables.h"
#include "symbols/heap/roots.h"
#include "symbols/runtimes.h"

namespace heapattach::snapshot {

// The collector of an opened target, and the memory that it scans; or that malloc's heap is to be
// read instead, or too.
struct HeapFound {
  boehm::Collector collector;
  std::vector<heap::RootRange> static_roots;  // before the freeze
  std::vector<Range> collector_data;
  bool is_malloc = false;  // there is no collector: the heap is that of glibc's malloc
  bool is_both = false;    // there is one, and malloc's heap is read, too

  [[nodiscard]] bool reads_malloc() const { return is_malloc || is_both; }
};

// The data used to name the objects of a heap.
struct NamesFound {
  crystal::TypeTable classes;
  runtimes::Runtimes runtimes;
  std::string runtime;  // as in the header of a snapshot
  types::TypeModel types;
};

// Everything that can be learned about a target while it runs undisturbed, or about a core file:
// where its heap is, how to read it, and the names of its types. It is complete once constructed,
// and never moved, because its parts refer to each other.
class Target : public Opened, public HeapFound, public NamesFound {
 public:
  // Reads the target's files and a little of its memory; stops nothing.
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
