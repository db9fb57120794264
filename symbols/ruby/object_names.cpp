#include "symbols/ruby/object_names.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbols/ruby/buffers.h"
#include "symbols/ruby/copy_first.h"
#include "symbols/ruby/kinds.h"
#include "symbols/ruby/references.h"

namespace heapattach::ruby {

namespace {

using runtimes::ObjectNames;
using runtimes::ShapeNumber;

// The words with which every slot begins: its flags and its class.
constexpr std::uint64_t kHeadBytes = 16;

// The name of a type, and its objects' variables by their offsets. An offset at which objects have
// different variables has no name.
struct NamedType {
  std::string name;
  std::map<std::uint64_t, std::string_view> variables;
  std::map<std::uint64_t, std::string_view> in_buffer;
  ShapeNumber shape = ObjectNames::kNone;      // of the objects
  ShapeNumber of_buffer = ObjectNames::kNone;  // of their buffers

  static void add(std::map<std::uint64_t, std::string_view>& to,
                  std::uint64_t offset,
                  std::string_view variable) {
    const auto [at, is_new] = to.try_emplace(offset, variable);
    if (!is_new && at->second != variable) at->second = {};
  }
};

std::vector<runtimes::Shape::Word> words_of(
    const std::map<std::uint64_t, std::string_view>& variables) {
  std::vector<runtimes::Shape::Word> words;
  for (const auto& [offset, name] : variables) {
    if (!name.empty()) words.push_back({offset, std::string(name)});
  }
  return words;
}

class Namer {
 public:
  Namer(const NamedHeap& from, const runtimes::HeapView& view, ObjectNames& names)
      : copy_(from.copy),
        heap_(view.heap()),
        names_(names),
        form_(from.machine.layout->values),
        memory_(view.captured(), from.outside),
        values_(memory_, form_),
        reader_(from.machine, values_, [this](Value value) { return copy_.has_object(value); }) {
    reader_.use(copy_.shapes(), [this](Value value) { return copy_.slot_bytes_of(value); });
  }

  void run() {
    copy_.for_each([&](const HeapCopy::Object& object) { learn(object); });
    copy_.for_each([&](const HeapCopy::Object& object) { name(object); });
  }

 private:
  NamedType& type_of(const Slot& slot) {
    const bool is_internal = slot.kind() == Kind::Imemo || slot.of_class() == 0;
    const std::uint64_t flags = slot.flags() & (is_internal ? 0xf01f : 0x1f);
    const std::uint64_t of_class = slot.kind() == Kind::Imemo ? 0 : slot.of_class();
    const std::uint64_t data = slot.kind() == Kind::Data ? slot.data_type(form_) : 0;
    const bool is_singleton = copy_.is_singleton_class(slot);
    const auto [at, is_new] = types_.try_emplace({of_class, flags, data, is_singleton});
    if (is_new) at->second.name = type_name(copy_, slot);
    return at->second;
  }

  void learn(const HeapCopy::Object& object) {
    const Kind kind = object.slot.kind();
    if (kind != Kind::Object && kind != Kind::Struct) return;
    reader_.read(object.address, object.slot, found_);
    NamedType& type = type_of(object.slot);
    const std::uint64_t slot_bytes = copy_.slot_bytes_of(object.address);
    std::uint64_t in_slot = kHeadBytes;
    std::uint64_t in_buffer = 0;
    const auto buffer = allocation(buffer_of(object, form_).at);
    for (const Reference& one : found_) {
      if (one.name.empty()) continue;
      if (const auto at = find(object.address, in_slot, slot_bytes, one.to)) {
        NamedType::add(type.variables, *at, one.name);
        in_slot = *at + 8;
      } else if (buffer) {
        const std::uint64_t bytes = heap_.blocks()[buffer->block].object_bytes;
        const auto there = find(heap_.address(*buffer).value, in_buffer, bytes, one.to);
        if (!there) continue;
        NamedType::add(type.in_buffer, *there, one.name);
        in_buffer = *there + 8;
      }
    }
  }

  // The offset of a word from `from` on.
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t at,
                                                  std::uint64_t from,
                                                  std::uint64_t bytes,
                                                  std::uint64_t word) const {
    for (std::uint64_t offset = from; offset + 8 <= bytes; offset += 8) {
      if (heap_.captured_word(RemoteAddr{at + offset}) == word) return offset;
    }
    return std::nullopt;
  }

  void name(const HeapCopy::Object& object) {
    const auto ref = heap_.object_at(object.address);
    if (!ref) return;
    NamedType& type = type_of(object.slot);
    if (type.shape == ObjectNames::kNone) {
      type.shape = names_.intern({.name = type.name, .words = words_of(type.variables)});
    }
    names_.set(heap_.number(*ref), type.shape);
    const Buffer own = buffer_of(object, form_);
    const auto buffer = allocation(own.at);
    if (!buffer) return;
    if (type.of_buffer == ObjectNames::kNone) {
      runtimes::Shape part = runtimes::part_of(type.name, own.what);
      part.words = words_of(type.in_buffer);
      type.of_buffer = names_.intern(std::move(part));
    }
    names_.set(heap_.number(*buffer), type.of_buffer);
  }

  // The allocation that begins at `at`, unless it has a name already.
  [[nodiscard]] std::optional<heap::ObjectRef> allocation(std::uint64_t at) const {
    if (at == 0) return std::nullopt;
    const auto ref = heap_.object_at(at);
    const bool is_free = ref && heap_.is_chunk(ref->block) && !names_.has(heap_.number(*ref));
    return is_free ? ref : std::nullopt;
  }

  const HeapCopy& copy_;
  const heap::Heap& heap_;
  ObjectNames& names_;
  const ValueForm form_;
  CopyFirst memory_;
  Values values_;
  ReferenceReader reader_;
  std::map<std::array<std::uint64_t, 4>, NamedType> types_;
  std::vector<Reference> found_;  // of one object
};

}  // namespace

void name_objects(const NamedHeap& from,
                  const runtimes::HeapView& view,
                  runtimes::ObjectNames& names) {
  Namer(from, view, names).run();
}

}  // namespace heapattach::ruby
