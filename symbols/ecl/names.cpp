#include "symbols/ecl/names.h"

#include <utility>
#include <vector>

#include "symbols/ecl/environments.h"
#include "symbols/ecl/objects.h"
#include "symbols/ecl/values.h"

namespace heapattach::ecl {

namespace {

using runtimes::ObjectNames;
using runtimes::Part;
using runtimes::ShapeNumber;

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, ObjectNames& names)
      : facts_(facts),
        view_(view),
        heap_(view.heap()),
        names_(names),
        objects_(facts, view, names_),
        parts_(view, names_) {}

  void run() {
    std::vector<Part> found;
    std::vector<std::pair<std::uint64_t, ShapeNumber>> said;
    for_each([&](heap::ObjectRef ref) {
      const auto shape = objects_.read(ref, found);
      if (shape) said.emplace_back(heap_.number(ref), *shape);
    });
    // An object's contents carry no type, whatever they begin with.
    for (const Part& part : found) parts_.claim(part);
    for (const auto& [number, shape] : said) {
      if (!names_.has(number)) names_.set(number, shape);
    }
    name_conses();
    name_environments();
    parts_.name_memory();
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) const {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks, visit);
  }

  void name_conses() {
    const ShapeNumber cons = names_.intern({.name = "cons", .words = {{0, "car"}, {8, "cdr"}}});
    for_each([&](heap::ObjectRef from) {
      heap_.for_each_word(from, [&](std::uint64_t, std::uint64_t word) {
        const auto to = view_.object_at(cons_of(word));
        if (!to || names_.has(heap_.number(*to))) return;
        if (objects_.is_cons(*to)) names_.set(heap_.number(*to), cons);
      });
    });
  }

  // A thread of ECL's own memory: its stacks, caches and buffers.
  void name_environments() {
    const ShapeNumber stack = names_.intern(runtimes::part_of("process", "stack"));
    const ShapeNumber memory = names_.intern(runtimes::part_of("process", "memory"));
    for (const Environment& environment : environments(facts_, heap_.blocks(), view_.captured())) {
      for (const Range& range : environment.stacks)
        parts_.claim({range.start.value, 16, stack, true});
      name_memory_at(environment.range, memory);
    }
    name_memory_at(facts_.core, names_.intern(runtimes::part_of("ecl", "memory")));
  }

  void name_memory_at(const Range& range, ShapeNumber shape) {
    for (std::uint64_t offset = 0; offset < range.bytes; offset += 8) {
      const auto word = view_.word(range.start.value + offset);
      if (word) parts_.claim({*word, 16, shape, true});
    }
  }

  const Facts& facts_;
  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  ObjectNames& names_;
  Objects objects_;
  runtimes::Parts parts_;
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::ecl
