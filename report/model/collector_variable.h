#pragma once

#include <string>
#include <string_view>

// The names of the collector's own variables as roots. If a program contains the collector, most of
// these names do not show that the variables are the collector's. The addresses do, but they can be
// checked only while the snapshot is taken.
namespace heapattach::snapshot {

inline constexpr std::string_view kOfCollector = " (of the collector)";
inline constexpr std::string_view kUnnamedOfCollector = "(variable of the collector)";

// The name of a variable of the collector: "last_addr.0 (of the collector)". A name such as
// "GC_arrays" is unchanged.
[[nodiscard]] inline std::string collector_variable(std::string_view symbol) {
  if (symbol.empty()) return std::string(kUnnamedOfCollector);
  if (symbol.starts_with("GC_")) return std::string(symbol);
  return std::string(symbol).append(kOfCollector);
}

// Whether the variable's address has shown that it is the collector's. The name alone does not: a
// program may have its own GC_something.
[[nodiscard]] inline bool is_in_collector(std::string_view symbol) {
  return symbol.ends_with(kOfCollector) || symbol == kUnnamedOfCollector;
}

[[nodiscard]] inline bool is_collector_variable(std::string_view symbol) {
  return symbol.starts_with("GC_") || is_in_collector(symbol);
}

}  // namespace heapattach::snapshot
