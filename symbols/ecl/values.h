#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/ecl/facts.h"
#include "symbols/runtimes/heap_view.h"

// ECL's values, read one by one. facts.h says how they look.
namespace heapattach::ecl {

inline constexpr std::uint64_t kNil = 1;

// Whether a word can be a value. 0 is one that was not given yet.
[[nodiscard]] bool is_value(const runtimes::HeapView& view, std::uint64_t word);

// The address of the cons that a value is; 0 if it is none.
[[nodiscard]] std::uint64_t cons_of(std::uint64_t value);

// What a symbol is called, in UTF-8; empty if it is none, or longer than 256 characters.
[[nodiscard]] std::string symbol_name(const Facts& facts,
                                      const runtimes::HeapView& view,
                                      std::uint64_t value);

// The values in a list of exactly `count`; empty if it is none.
[[nodiscard]] std::vector<std::uint64_t> list_of(const runtimes::HeapView& view,
                                                 std::uint64_t value,
                                                 std::uint64_t count);

}  // namespace heapattach::ecl
