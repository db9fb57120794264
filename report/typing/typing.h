#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attach/base/flat_array.h"
#include "attach/memory/capture.h"
#include "report/typing/object_order.h"
#include "report/typing/type_rows.h"
#include "symbols/heap/live_set.h"

// Typing by reference. Objects that contain their type are typed first. From their fields and from
// variables, types then spread along pointers to other objects, and from these to further ones. A
// pointer makes a claim (Claim), and an object takes the best of the claims that fit its size and
// kind. From best to worst:
//
//     its own header or vtable        always, unless a buffer pointer of a Crystal class refutes it
//     one instance, of the exact size
//     elements from its start on
//     one instance, in a size class a little larger, or of any size if its type allows that
//     several instances from its start on, or elements with a pointer inside
//     only a name
//
// The order of the rows decides between different claims of the same rank, so the result does not
// depend on timing. There is one exception: a claim made by an object remains even if the type of
// that object improves later. Conflicts are counted.
//
// The work resembles marking, but its order is different, because memory is the bottleneck. The
// heap is divided into regions (typing_regions.h). A worker has exclusive access to a region while
// it processes it, and pointers into other regions are collected until there are many for the same
// region. We rejected workers that follow pointers wherever they point: on two cores, they took
// three times as long as the present design, and longer than on one core, because they competed for
// cache lines.
namespace heapattach::snapshot {

class Typing {
 public:
  // Types the objects of `order`. `capture` contains the variables, including locals.
  Typing(const heap::Heap& heap,
         const ObjectOrder& order,
         const Capture& capture,
         TypeRows& rows,
         std::span<const types::Variable> variables);

  // The row of a listed object.
  [[nodiscard]] TypeIndex row_of(heap::ObjectRef ref) const;
  // The number of claims that an equally or more certain claim contradicts.
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  void type_by_header();
  void take_named();
  void follow(const Capture& capture, std::span<const types::Variable> variables);

  const heap::Heap& heap_;
  const ObjectOrder& order_;
  TypeRows& rows_;
  FlatArray<std::uint32_t> cells_;  // by Heap::number: rank and row
  std::uint64_t conflicts_ = 0;
};

}  // namespace heapattach::snapshot
