#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "report/collect/opened.h"
#include "report/collect/take_options.h"
#include "report/trace/find_hooks.h"
#include "report/trace/object_types.h"
#include "symbols/boehm/collector.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::trace {

// Everything known of a process before it is traced. Finding it out changes nothing.
struct Prepared {
  snapshot::Opened target;
  std::optional<boehm::Collector> collector = {};  // also if only malloc is traced
  FoundHooks found = {};
  bool traces_collector = false;
  bool traces_malloc = false;
  // The types of the objects that calls allocate, by return address; empty for a call that
  // allocates several types.
  std::unordered_map<std::uint64_t, std::string> types = {};
  crystal::TypeTable classes = {};
  ObjectTypes objects = {};
  bool is_crystal = false;
};

// Finds the collector of a process that may be running.
Result<boehm::Collector> find_collector(snapshot::Opened& target, const Deadline& deadline = {});

// Finds out everything but the types. An error is the reason why the process cannot be traced.
// Without a choice, the collector's heap is traced if the process has one, and malloc's otherwise.
// Without `may_copy`, it makes no copies of the process, and the result is not to be used for a
// trace (find_malloc.h).
Result<Prepared> prepare(const Request& request,
                         const snapshot::HeapChoice& heap,
                         bool may_copy = true);

// Adds the types, of Crystal and C++ programs.
Result<void> learn_types(const Request& request, Prepared& prepared);

// The bytes that the collector has allocated since the program started; nothing if it does not
// count them.
std::optional<std::uint64_t> total_bytes(const Prepared& prepared);
// The bytes that it allocates per second at present. Takes a tenth of a second.
std::optional<double> current_rate(const Prepared& prepared);

// The number of collections so far; nothing if that is unknown.
std::optional<std::uint64_t> collections_so_far(const Prepared& prepared);

}  // namespace heapattach::trace
