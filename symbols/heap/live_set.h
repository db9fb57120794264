#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/stop/freeze.h"
#include "symbols/heap/mark.h"
#include "symbols/heap/root_range.h"

namespace heapattach::heap {

// An object that the heap's owner, or another library, allocated for itself.
struct OwnObject {
  ObjectRef ref;
  std::string_view what;                      // "table of finalizers"; a literal
  std::string_view holder = "the collector";  // a literal; empty: `what` is the whole name
};

// Objects that were scanned in full because their descriptors could not be followed, usually
// because a procedure of the program marks them.
struct MarkedConservatively {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

// A reference in a form that is not searched everywhere, such as one with a tag in its highest bits
// (second_look.h).
struct OddReference {
  RemoteAddr at;
  ObjectRef to;
  std::string_view form;  // "(tagged reference)"; a literal
};

// The live objects of a heap, and the reasons why they are alive.
struct LiveSet {
  ObjectSet live;
  ObjectSet free;                      // on free lists; never live
  std::vector<RootRange> ranges = {};  // as the owner scans them, with stacks cut to their bounds
  std::vector<FrozenThread> threads = {};     // their registers were roots
  std::vector<ObjectRef> uncollectable = {};  // in use
  std::vector<ObjectRef> tables = {};         // the owner's, for finalizers, types and free lists
  std::vector<OwnObject> own = {};            // objects of the owner itself, alive or not
  std::vector<ObjectRef> finalizable = {};    // alive only because a finalizer waits for them
  std::vector<std::string> problems = {};  // descriptions of roots that are missing or incomplete
  std::size_t known_threads = 0;           // of which the owner has records
  MarkedConservatively guessed = {};
  std::vector<OddReference> odd = {};  // without which their objects would not be alive
};

}  // namespace heapattach::heap
