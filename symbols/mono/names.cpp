#include "symbols/mono/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
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
      : facts_(facts),
        view_(view),
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
      name_domain(domain);
      for (const std::uint64_t vtable : classes_.vtables_of(domain)) {
        const Class* const found = classes_.of_first_word(vtable);
        if (found == nullptr) continue;
        name_static_fields(*found);
        shape_of(*found);  // it is known, even if it has no objects
      }
    }
    name_thread_fields(domains);
    for (std::string& warning : classes_.warnings()) names_.warn(std::move(warning));
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
    if (facts_.threads && heap_.word_at(ref, 0) == facts_.threads->vtable) threads_.push_back(ref);
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
    const std::string name =
        classes_.is_method(method) ? classes_.method_name(method) : std::string();
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

  // A class's static fields are in memory of the collector's if any of them is a reference.
  void name_static_fields(const Class& of) {
    const auto ref = of.static_fields_at == 0 ? std::nullopt : view_.object_at(of.static_fields_at);
    if (!ref || names_.has(heap_.number(*ref))) return;
    const heap::Block& block = heap_.blocks()[ref->block];
    if (!block.is_uncollectable() || block.object_bytes < of.static_bytes) return;
    runtimes::Shape shape = runtimes::part_of(of.name, "static fields");
    shape.name.insert(shape.name.size() - 1, of_domain_);
    add_fields(classes_.static_fields(of), of.static_bytes, shape);
    names_.set(heap_.number(*ref), names_.intern(std::move(shape)));
  }

  // Static fields get the name of their domain, except in the first one, which runs the program.
  void name_domain(std::uint64_t domain) {
    of_domain_.clear();
    if (facts_.domain == 0 || domain == facts_.domain) return;
    const std::string name = classes_.domain_name(domain);
    of_domain_ = name.empty() ? fmt::format(" in domain {:#x}", domain)
                              : fmt::format(" in domain \"{}\"", name);
  }

  // Names each thread's chunks "(static fields of thread "worker")". The first chunk begins with
  // the addresses of all of them.
  void name_thread_fields(const std::set<std::uint64_t>& domains) {
    std::vector<ThreadField> fields;
    for (const std::uint64_t domain : domains) {
      for (ThreadField& one : classes_.thread_fields(domain)) fields.push_back(std::move(one));
    }
    for (const heap::ObjectRef thread : threads_) {
      const std::uint64_t chunks = heap_.word_at(thread, facts_.threads->statics).value_or(0);
      if (chunks == 0 || view_.word(chunks) != chunks) continue;
      const std::string title = title_of_thread(heap_.address(thread).value);
      for (std::uint64_t i = 0; i < kThreadChunks; ++i) {
        name_chunk(view_.word(chunks + i * 8).value_or(0), i, title, fields);
      }
    }
  }

  void name_chunk(std::uint64_t at,
                  std::uint64_t number,
                  const std::string& thread,
                  const std::vector<ThreadField>& fields) {
    const auto ref = at == 0 ? std::nullopt : view_.object_at(at);
    if (!ref || names_.has(heap_.number(*ref))) return;
    const heap::Block& block = heap_.blocks()[ref->block];
    const std::uint64_t bytes = thread_chunk_bytes(number);
    if (!block.is_uncollectable() || block.object_bytes < bytes) return;
    std::vector<Field> its;
    for (const ThreadField& one : fields) {
      if (one.chunk == number) its.push_back(one.field);
    }
    std::sort(its.begin(), its.end(),
              [](const Field& a, const Field& b) { return a.offset < b.offset; });
    runtimes::Shape shape = runtimes::part_of(thread, "static fields");
    add_fields(its, bytes, shape);
    names_.set(heap_.number(*ref), names_.intern(std::move(shape)));
  }

  [[nodiscard]] std::string title_of_thread(std::uint64_t at) const {
    const ThreadClass& of = *facts_.threads;
    const auto number = [&](std::uint64_t offset) {
      const std::uint64_t place = at + offset;
      return view_.word(place & ~std::uint64_t{7}).value_or(0) >> (place & 7) * 8 & 0xffffffff;
    };
    const std::uint64_t name = view_.word(at + of.name).value_or(0);
    const std::string text = classes_.name_at(name);
    if (!text.empty() && text.size() == number(of.name_length)) {
      return fmt::format("thread \"{}\"", text);
    }
    return fmt::format("managed thread {}", number(of.managed_id));
  }

  const Facts& facts_;
  const runtimes::HeapView& view_;
  const heap::Heap& heap_;
  runtimes::ObjectNames& names_;
  ClassReader classes_;
  std::string of_domain_;  // " in domain \"tests\""; empty: in the first one
  std::vector<heap::ObjectRef> threads_;
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
