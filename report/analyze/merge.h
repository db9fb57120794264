#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "report/model/counts.h"

// Puts the counts of many snapshots into one table of types and snapshots, and finds numbers that
// are far from the rest: the one service of a thousand whose cache grows.
//
// A number of bytes is far if its distance from the median of all snapshots is more than five times
// the median distance, more than half of the median, and at least 64 KiB. The first condition makes
// far numbers rare, the others make them worth a look. The mean would not do, because one far
// number moves it. With fewer than three snapshots, no number is far.
namespace heapattach::analyze {

// One of the snapshots. If it could not be read, only `source` and `reason` are set.
struct MergedSnapshot {
  std::string source;  // a file, or "process 4711"
  pid_t pid = 0;
  std::string exe;
  Attributes resource;  // as in the header
  std::string host;
  std::string captured;
  std::uint64_t objects = 0;  // the number of live objects
  std::uint64_t bytes = 0;    // of the live objects
  bool is_read = true;
  bool complete = true;
  std::string reason;  // why it is partial, or was not read
};

// The live objects of a type in one of the snapshots.
struct MergedCell {
  std::uint32_t snapshot = 0;  // index into MergedTable::snapshots
  bool is_far = false;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
};

struct MergedRow {
  std::string type;
  std::vector<MergedCell> cells;  // for snapshots with such objects, and for those that are far
  std::uint64_t objects = 0;      // in all snapshots together
  std::uint64_t bytes = 0;
  std::uint64_t snapshots = 0;     // the number of snapshots with such objects
  std::uint64_t median_bytes = 0;  // a snapshot without such objects counts as 0
  std::uint64_t most_bytes = 0;
};

struct MergedTable {
  std::vector<MergedSnapshot> snapshots;  // in the order in which they were given
  std::vector<MergedRow> rows;
  MergedRow total;  // of all types, including rows that were left out; its type is empty
  std::uint64_t left_out_rows = 0;

  [[nodiscard]] bool is_complete() const;
};

// Takes snapshots one by one, and keeps only their counts.
class Merge {
 public:
  void add(MergedSnapshot snapshot, const snapshot::CountTable& counts);
  // Adds a snapshot that could not be read.
  void add_unread(std::string source, std::string reason);

  [[nodiscard]] std::size_t read() const { return read_; }

  // Sorts the rows and drops those that were not chosen.
  [[nodiscard]] MergedTable finish(const snapshot::RowChoice& choice) &&;

 private:
  MergedTable table_;
  std::unordered_map<std::string, std::size_t> rows_;  // by type
  std::size_t read_ = 0;
};

}  // namespace heapattach::analyze
