#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "symbols/crystal/allocators.h"
#include "symbols/crystal/type_info.h"
#include "symbols/crystal/type_table.h"

namespace heapattach::crystal {

// How a list of the compiler's fits what the program itself tells of its types.
struct ListFit {
  std::size_t agreements = 0;
  std::size_t contradictions = 0;  // each of which is certain
  std::size_t doubts = 0;          // what a few of do not refute a list: code may be misread
  std::string example;             // of a contradiction, else of a doubt; empty if there is none

  // Ids are numbered anew by each build, so a list of another one is wrong nearly everywhere.
  [[nodiscard]] bool is_of_program() const {
    return contradictions == 0 && doubts <= 1 + agreements / 20;
  }
};

[[nodiscard]] ListFit fit_of(const TypeList& list, const AllocatorScan& program);

// What is known of a program's classes, from all sources.
struct JoinedTypes {
  TypeTable table;
  std::string refusal;  // why no list was believed; empty if one was, or if there are none
};

// Joins the one of `lists` that is of the program with what the program itself tells. A list of
// another program or build is not believed at all: its names would be wrong. Of several that fit
// the best one is taken, the last of equals: a compiler that runs macros prints the lists of their
// programs first.
[[nodiscard]] JoinedTypes join_types(std::vector<TypeList> lists, AllocatorScan program);

// The warning that says so of a file.
[[nodiscard]] std::string refusal_text(const std::string& path, const std::string& why);

}  // namespace heapattach::crystal
