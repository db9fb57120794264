#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attach/result.h"
#include "report/analyze/exclusion.h"

namespace heapattach {

// What --why, --graph and --sizes ADDRESS are to explain, and how much of it to show.
struct ExplainOptions {
  std::string what;  // a type or an address; empty: not asked for
  std::size_t paths = 5;
  std::vector<analyze::Exclusion> exclusions;
  std::size_t levels = 5;    // of the graph; 0: all
  std::size_t objects = 10;  // of the graph; 0: all
};

// The same as given, before it was made sense of; empty: not given.
struct RawExplainOptions {
  std::string why, paths, graph, levels, objects;
  bool suspects = false;
  std::vector<std::string> excluded;
};

// Malformed with what is wrong.
Result<ExplainOptions> read_explain_options(const RawExplainOptions& raw);

}  // namespace heapattach
