#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/guile/facts.h"
#include "symbols/guile/names.h"
#include "tests/support/typed_heap.h"

namespace heapattach {

// A heap of Guile 3.0, or of 2.2, built by hand.
class GuileHeap {
 public:
  static constexpr std::uint64_t kFalse = 0x4;
  static constexpr std::uint64_t kEmpty = 0x304;

  explicit GuileHeap(bool is_22 = false) : is_22_(is_22) {
    first_vtable_ = make_vtable(0, {}, 8, 8);
    heap.fake.put(TypedHeap::kData, first_vtable_);
    facts = guile::facts_from(TypedHeap::kData, heap.fake.memory());
    heap.namer = [this](const runtimes::HeapView& view) {
      runtimes::ObjectNames names(view.heap().slots());
      guile::name_objects(facts.value(), view, names);
      return names;
    };
  }

  static std::uint64_t number(std::int64_t n) { return static_cast<std::uint64_t>(n) * 4 + 2; }

  // Makes an object of `bytes` that begins with these words.
  std::uint64_t object(const std::vector<std::uint64_t>& words,
                       std::uint64_t bytes,
                       std::uint8_t kind = heap::kNormal) {
    const RemoteAddr at = heap.object(bytes, kind);
    for (std::size_t i = 0; i < words.size(); ++i) heap.fake.put(at + i * 8, words[i]);
    return at.value;
  }
  std::uint64_t pair(std::uint64_t car, std::uint64_t cdr) { return object({car, cdr}, 16); }
  std::uint64_t buffer(const std::string& text) {
    const std::uint64_t at =
        object({0x27, text.size()}, (text.size() + 32) / 16 * 16, heap::kAtomic);
    for (std::size_t i = 0; i < text.size(); ++i) heap.fake.put(RemoteAddr{at + 16 + i}, text[i]);
    return at;
  }
  std::uint64_t symbol(const std::string& text) { return object({5, buffer(text), 77}, 32); }

  // Makes a vtable whose instances have `slots` slots. It is an instance of the vtable `maker`, or
  // of itself if that is 0.
  std::uint64_t make_vtable(std::uint64_t maker,
                            const std::string& name,
                            std::uint64_t slots,
                            std::uint64_t own_slots,
                            std::uint64_t fields = kFalse) {
    const std::uint64_t slots_at = is_22_ ? 16 : 8;
    const std::uint64_t at = object({}, (slots_at + own_slots * 8 + 15) / 16 * 16);
    std::vector<std::uint64_t> words(slots_at / 8 + own_slots, kFalse);
    const std::uint64_t by = maker == 0 ? at : maker;
    words[0] = (is_22_ ? by + 16 : by) + 1;
    if (is_22_) words[1] = at + 16;
    if (is_22_) words[2 + 2] = at;
    const std::uint64_t first = slots_at / 8;
    std::string layout;
    for (std::uint64_t i = 0; i < slots; ++i) layout += "pw";
    words[first] = symbol(layout);
    words[first + 1] = 2;
    if (!name.empty()) words[first + (is_22_ ? 5 : 4)] = symbol(name);
    if (!is_22_) words[first + 5] = slots;
    if (own_slots > 9) words[first + 9] = fields;
    for (std::size_t i = 0; i < words.size(); ++i) heap.fake.put(RemoteAddr{at + i * 8}, words[i]);
    return at;
  }
  [[nodiscard]] std::uint64_t first_vtable() const { return first_vtable_; }
  // The first word of an instance.
  [[nodiscard]] std::uint64_t struct_word(std::uint64_t vtable) const {
    return (is_22_ ? vtable + 16 : vtable) + 1;
  }

  [[nodiscard]] std::string type_at(std::uint64_t at) { return heap.type_at(RemoteAddr{at}); }

  TypedHeap heap;
  std::optional<guile::Facts> facts;

 private:
  bool is_22_;
  std::uint64_t first_vtable_ = 0;
};

}  // namespace heapattach
