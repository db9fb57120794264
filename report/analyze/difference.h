#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/model/counts.h"

// Finds what grew between two snapshots and, with three, what appeared and stayed.
//
// The collector does not move objects: an object at the same address in two snapshots of one
// process, with the same type and size, counts as the same. (It may be a new object of that type,
// which cannot be distinguished from the old one.) Only reachable objects count.
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

// The bytes that the objects of a type retain together, before and after.
struct RetainedGrowth {
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(after - before); }
  friend bool operator==(const RetainedGrowth&, const RetainedGrowth&) = default;
};

// One type, or with CountBy::Holder its objects together with their buffers.
struct TypeGrowth {
  std::string type;
  Amount before;  // in the first snapshot
  Amount after;   // in the last
  Amount stayed;  // in both
  Amount kept;    // with three snapshots: not in the first, but in the second and the last
  std::optional<RetainedGrowth> retained{};  // none: not requested, or unknown

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
  std::vector<TypeGrowth> rows;  // for all types in the first or the last snapshot, by name
  TypeGrowth total;              // the sum of all rows; its type is empty
  TypeGrowth left_out;           // the sum of the rows that choose_growth() dropped
  std::uint64_t left_out_rows = 0;
  bool has_retained = false;  // the rows have retained bytes
};

// Determines the order of the rows, and which rows are dropped.
enum class GrowthOrder : std::uint8_t { ByGrowth, ByKept };

// The amount of all reachable objects.
[[nodiscard]] Amount reachable(const snapshot::Snapshot& snapshot);

// Compares two or three snapshots, in the order in which they were taken. Linear in their objects.
[[nodiscard]] Difference compare(std::span<const snapshot::Snapshot* const> snapshots,
                                 snapshot::CountBy by);

// Sorts the rows, largest growth first, and drops rows that were not chosen or did not change. By
// retained bytes, a type with more objects than before is sorted by the growth of what its objects
// retain. Any other type only holds what grew, and is sorted by the growth of its own bytes.
// `choice.min_bytes` applies to growth or shrinkage, or to the bytes that were kept.
[[nodiscard]] Difference choose_growth(Difference difference,
                                       const snapshot::RowChoice& choice,
                                       GrowthOrder order);

}  // namespace heapattach::analyze
