#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/model/model.h"

// Objects and bytes per type.
//
// The numbers of a table add up to the collector's own:
//     bytes (live) + unreachable_bytes = in use = heap_bytes - free_bytes
// `unreachable_bytes` is all of the blocks in use that no live object takes: objects that nothing
// reaches any more, slots that were never handed out, and what is left over at the end of a block.
// From outside the three cannot be told apart without the collector's help, and none of them may
// vanish, or the rows would not explain the process's size.
namespace heapattach::snapshot {

// What the objects of a row hold besides themselves; report/analyze/type_sizes.h finds it.
struct RowSizes {
  std::uint64_t transitive_bytes = 0;  // of them and of all that they lead to
  std::uint64_t retained_bytes = 0;    // of them and of what would go with them

  friend bool operator==(const RowSizes&, const RowSizes&) = default;
};

struct CountRow {
  std::string type;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  bool is_reachable = true;
  std::optional<RowSizes> sizes = std::nullopt;  // of reachable rows, if they were asked for

  friend bool operator==(const CountRow&, const CountRow&) = default;
};

struct CountTable {
  pid_t pid = 0;
  std::vector<CountRow> rows;     // no two with the same type and reachability
  std::uint64_t objects = 0;      // reachable ones, also those of rows that were left out
  std::uint64_t bytes = 0;        // of these
  std::uint64_t typed_bytes = 0;  // of these, whose type is known
  TypedBytes typed;               // the same by what it is known from
  std::uint64_t unreachable_bytes = 0;
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> free_bytes;
  bool has_sizes = false;           // the rows have their sizes
  std::uint64_t left_out_rows = 0;  // by a RowChoice
  std::uint64_t left_out_objects = 0;
  std::uint64_t left_out_bytes = 0;
  bool complete = true;
  std::string reason;  // why it is partial

  // What the collector has in use, as far as it could be read.
  [[nodiscard]] std::uint64_t in_use_bytes() const { return bytes + unreachable_bytes; }
};

enum class SortBy : std::uint8_t { Bytes, Count, Name, Retained };

// Which rows of a table to show, and in which order.
struct RowChoice {
  SortBy sort = SortBy::Bytes;
  std::optional<std::uint64_t> top;
  std::vector<std::string> types;  // globs; empty: all
  std::uint64_t min_bytes = 0;
};

// What makes a row: a type, or with it the buffers that belong to its instances.
enum class CountBy : std::uint8_t { Type, Holder };

// The name of the row that objects of `type` count to.
[[nodiscard]] const std::string& row_name(const Type& type, CountBy by);

// Counts the objects of `snapshot` on all cores. A snapshot with live_only set gives rows for
// reachable objects alone.
[[nodiscard]] CountTable count_objects(const Snapshot& snapshot, CountBy by = CountBy::Type);

// Sorts the rows and drops those not chosen. The totals stay those of the whole heap.
[[nodiscard]] CountTable choose_rows(CountTable table, const RowChoice& choice);

}  // namespace heapattach::snapshot
