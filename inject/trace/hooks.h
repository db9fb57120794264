#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/remote_addr.h"

namespace heapattach::trace {

// A function of the target whose calls are traced.
struct Entry {
  std::string name;
  RemoteAddr at;
  std::vector<std::byte> code;  // the whole function, as in its file
  bool size_is_second = false;  // the size is the second argument, not the first
  bool leads_on = false;        // may end in a jump to another entry; at most kLeadingHooks
  bool is_led = false;          // another entry may end in a jump to this one
  Range inner = {};             // calls from this code do not count; malloc's entries share theirs
};

// The functions of malloc, by their arguments and results. Each form has hooks of its own.
enum class MallocForm : std::uint8_t {
  Size,        // malloc(size)
  Count,       // calloc(count, size)
  Resize,      // realloc(old, size)
  Aligned,     // aligned_alloc(alignment, size), memalign
  Storing,     // posix_memalign(&result, alignment, size)
  WholePages,  // valloc(size), pvalloc
  Free,        // free(old)
};
struct MallocEntry {
  Entry entry;
  MallocForm form = MallocForm::Size;
};

// The layout of the collector's thread records in some releases, as offsets in words. Word 0 is the
// next record of the list.
struct ThreadRecordForm {
  std::size_t id = 0;  // the thread pointer
  std::size_t flags = 0;
  std::uint64_t known_flags = 0;  // other flags are never set
  std::size_t part = 0;       // the address of the part with the end; 0: the record itself has it
  std::size_t stack_end = 0;  // the end of the thread's present stack
};

// The functions and variables to use in the target. An address of 0 means unknown.
struct Hooks {
  std::vector<Entry> allocations;
  std::optional<Entry> release;  // GC_free
  std::vector<MallocEntry> of_malloc;
  // If one of these is missing, the deaths of objects are not observed.
  RemoteAddr event_variable;  // GC_on_collection_event
  RemoteAddr is_marked;       // the collector's functions of these names
  RemoteAddr object_base;
  RemoteAddr collections;  // GC_gc_no

  RemoteAddr stack_bottom;                       // GC_stackbottom
  std::vector<ThreadRecordForm> thread_records;  // the forms to try
  RemoteAddr clock;                              // the vdso's clock_gettime()

  [[nodiscard]] bool follows_ends() const {
    return event_variable.value != 0 && is_marked.value != 0 && object_base.value != 0 &&
           collections.value != 0;
  }
};

}  // namespace heapattach::trace
