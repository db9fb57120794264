#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "report/analyze/exclusion.h"
#include "report/analyze/merged_paths.h"
#include "report/analyze/retention.h"
#include "report/analyze/root_paths.h"
#include "report/model/model.h"

// Explains what keeps an object, or all objects of a type, alive.
namespace heapattach::analyze {

struct WhyOptions {
  std::string what;       // a type's name, a glob for several, or an address
  std::size_t paths = 5;  // shown at most; for an address, one from each root
  std::vector<Exclusion> exclusions;
  std::string from = {};  // only paths from roots of this name; empty: from all roots
};

// One path, with the objects that it or similar paths reach.
struct WhyPath {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t retained_bytes = 0;   // by all these objects together
  std::string summary;                // "global CACHE → @h → [*].value"; empty for one object
  std::uint32_t root = 0;             // in Snapshot::roots, where the path begins
  analyze::RootPath root_path;        // to the nearest object; its first step represents the root
  std::vector<Dominator> dominators;  // of all the objects, outermost first
  bool is_held_by_root = false;       // there is one object, and a root references it directly
  std::vector<OtherPath> also;        // other paths to the objects; only for the largest groups
};

struct Why {
  std::string what;                             // the type, as requested
  std::optional<snapshot::ObjectIndex> object;  // if an address was requested
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t retained_bytes = 0;
  std::string from;             // the roots, as requested; empty: all
  std::uint64_t unreached = 0;  // number of objects that are unreachable from these roots
  std::vector<WhyPath> paths;
  std::uint64_t other_paths = 0;    // the number of paths that are not shown
  std::uint64_t other_objects = 0;  // number of objects that those paths reach
  std::uint64_t excluded_edges = 0;
  std::vector<std::string> unused_exclusions;  // matched no edge, perhaps because of a typo
};

// Malformed, with the nearest names, if the snapshot has no such type or object. The snapshot must
// have its edges.
Result<Why> explain_why(const snapshot::Snapshot& snapshot, const WhyOptions& options);

}  // namespace heapattach::analyze
