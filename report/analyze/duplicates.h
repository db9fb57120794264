#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/model/model.h"

// Strings of which the heap holds the same text more than once. Of a snapshot with its texts
// (Snapshot::values); a text that was cut when it was taken is compared with none.
namespace heapattach::snapshot {

// One text that several objects of a type hold.
struct DuplicateRow {
  std::string_view text;  // of the snapshot, not checked
  std::string_view type;  // "String", "std::string", "char[]"
  std::uint64_t copies = 0;
  std::uint64_t bytes = 0;         // of all copies
  std::uint64_t wasted_bytes = 0;  // of all copies but the largest
};

struct Duplicates {
  std::vector<DuplicateRow> rows;     // by wasted bytes, then copies, then text
  std::uint64_t strings = 0;          // reachable ones, with their text or without
  std::uint64_t bytes = 0;            // of these
  std::uint64_t distinct = 0;         // texts, of the strings that were compared
  std::uint64_t wasted_bytes = 0;     // of all rows, also those left out
  std::uint64_t without_text = 0;     // strings of which the snapshot has no text
  std::uint64_t cut = 0;              // strings whose text is not whole
  std::uint64_t left_out_rows = 0;    // by drop_rows
  std::uint64_t left_out_wasted = 0;  // bytes
};

// What a type's objects are called if they are strings; empty if they are none. A short std::string
// lies in what owns it and is no object; what is counted is the memory of the longer ones.
[[nodiscard]] std::string_view string_kind(const Type& type);

// Borrows the snapshot.
[[nodiscard]] Duplicates find_duplicates(const Snapshot& snapshot);

// Drops rows that waste less, and those behind the first `top`.
void drop_rows(std::optional<std::uint64_t> top, std::uint64_t min_bytes, Duplicates& duplicates);

}  // namespace heapattach::snapshot
