#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/ecl/facts.h"
#include "symbols/runtimes/heap_view.h"

// Reads ECL's values one by one. facts.h describes their format.
namespace heapattach::ecl {

inline constexpr std::uint64_t kNil = 1;

// Whether a word can be a value. 0 counts, as a value that has not been set yet.
[[nodiscard]] bool is_value(const runtimes::HeapView& view, std::uint64_t word);

// The address of the cons that a value refers to; 0 if it is not a cons.
[[nodiscard]] std::uint64_t cons_of(std::uint64_t value);

// The name of a symbol, in UTF-8; empty if the value is not a symbol, or if the name is longer than
// 256 characters.
[[nodiscard]] std::string symbol_name(const Facts& facts,
                                      const runtimes::HeapView& view,
                                      std::uint64_t value);

// The values in a list of exactly `count` elements; empty if the value is not such a list.
[[nodiscard]] std::vector<std::uint64_t> list_of(const runtimes::HeapView& view,
                                                 std::uint64_t value,
                                                 std::uint64_t count);

}  // namespace heapattach::ecl
