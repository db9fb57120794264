#pragma once

#include <string>
#include <vector>

#include "report/analyze/neighbourhood.h"

// What leads to some objects, as a graph; one format per source file.
namespace heapattach {

[[nodiscard]] std::string format_graph_mermaid(const snapshot::Snapshot& snapshot,
                                               const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_dot(const snapshot::Snapshot& snapshot,
                                           const analyze::Neighbourhood& found);
[[nodiscard]] std::string format_graph_json(const snapshot::Snapshot& snapshot,
                                            const analyze::Neighbourhood& found);

// A line for each limit that cut something off; none if all is there.
[[nodiscard]] std::vector<std::string> cut_lines(const analyze::Neighbourhood& found);

// The objects of the graph, each once, those asked for first.
[[nodiscard]] std::vector<snapshot::ObjectIndex> shown_objects(const analyze::Neighbourhood& found);

}  // namespace heapattach
