#pragma once

#include <span>

#include "report/typing/object_order.h"
#include "report/typing/type_rows.h"
#include "symbols/heap/mark.h"

namespace heapattach::snapshot {

// The buffers of Crystal objects whose classes are known from their headers. Buffers are not
// instances, whatever their first word looks like. `rows` has the row of each object, by
// Heap::number. A holder that is itself such a buffer does not count, because its header is only
// data.
[[nodiscard]] heap::ObjectSet find_buffers(const heap::Heap& heap,
                                           const ObjectOrder& order,
                                           const TypeRows& rows,
                                           std::span<const TypeIndex> row_of);

}  // namespace heapattach::snapshot
