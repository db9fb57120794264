#pragma once

#include <string>
#include <vector>

#include "report/analyze/neighbourhood.h"

// Formats a graph of references, with one source file per format.
namespace heapattach {

[[nodiscard]] std::string format_graph_mermaid(const snapshot::Snapshot& snapshot,
                                               const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_dot(const snapshot::Snapshot& snapshot,
                                           const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_json(const snapshot::Snapshot& snapshot,
                                            const analyze::Neighbourhood& found);

// One line for each limit that cut something off.
[[nodiscard]] std::vector<std::string> cut_lines(const analyze::Neighbourhood& found);

// The objects of the graph, each once, the requested ones first.
[[nodiscard]] std::vector<snapshot::ObjectIndex> shown_objects(const analyze::Neighbourhood& found);

}  // namespace heapattach
