#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "symbols/crystal/allocators.h"
#include "symbols/crystal/type_info.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::crystal {

// How well a compiler's list fits the program's own evidence.
struct ListFit {
  std::size_t agreements = 0;
  std::size_t contradictions = 0;  // each of which is certain
  std::size_t doubts = 0;          // a few do not refute a list, because code may be misread
  std::string example;             // of a contradiction, or else of a doubt; empty if there is none

  // Each build assigns new ids, so a list from another build is wrong nearly everywhere.
  [[nodiscard]] bool is_of_program() const {
    return contradictions == 0 && doubts <= 1 + agreements / 20;
  }
};

[[nodiscard]] ListFit fit_of(const TypeList& list, const AllocatorScan& program);

// Everything known about a program's classes, from all sources.
struct JoinedTypes {
  TypeTable table;
  std::string refusal;  // why no list was accepted; empty if one was, or if there are none
};

// Joins the list that belongs to the program with the program's own evidence. A list from another
// program or build is not used at all, because its names would be wrong. If several fit, uses the
// best one, and among equals the last: a compiler that runs macros prints the lists of their
// programs first.
[[nodiscard]] JoinedTypes join_types(std::vector<TypeList> lists, AllocatorScan program);

// The warning about a refused file.
[[nodiscard]] std::string refusal_text(const std::string& path, const std::string& why);

}  // namespace heapattach::crystal
