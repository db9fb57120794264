#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/model/model.h"

// Finds duplicate strings in a snapshot that contains texts (Snapshot::values). Texts that were cut
// in the snapshot are not compared.
namespace heapattach::snapshot {

// One text that several objects of a type contain.
struct DuplicateRow {
  std::string_view text;  // from the snapshot, not sanitized
  std::string_view type;  // "String", "std::string", "char[]"
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;         // of all copies
  std::uint64_t wasted_bytes = 0;  // of all copies except the largest
};

struct Duplicates {
  std::vector<DuplicateRow> rows;     // by wasted bytes, then copies, then text
  std::uint64_t strings = 0;          // reachable strings, with or without a text
  std::uint64_t bytes = 0;            // of all these strings
  std::uint64_t distinct = 0;         // number of different texts among the compared strings
  std::uint64_t wasted_bytes = 0;     // of all rows, including omitted ones
  std::uint64_t without_text = 0;     // strings whose text the snapshot lacks
  std::uint64_t cut = 0;              // strings whose text is cut
  std::uint64_t left_out_rows = 0;    // by drop_rows
  std::uint64_t left_out_wasted = 0;  // bytes
};

// The kind of string that a type's objects are; empty if they are not strings. A short std::string
// is inside its owner and is not an object, so only the memory of longer ones counts.
[[nodiscard]] std::string_view string_kind(const Type& type);

// Borrows the snapshot.
[[nodiscard]] Duplicates find_duplicates(const Snapshot& snapshot);

// Drops rows that waste less than `min_bytes`, and all rows after the first `top`.
void drop_rows(std::optional<std::uint64_t> top, std::uint64_t min_bytes, Duplicates& duplicates);

}  // namespace heapattach::snapshot
