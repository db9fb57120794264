#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/analyze/exclusion.h"
#include "report/analyze/find_expression.h"

namespace heapattach {

// What --why, --graph, --find and --sizes ADDRESS explain, and how much to show.
struct ExplainOptions {
  std::string what;              // a type or an address; empty: not requested
  analyze::FindExpression find;  // of --find
  std::size_t paths = 5;
  std::vector<analyze::Exclusion> exclusions;
  std::string from;          // roots; empty: all
  std::size_t levels = 5;    // of the graph; 0: all
  std::size_t objects = 10;  // of the graph; 0: all
};

}  // namespace heapattach
