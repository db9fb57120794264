#pragma once

#include <string>
#include <string_view>

// The names of the collector's own variables as roots. In a program that contains the collector,
// nothing in most of their names says whose they are; where they are does, which is known only
// while the snapshot is taken.
namespace heapattach::snapshot {

inline constexpr std::string_view kOfCollector = " (of the collector)";
inline constexpr std::string_view kUnnamedOfCollector = "(variable of the collector)";

// "last_addr.0 (of the collector)"; "GC_arrays" unchanged.
[[nodiscard]] inline std::string collector_variable(std::string_view symbol) {
  if (symbol.empty()) return std::string(kUnnamedOfCollector);
  if (symbol.starts_with("GC_")) return std::string(symbol);
  return std::string(symbol).append(kOfCollector);
}

// Whether a name is the collector's by where its variable is. A program may have a GC_something of
// its own.
[[nodiscard]] inline bool is_in_collector(std::string_view symbol) {
  return symbol.ends_with(kOfCollector) || symbol == kUnnamedOfCollector;
}

[[nodiscard]] inline bool is_collector_variable(std::string_view symbol) {
  return symbol.starts_with("GC_") || is_in_collector(symbol);
}

// Whether the objects of a type are the collector's own: "(finalizer of the collector)". It has
// them because of the program's objects, so they are never what grows or leaks.
[[nodiscard]] inline bool is_collector_type(std::string_view type) {
  return type.ends_with(" of the collector)");
}

}  // namespace heapattach::snapshot
