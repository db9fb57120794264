#include "symbols/mono/names.h"

#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/mono/classes.h"
#include "symbols/runtimes/parts.h"

namespace heapattach::mono {

namespace {

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
      : view_(view), heap_(view.heap()), names_(names), classes_(facts, view) {}

  void run() {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks,
                          [&](heap::ObjectRef ref) { name(ref); });
    std::set<std::uint64_t> domains;
    for (const auto& [found, shape] : shapes_) domains.insert(found->domain);
    for (const std::uint64_t domain : domains) {
      for (const std::uint64_t vtable : classes_.vtables_of(domain)) {
        if (const Class* const found = classes_.of_first_word(vtable)) name_static_fields(*found);
      }
    }
  }

 private:
  // Mono's own memory is uncollectable or malloc's, and none of it is an object, although a list of
  // vtables begins with one.
  void name(heap::ObjectRef ref) {
    const heap::Block& block = heap_.blocks()[ref.block];
    const std::uint64_t number = heap_.number(ref);
    if (block.is_uncollectable() || heap_.is_chunk(ref.block) || names_.has(number)) return;
    const Class* const found = classes_.of_first_word(heap_.word_at(ref, 0).value_or(0));
    if (found == nullptr || block.object_bytes < found->instance_bytes) return;
    names_.set(number, shape_of(*found));
  }

  runtimes::ShapeNumber shape_of(const Class& of) {
    const auto [at, is_new] = shapes_.try_emplace(&of);
    if (!is_new) return at->second;
    runtimes::Shape shape{.name = of.name};
    if (of.is_string) {
      shape.length_at = kStringLength;
      shape.text_at = kStringText;
    }
    auto& words = of.is_array ? shape.element_words : shape.words;
    for (const Field& field : of.fields) words.push_back({field.offset, field.name});
    if (of.is_array && of.element_bytes != 0 && !of.fields.empty()) {
      shape.elements_at = kArrayElements;
      shape.element_bytes = of.element_bytes;
    } else if (of.is_array) {
      shape.element_words.clear();
    }
    return at->second = names_.intern(std::move(shape));
  }

  // They are in memory of their own if any of them is a reference.
  void name_static_fields(const Class& of) {
    const auto ref = of.static_fields_at == 0 ? std::nullopt : view_.object_at(of.static_fields_at);
    if (!ref || names_.has(heap_.number(*ref))) return;
    const heap::Block& block = heap_.blocks()[ref->block];
    if (!block.is_uncollectable() || block.object_bytes < of.static_bytes) return;
    runtimes::Shape shape = runtimes::part_of(of.name, "static fields");
    for (const Field& field : classes_.static_fields(of)) {
      shape.words.push_back({field.offset, field.name});
    }
    names_.set(heap_.number(*ref), names_.intern(std::move(shape)));
  }

  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  runtimes::ObjectNames& names_;
  ClassReader classes_;
  std::unordered_map<const Class*, runtimes::ShapeNumber> shapes_;
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::mono
