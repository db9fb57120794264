#pragma once

#include <string>
#include <vector>

#include "report/analyze/find_matches.h"
#include "report/analyze/neighbourhood.h"
#include "report/analyze/object_sizes.h"
#include "report/analyze/why.h"
#include "report/collect/examine.h"
#include "report/format/write/table.h"
#include "report/stacks/stack_report.h"

// Formats the reports that need nothing but their findings: as text for people, and as one JSON
// object on one line for programs. Most have one source file per format.
namespace heapattach {

// --check: one line per fact, with the verdict last.
[[nodiscard]] std::string format_check_table(const snapshot::Examination&);
[[nodiscard]] std::string format_check_json(const snapshot::Examination&);

// --find: the number of objects, and a line for each of the first `most` (0: all).
[[nodiscard]] std::string format_find_text(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most,
                                           const TextStyle& style);
[[nodiscard]] std::string format_find_json(const snapshot::Snapshot& snapshot,
                                           const analyze::FindMatches& matches,
                                           std::size_t most);

// --graph.
using FormatGraph = std::string(const snapshot::Snapshot&, const analyze::Neighbourhood&);
FormatGraph format_graph_mermaid, format_graph_dot, format_graph_json;
// One line for each limit that cut something off.
[[nodiscard]] std::vector<std::string> cut_lines(const analyze::Neighbourhood& found);
// The objects of the graph, each once, the requested ones first.
[[nodiscard]] std::vector<snapshot::ObjectIndex> shown_objects(const analyze::Neighbourhood& found);

// --sizes ADDRESS.
[[nodiscard]] std::string format_object_sizes_text(const snapshot::Snapshot&,
                                                   const analyze::ObjectSizes&);
[[nodiscard]] std::string format_object_sizes_json(const snapshot::Snapshot&,
                                                   const analyze::ObjectSizes&);

// --stacks: the findings, the threads, and the fibers grouped by stack; colour also marks the
// innermost frame in the program's own code. For flame graphs, a line for each stack, outermost
// function first, with the number of threads or fibers.
[[nodiscard]] std::string format_stacks_text(const stacks::StackReport&, const TextStyle&);
[[nodiscard]] std::string format_stacks_json(const stacks::StackReport&);
[[nodiscard]] std::string format_stacks_folded(const stacks::StackReport&);

// --why: for a type, starts with the paths that reach most of its objects, each with a summary, the
// path to one of them, and the objects that all of them depend on.
[[nodiscard]] std::string format_why_text(const snapshot::Snapshot&,
                                          const analyze::Why&,
                                          const TextStyle&);
[[nodiscard]] std::string format_why_json(const snapshot::Snapshot&, const analyze::Why&);

}  // namespace heapattach
