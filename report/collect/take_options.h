#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attach/stop/freeze.h"
#include "report/request.h"
#include "symbols/elf/module.h"
#include "symbols/heap/kind.h"

namespace heapattach::snapshot {

struct SeenMemory;
class WaitReader;

// How the target is held while its heap is copied.
enum class Hold : std::uint8_t {
  Freeze,   // every thread is stopped
  Clone,    // every thread is stopped until a copy of the process is made, and that copy is read
  Auto,     // Freeze or Clone, depending on the expected pause
  Nothing,  // the target runs while it is read: the result may be inconsistent, and is marked so
};

// The heaps of the target to read: the heap with this key; or all heaps, with the references
// between them; or, if neither is given, the first kind of heap that the target has.
struct HeapChoice {
  std::string_view key = {};
  bool all = false;

  [[nodiscard]] bool is_auto() const { return key.empty() && !all; }
};

// The contents of a snapshot of a heap, and how to take it.
struct TakeOptions {
  const Request& request;
  // The threads of a process that the caller keeps stopped until the snapshot is taken. If null,
  // the process is held as `hold` specifies.
  const std::vector<FrozenThread>* held = nullptr;
  Hold hold = Hold::Freeze;
  HeapChoice heap = {};
  // Tells whether the process has a heap that is read in another way (dumped_heap.h), which has
  // precedence over malloc's. May be empty.
  std::function<bool(const Modules&, const MemoryReader&)> has_another_heap = {};
  bool with_unreachable = false;  // include unreachable objects
  bool with_objects = true;       // list each object; otherwise count those that are alike
  bool with_edges = true;         // keep edges and roots; requires objects
  bool leaked_edges = false;      // keep only the edges of unreachable objects
  bool with_contents = false;     // keep all bytes of the objects; requires edges
  std::size_t value_bytes = 0;    // the limit for a text; 0: keep no values
  bool texts_only = false;        // keep texts and no other values, whatever value_bytes is
  std::size_t text_bytes = std::string::npos;  // the limit for a text, if texts_only
  // Finds what threads and fibers wait for, if edges are kept; null: not examined.
  const WaitReader* waits = nullptr;
  // Called with the resident memory, which is recorded while the process is held. If this is empty,
  // it is not recorded.
  std::function<void(const SeenMemory&)> on_memory = {};
};

}  // namespace heapattach::snapshot
