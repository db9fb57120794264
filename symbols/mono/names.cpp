#include "symbols/mono/names.h"

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "symbols/mono/classes.h"
#include "symbols/runtimes/parts.h"

namespace heapattach::mono {

namespace {

constexpr std::uint64_t kMostCombined = 1 << 20;

class Namer {
 public:
  Namer(const Facts& facts, const runtimes::HeapView& view, runtimes::ObjectNames& names)
      : view_(view),
        heap_(view.heap()),
        names_(names),
        classes_(facts, [&view](std::uint64_t at) { return view.word(at); }) {}

  void run() {
    const auto blocks = static_cast<std::uint32_t>(heap_.blocks().size());
    heap::for_each_object(heap_, view_.listed(), 0, blocks,
                          [&](heap::ObjectRef ref) { name(ref); });
    std::set<std::uint64_t> domains;
    for (const auto& [found, shape] : shapes_) domains.insert(found->domain);
    for (const std::uint64_t domain : domains) {
      for (const std::uint64_t vtable : classes_.vtables_of(domain)) {
        const Class* const found = classes_.of_first_word(vtable);
        if (found == nullptr) continue;
        name_static_fields(*found);
        shape_of(*found);  // it is known, even if it has no objects
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
    names_.set(number,
               found->delegate_method != 0 ? shape_of_delegate(*found, ref) : shape_of(*found));
  }

  // "System.Action (Game.Shop.Refresh)", "System.Action (Game.Shop.Refresh and 2 more)".
  runtimes::ShapeNumber shape_of_delegate(const Class& of, heap::ObjectRef ref) {
    std::uint64_t method = heap_.word_at(ref, of.delegate_method).value_or(0);
    std::uint64_t more = 0;
    if (const std::uint64_t list = heap_.word_at(ref, of.delegate_list).value_or(0)) {
      const std::uint64_t first = view_.word(list + kArrayElements).value_or(0);
      more = view_.word(list + kArrayLength).value_or(1) - 1;
      method = first == 0 ? 0 : view_.word(first + of.delegate_method).value_or(0);
    }
    if (more > kMostCombined) method = 0;
    const auto [at, is_new] = delegates_.try_emplace({&of, method, more});
    if (!is_new) return at->second;
    const std::string name = classes_.method_name(method);
    at->second = shape_of(of);
    if (name.empty()) return at->second;
    runtimes::Shape shape = names_.shapes()[at->second];
    shape.name +=
        more == 0 ? fmt::format(" ({})", name) : fmt::format(" ({} and {} more)", name, more);
    return at->second = names_.intern(std::move(shape));
  }

  runtimes::ShapeNumber shape_of(const Class& of) {
    const auto [at, is_new] = shapes_.try_emplace(&of);
    if (!is_new) return at->second;
    runtimes::Shape shape{.name = of.name};
    if (of.is_string) {
      shape.length_at = kStringLength;
      shape.text_at = kStringText;
    }
    if (!of.is_array && !of.is_string) add_fields(of.fields, of.instance_bytes, shape);
    for (const Field& field : of.is_array ? of.fields : std::vector<Field>()) {
      const bool may_refer = field.bytes == 8 && field.offset % 8 == 0;
      if (may_refer) shape.element_words.push_back({field.offset, field.name});
    }
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
    add_fields(classes_.static_fields(of), of.static_bytes, shape);
    names_.set(heap_.number(*ref), names_.intern(std::move(shape)));
  }

  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  runtimes::ObjectNames& names_;
  ClassReader classes_;
  std::unordered_map<const Class*, runtimes::ShapeNumber> shapes_;
  std::map<std::tuple<const Class*, std::uint64_t, std::uint64_t>, runtimes::ShapeNumber>
      delegates_;  // by method, and how many more
};

}  // namespace

void name_objects(const Facts& facts,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(facts, view, names).run();
}

}  // namespace heapattach::mono
