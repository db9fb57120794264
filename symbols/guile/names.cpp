#include "symbols/guile/names.h"

#include <vector>

#include "symbols/guile/cells.h"
#include "symbols/guile/values.h"

namespace heapattach::guile {

namespace {

using runtimes::ObjectNames;
using runtimes::Part;
using runtimes::ShapeNumber;

// The offset of the number of buckets in a weak table's state (scm_t_weak_table in weak-table.c).
constexpr std::uint64_t kBucketsOfTable = 56;

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, ObjectNames& names)
      : view_(view),
        heap_(view.heap()),
        names_(names),
        cells_(facts, view, names_),
        parts_(view, names_) {}

  void run() {
    std::vector<Part> found;
    for_each([&](heap::ObjectRef ref) {
      if (!is_unnamed(ref)) return;
      if (const auto shape = cells_.read(ref, found)) names_.set(heap_.number(ref), *shape);
    });
    for (const Part& part : found) name_part(part);
    for_each([&](heap::ObjectRef ref) {
      if (is_unnamed(ref) && cells_.is_pair(ref)) names_.set(heap_.number(ref), pair_);
    });
    parts_.name_memory();
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) const {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks, visit);
  }
  [[nodiscard]] bool is_unnamed(heap::ObjectRef ref) const {
    return !names_.has(heap_.number(ref));
  }

  void name_part(const Part& part) {
    const auto ref = view_.object_at(part.at);
    if (!ref || (!part.is_raw && cells_.is_pair(*ref))) return;
    // The vector of a hash table already has the name of a vector; its user does not see one.
    if (!parts_.claim(part, part.shape == buckets_ ? vector_ : ObjectNames::kNone)) return;
    if (part.shape == table_) name_weak_table(part.at);
    if (part.shape != set_) return;
    const ShapeNumber entries = names_.intern(runtimes::part_of("weak-set", "entries"));
    parts_.claim({view_.word(part.at).value_or(0), 16, entries, true});
  }

  void name_weak_table(std::uint64_t state) {
    const std::uint64_t buckets = view_.word(state).value_or(0);
    const std::uint64_t count = view_.word(state + kBucketsOfTable).value_or(0);
    const auto ref = view_.object_at(buckets);
    if (!ref || count > heap_.blocks()[ref->block].object_bytes / 8) return;
    const ShapeNumber shape = names_.intern(runtimes::part_of("weak-table", "buckets"));
    if (!parts_.claim({buckets, 8, shape, true})) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      // This ends at an object that has a name already, and so at a circle of entries.
      std::uint64_t at = heap_.word_at(*ref, i * 8).value_or(0);
      while (parts_.claim({at, 32, entry_, true})) at = view_.word(at + 8).value_or(0);
    }
  }

  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  ObjectNames& names_;
  Cells cells_;
  runtimes::Parts parts_;
  ShapeNumber pair_ = names_.intern({.name = "pair", .words = {{0, "car"}, {8, "cdr"}}});
  ShapeNumber entry_ = names_.intern({.name = "(entry of weak-table)",
                                      .holder = "weak-table",
                                      .words = {{8, "next"}, {16, "key"}, {24, "value"}}});
  ShapeNumber vector_ = names_.intern(vector_shape());
  ShapeNumber buckets_ = names_.intern(runtimes::part_of("hash-table", "buckets"));
  ShapeNumber table_ = names_.intern(runtimes::part_of("weak-table", "state"));
  ShapeNumber set_ = names_.intern(runtimes::part_of("weak-set", "state"));
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::guile
