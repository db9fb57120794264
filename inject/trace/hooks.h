#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attach/remote_addr.h"

namespace heapattach::trace {

// A function of the target whose calls are traced.
struct Entry {
  std::string name;
  RemoteAddr at;
  std::vector<std::byte> code;  // all of it, as in its file
  bool size_is_second = false;  // otherwise the size is its first argument
  bool leads_on = false;        // may end in a jump to another entry; at most kLeadingHooks
  bool is_led = false;          // such a jump may lead here
  Range inner = {};             // calls from this code do not count
};

// The functions and variables to use in the target. An address of 0 means unknown.
struct Hooks {
  std::vector<Entry> allocations;
  std::optional<Entry> release;  // GC_free
  // If one of these is missing, the deaths of objects are not observed.
  RemoteAddr event_variable;  // GC_on_collection_event
  RemoteAddr is_marked;       // the collector's functions of these names
  RemoteAddr object_base;
  RemoteAddr collections;  // GC_gc_no

  [[nodiscard]] bool follows_ends() const {
    return event_variable.value != 0 && is_marked.value != 0 && object_base.value != 0 &&
           collections.value != 0;
  }
};

}  // namespace heapattach::trace
