#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "report/collect/opened.h"
#include "report/trace/find_hooks.h"
#include "report/trace/object_types.h"
#include "symbols/boehm/collector.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::trace {

// Everything known of a process before it is traced. Finding it out changes nothing.
struct Prepared {
  snapshot::Opened target;
  boehm::Collector collector;
  FoundHooks found;
  // The types of the objects that calls make, by return address; empty if one makes several.
  std::unordered_map<std::uint64_t, std::string> types = {};
  crystal::TypeTable classes = {};
  ObjectTypes objects = {};
  bool is_crystal = false;
};

// Everything but the types. Its error is why the process cannot be traced.
Result<Prepared> prepare(const Request& request);

// Adds the types, of Crystal and C++ programs; `type_info` is a file, or empty.
Result<void> learn_types(const std::string& type_info, Prepared& prepared);

// The bytes that the collector has allocated since the program started; none if it does not count
// them.
std::optional<std::uint64_t> total_bytes(const Prepared& prepared);
// … in a second, at present; takes a tenth of a second.
std::optional<double> current_rate(const Prepared& prepared);

// How many collections the program has made so far; none if that is unknown.
std::optional<std::uint64_t> collections_so_far(const Prepared& prepared);

}  // namespace heapattach::trace
