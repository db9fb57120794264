#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/model/counts.h"

// What grew between two snapshots, and what came and stayed between three.
//
// The collector does not move objects: one that is at the same address in two snapshots of one
// process, with the same type and size, is taken for the same. (Another of that type may have been
// put where it was; nothing tells the two apart.) Only reachable objects count.
namespace heapattach::analyze {

struct Amount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t of_bytes) {
    objects += 1;
    bytes += of_bytes;
  }
  friend bool operator==(const Amount&, const Amount&) = default;
};

// What the objects of a type retain together.
struct RetainedGrowth {
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(after - before); }
  friend bool operator==(const RetainedGrowth&, const RetainedGrowth&) = default;
};

// One type, or with CountBy::Holder what its objects and their buffers make.
struct TypeGrowth {
  std::string type;
  Amount before;  // in the first snapshot
  Amount after;   // in the last
  Amount stayed;  // in both
  Amount kept;    // of three: not in the first, in the second and still in the last
  std::optional<RetainedGrowth> retained{};  // none: not asked for, or not known

  [[nodiscard]] bool is_new() const { return before.objects == 0; }
  [[nodiscard]] bool is_gone() const { return after.objects == 0; }
  [[nodiscard]] std::int64_t grown_objects() const {
    return static_cast<std::int64_t>(after.objects - before.objects);
  }
  [[nodiscard]] std::int64_t grown_bytes() const {
    return static_cast<std::int64_t>(after.bytes - before.bytes);
  }
  friend bool operator==(const TypeGrowth&, const TypeGrowth&) = default;
};

struct Difference {
  std::vector<TypeGrowth> rows;  // of all types of the first and the last, by name
  TypeGrowth total;              // of these, its type empty
  TypeGrowth left_out;           // of those that choose_growth left out
  std::uint64_t left_out_rows = 0;
  bool has_retained = false;  // the rows have what they retain
};

// What makes the order of the rows, and which of them there is nothing to tell of.
enum class GrowthOrder : std::uint8_t { ByGrowth, ByKept };

// The reachable objects.
[[nodiscard]] Amount reachable(const snapshot::Snapshot& snapshot);

// Compares two or three snapshots, in the order in which they were taken. Linear in their objects.
[[nodiscard]] Difference compare(std::span<const snapshot::Snapshot* const> snapshots,
                                 snapshot::CountBy by);

// Sorts the rows, what grew most first, and leaves out those not chosen and those without change.
// By what is retained, a type with more objects counts with what these retain more, any other with
// its own bytes: it holds the growth and is not the growth.
// `choice.min_bytes` is of growth or shrinkage, or of what was kept.
[[nodiscard]] Difference choose_growth(Difference difference,
                                       const snapshot::RowChoice& choice,
                                       GrowthOrder order);

}  // namespace heapattach::analyze
