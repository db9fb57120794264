#pragma once

#include <string>
#include <vector>

#include "report/analyze/neighbourhood.h"

// What references some objects, as a graph; one format per source file.
namespace heapattach {

[[nodiscard]] std::string format_graph_mermaid(const snapshot::Snapshot& snapshot,
                                               const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_dot(const snapshot::Snapshot& snapshot,
                                           const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_json(const snapshot::Snapshot& snapshot,
                                            const analyze::Neighbourhood& found);

// A line for each limit that cut something off; none if nothing was.
[[nodiscard]] std::vector<std::string> cut_lines(const analyze::Neighbourhood& found);

// The objects of the graph, each once, the requested ones first.
[[nodiscard]] std::vector<snapshot::ObjectIndex> shown_objects(const analyze::Neighbourhood& found);

}  // namespace heapattach
