#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "report/model/model.h"

// Finds what references the objects of a type, a few edges back, as a small graph.
namespace heapattach::analyze {

struct NeighbourhoodOptions {
  std::string type;          // a name or a glob, or the address of one object
  std::size_t levels = 5;    // edges back from an object; 0: unlimited
  std::size_t objects = 10;  // the number of objects of the type; 0: all
};

struct Neighbourhood {
  struct Link {
    snapshot::ObjectIndex from = 0;
    snapshot::ObjectIndex to = 0;
    std::uint32_t word = 0;   // Edge::offset_words
    std::uint32_t level = 0;  // edges between `to` and the nearest of the requested objects
  };
  struct Holder {
    std::uint32_t root = 0;  // of Snapshot::roots
    snapshot::ObjectIndex to = 0;
  };
  std::vector<snapshot::ObjectIndex> objects;  // the requested ones
  std::vector<Link> links;                     // the nearest first, without duplicates
  std::vector<Holder> roots;  // one for each shown object that is referenced by roots

  // The omitted parts, by the limit that omitted them.
  std::uint64_t left_out_objects = 0;  // by the number of objects
  std::uint64_t open_objects =
      0;  // by the number of levels: shown objects that have more references
  bool has_too_many_links = false;  // by the number of links that can be shown
};

// The most that viewers draw (Mermaid's maxEdges). Applies unless both limits are 0.
inline constexpr std::size_t kMostLinks = 500;

// Malformed if there is no such type or object. The snapshot must have its edges.
Result<Neighbourhood> find_neighbourhood(const snapshot::Snapshot& snapshot,
                                         const NeighbourhoodOptions& options);

}  // namespace heapattach::analyze
