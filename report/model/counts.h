#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/model/model.h"

// Counts objects and bytes per type.
//
// The numbers of a table add up to the collector's own:
//     bytes (live) + unreachable_bytes = in use = heap_bytes - free_bytes
// `unreachable_bytes` is the space in used blocks that is not occupied by live objects: unreachable
// objects, slots that were never handed out, and the unused end of a block. Without the collector's
// help, the three look alike from outside. All must be included, or the rows would not add up to
// the process's size.
namespace heapattach::snapshot {

// The sizes that report/analyze/type_sizes.h computes for a row.
struct RowSizes {
  std::uint64_t transitive_bytes =
      0;  // of them and of everything that they reference, directly or not
  std::uint64_t retained_bytes = 0;  // of them and of everything that only they keep alive

  friend bool operator==(const RowSizes&, const RowSizes&) = default;
};

struct CountRow {
  std::string type;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  bool is_reachable = true;
  std::optional<RowSizes> sizes = std::nullopt;  // of reachable rows, if requested
  std::string guess{};                           // as Type::guess

  // Adds a row of the same name, such as that of a type of another program. It has no sizes yet.
  CountRow& operator+=(const CountRow& other);

  friend bool operator==(const CountRow&, const CountRow&) = default;
};

inline CountRow& CountRow::operator+=(const CountRow& other) {
  // Names each field, so a new one does not compile before it is added up here, or left out.
  const auto& [of_type, more_objects, more_bytes, of_reachable, of_sizes, of_guess] = other;
  objects += more_objects;
  bytes += more_bytes;
  return *this;
}

// One heap's share of a CountTable, whose numbers are those of all heaps.
struct HeapCount {
  const heap::Kind* kind = &heap_kind();  // never null
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unreachable_bytes = 0;
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;
  // The objects among `unreachable_bytes`, of a heap that is not collected. The rest of these bytes
  // is its overhead. None: not told apart.
  std::optional<std::uint64_t> leaked_bytes{};

  [[nodiscard]] std::uint64_t in_use_bytes() const { return bytes + unreachable_bytes; }
  [[nodiscard]] std::optional<std::uint64_t> overhead_bytes() const {
    if (!leaked_bytes) return std::nullopt;
    return unreachable_bytes - *leaked_bytes;
  }
};

struct CountTable {
  pid_t pid = 0;
  Attributes resource;            // as in the header
  std::vector<CountRow> rows;     // no two with the same type and reachability
  std::uint64_t objects = 0;      // reachable ones, including those of dropped rows
  std::uint64_t bytes = 0;        // of these
  std::uint64_t typed_bytes = 0;  // of these, of known type
  TypedBytes typed;               // the same by source of the type
  std::uint64_t unreachable_bytes = 0;
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;
  // Of the heaps that are not collected; none if there is no such heap, or if they are unknown.
  std::optional<std::uint64_t> leaked_bytes;
  std::optional<std::uint64_t> overhead_bytes;
  std::vector<HeapCount> heaps;     // as Snapshot::heaps
  bool has_sizes = false;           // the rows have sizes
  std::uint64_t left_out_rows = 0;  // by a RowChoice
  std::uint64_t left_out_objects = 0;
  std::uint64_t left_out_bytes = 0;
  bool complete = true;
  std::string reason;  // why it is partial

  // The bytes in use by the collector, as far as they could be read.
  [[nodiscard]] std::uint64_t in_use_bytes() const { return bytes + unreachable_bytes; }
};

enum class SortBy : std::uint8_t { Bytes, Count, Name, Retained };

// The rows of a table to show, and their order.
struct RowChoice {
  SortBy sort = SortBy::Bytes;
  std::optional<std::uint64_t> top;
  std::vector<std::string> types;  // globs; empty: all
  std::uint64_t min_bytes = 0;
};

// The subject of a row: a type; a type together with its instances' buffers; or the objects of a
// type that one line of the program allocated, which only Ruby dumps show.
enum class CountBy : std::uint8_t { Type, Holder, Line };

// The name of the row that counts objects of `type`.
[[nodiscard]] const std::string& row_name(const Type& type, CountBy by);

// Counts the objects of `snapshot` on all cores. If the snapshot has live_only set, there are rows
// for reachable objects only.
[[nodiscard]] CountTable count_objects(const Snapshot& snapshot, CountBy by = CountBy::Type);

// Sorts the rows and drops those that were not chosen. The totals still cover the whole heap.
[[nodiscard]] CountTable choose_rows(CountTable table, const RowChoice& choice);

}  // namespace heapattach::snapshot
