#include "report/typing/typing.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "attach/base/team.h"
#include "report/parallel.h"
#include "report/typing/block_ranges.h"
#include "report/typing/object_order.h"
#include "report/typing/type_rows.h"
#include "report/typing/typing_worker.h"
#include "symbols/heap/mark.h"

namespace heapattach::snapshot {

namespace {

class Buffers {
 public:
  Buffers(const heap::Heap& heap,
          const ObjectOrder& order,
          const TypeRows& rows,
          std::span<const TypeIndex> row_of)
      : heap_(heap), order_(order), rows_(rows), row_of_(row_of) {}

  [[nodiscard]] heap::ObjectSet pointed_to_except(const heap::ObjectSet& excepted) const {
    heap::ObjectSet buffers(heap_);
    for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
      heap::for_each_object(heap_, order_.listed(), first, last, [&](heap::ObjectRef ref) {
        const std::uint64_t number = heap_.number(ref);
        const TypeIndex row = row_of_[number];
        if (!is_holder(row) || excepted.contains(number)) return;
        for (const crystal::BufferPointer& pointer : rows_.buffer_pointers(row)) {
          add(ref, pointer, buffers);
        }
        if (rows_.has_unknown_fields(row)) add_closures(ref, buffers);
      });
    });
    return buffers;
  }

  [[nodiscard]] bool has_holder(const heap::ObjectSet& buffers) const {
    std::uint64_t at = 0;
    while ((at = buffers.next(at, heap_.slots())) < heap_.slots()) {
      if (is_holder(row_of_[at])) return true;
      ++at;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_holder(TypeIndex row) const {
    return !rows_.buffer_pointers(row).empty() || rows_.has_unknown_fields(row);
  }

  void add(heap::ObjectRef ref,
           const crystal::BufferPointer& pointer,
           heap::ObjectSet& buffers) const {
    const auto word = heap_.word_at(ref, pointer.offset);
    const auto buffer = word ? heap_.resolve(*word) : std::nullopt;
    if (!buffer) return;
    if (!pointer.may_be_inside && heap_.address(*buffer).value != *word) return;
    const std::uint64_t bytes = heap_.blocks()[buffer->block].object_bytes;
    if (pointer.only_if_array && !crystal::looks_like_array(heap_.contents(ref), bytes)) return;
    buffers.insert_shared(heap_.number(*buffer));
  }

  // Adds the data of closures. A Proc is two words: the address of its code, and the address of the
  // closure's data.
  void add_closures(heap::ObjectRef ref, heap::ObjectSet& buffers) const {
    const std::uint64_t bytes = std::min<std::uint64_t>(heap_.contents(ref).size(), kMostLooked);
    for (std::uint64_t offset = 8; offset + 16 <= bytes; offset += 8) {
      const auto code = heap_.word_at(ref, offset);
      if (!code || !rows_.naming().is_code(*code)) continue;
      const auto word = heap_.word_at(ref, offset + 8);
      const auto data = word ? heap_.resolve(*word) : std::nullopt;
      if (data && heap_.address(*data).value == *word) {
        buffers.insert_shared(heap_.number(*data));
      }
    }
  }

  static constexpr std::uint64_t kMostLooked = 1024;  // the most bytes examined of an instance

  const heap::Heap& heap_;
  const ObjectOrder& order_;
  const TypeRows& rows_;
  std::span<const TypeIndex> row_of_;
};

// The buffers of Crystal objects whose classes are known from their headers. Buffers are not
// instances, whatever their first word looks like. `rows` has the row of each object, by
// Heap::number. A holder that is itself such a buffer does not count, because its header is only
// data.
heap::ObjectSet find_buffers(const heap::Heap& heap,
                             const ObjectOrder& order,
                             const TypeRows& rows,
                             std::span<const TypeIndex> row_of) {
  const Buffers buffers(heap, order, rows, row_of);
  const heap::ObjectSet nothing(heap);
  // The second round leaves out the holders that the first one showed to be buffers. A false holder
  // that only another false holder refutes would need a third round, but none was ever seen.
  heap::ObjectSet found = buffers.pointed_to_except(nothing);
  return buffers.has_holder(found) ? buffers.pointed_to_except(found) : found;
}

// The bytes of a variable. Borrows the variable if it is in a register.
std::span<const std::byte> words_of(const types::Variable& variable,
                                    const Capture& capture,
                                    const types::TypeModel& model) {
  if (variable.value) return std::as_bytes(std::span(&*variable.value, 1));
  const auto contents = capture.bytes_from(variable.address);
  return contents.first(std::min<std::size_t>(bytes_of(model, variable.type), contents.size()));
}

}  // namespace

Typing::Typing(const heap::Heap& heap,
               const ObjectOrder& order,
               const Capture& capture,
               TypeRows& rows,
               std::span<const types::Variable> variables)
    : heap_(heap), order_(order), rows_(rows) {
  // Add the rows of variables now, before the threads that read rows start.
  for (const types::Variable& variable : variables) (void)rows.variable(variable.type);
  if (rows.naming().knows_no_headers() && !rows.has_claims() && !rows.has_named()) return;
  cells_.resize(heap.slots());
  type_by_header();
  if (rows.has_named()) take_named();
  if (rows.has_claims()) follow(capture, variables);
}

TypeIndex Typing::row_of(heap::ObjectRef ref) const {
  const std::uint32_t cell = cells_.empty() ? 0 : cells_[heap_.number(ref)];
  if (cell == 0) return Naming::unknown_of(heap_.blocks()[ref.block]);
  return rows_.chosen_row(TypeCells::row_of(cell), heap_.contents(ref));
}

// Types objects that contain their type. Their cells have plain rows until the search for buffers,
// which needs these.
void Typing::type_by_header() {
  const Naming& naming = rows_.naming();
  for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
    const auto from = static_cast<std::ptrdiff_t>(heap_.number({first, 0}));
    const bool is_last = last == heap_.blocks().size();
    const auto to = static_cast<std::ptrdiff_t>(is_last ? heap_.slots() : heap_.number({last, 0}));
    std::fill(cells_.begin() + from, cells_.begin() + to, 0);
    if (naming.knows_no_headers()) return;
    heap::for_each_object(heap_, order_.listed(), first, last, [&](heap::ObjectRef ref) {
      cells_[heap_.number(ref)] = naming.type_of(heap_.blocks()[ref.block], heap_.contents(ref));
    });
  });
  if (naming.knows_no_headers()) return;
  const heap::ObjectSet buffers = rows_.has_buffer_pointers()
                                      ? find_buffers(heap_, order_, rows_, cells_)
                                      : heap::ObjectSet(heap_);
  for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
    heap::for_each_object(heap_, order_.listed(), first, last, [&](heap::ObjectRef ref) {
      const std::uint64_t number = heap_.number(ref);
      const TypeIndex row = cells_[number];
      const bool is_buffer = buffers.contains(number) && !naming.is_string(row);
      const bool is_known = !is_buffer && !Naming::is_unknown(row);
      cells_[number] = is_known ? TypeCells::encode(Rank::Header, row) : 0;
    });
  });
}

// Takes the rows of objects that a runtime's reader has named. A type that a header or a vtable
// proves has precedence.
void Typing::take_named() {
  for_block_ranges(heap_, [&](std::uint32_t first, std::uint32_t last) {
    heap::for_each_object(heap_, order_.listed(), first, last, [&](heap::ObjectRef ref) {
      const std::uint64_t number = heap_.number(ref);
      const TypeIndex row = rows_.named_row(number);
      if (row != kNoRow && cells_[number] == 0) {
        cells_[number] = TypeCells::encode(Rank::Header, row);
      }
    });
  });
}

void Typing::follow(const Capture& capture, std::span<const types::Variable> variables) {
  TypingPlan plan(rows_);
  std::vector<VariableWords> words;
  for (const types::Variable& variable : variables) {
    const TypingPlan::Part says = plan.add(rows_.variable(variable.type));
    if (says.has_claims()) words.push_back({words_of(variable, capture, rows_.model()), says});
  }
  const std::size_t blocks = heap_.blocks().size();
  std::optional<TypingRegions> regions;
  std::unique_ptr<TypingWork> work;
  std::deque<TypingWorker> workers;  // a deque, because a worker cannot move
  const auto begin = [&](unsigned count) {
    regions.emplace(blocks, count);
    work.reset(new TypingWork{.heap = heap_,
                              .order = order_,
                              .rows = rows_,
                              .plan = plan,
                              .variables = words,
                              .has_headers = !rows_.naming().knows_no_headers(),
                              .cells = cells_,
                              .regions = *regions});
    for (unsigned i = 0; i < count; ++i) workers.emplace_back(*work);
  };
  run_team(workers_for(blocks / kBlocksAtATime + 1, heap_.most_readers()),
           {.begin = begin,
            .work = [&](unsigned number) { workers[number].run(); },
            .abandon = [&] { regions->abandon(); }});
  for (const TypingWorker& worker : workers) conflicts_ += worker.conflicts();
}

}  // namespace heapattach::snapshot
