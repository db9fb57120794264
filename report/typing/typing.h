#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/capture.h"
#include "report/model/flat_array.h"
#include "report/typing/object_order.h"
#include "report/typing/type_rows.h"
#include "symbols/boehm/live.h"

// Typing by reference. Objects that say themselves what they are come first. Then types go along
// pointers to those that do not: from the fields of typed objects and from variables, and on from
// what was typed so. A pointer makes a claim (Claim), and an object takes the best of those that
// fit its size and kind:
//
//     its own header or vtable        always, unless a buffer pointer of a Crystal class refutes it
//     one instance, of the exact size
//     elements from its start on
//     one instance, in a size class a little larger, or as large as it likes
//     several instances from its start on, or elements that are pointed to inside
//     no more than a name
//
// Claims of one rank that differ are decided by the order of the rows, so that the result does not
// depend on which thread came first. It may in one way: what was claimed by way of an object whose
// type was bettered later stays claimed. Conflicts are counted.
//
// The work is that of a trace, but not its order: what bounds it is memory, not instructions. So
// the heap is cut into regions (typing_regions.h) that a worker has to itself while it is at one,
// and pointers into others wait until there are many for one region. What was tried before, workers
// that follow pointers wherever they lead, took three times as long on two cores as here, since
// they took each other's cache lines away, and more than on one core.
namespace heapattach::snapshot {

class Typing {
 public:
  // Types the objects of `order`. `capture` holds the variables, which may be locals too.
  Typing(const boehm::Heap& heap,
         const ObjectOrder& order,
         const Capture& capture,
         TypeRows& rows,
         std::span<const types::Variable> variables);

  // The row of a listed object.
  [[nodiscard]] TypeIndex row_of(boehm::ObjectRef ref) const;
  // How many claims were made that another one of an equally sure or surer kind contradicts.
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  void type_by_header();
  void take_named();
  void follow(const Capture& capture, std::span<const types::Variable> variables);

  const boehm::Heap& heap_;
  const ObjectOrder& order_;
  TypeRows& rows_;
  FlatArray<std::uint32_t> cells_;  // by Heap::number: rank and row
  std::uint64_t conflicts_ = 0;
};

}  // namespace heapattach::snapshot
