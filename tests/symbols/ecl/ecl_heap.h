#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/ecl/facts.h"
#include "symbols/ecl/names.h"
#include "symbols/ecl/types.h"
#include "tests/support/typed_heap.h"

namespace heapattach {

// A heap of ECL, built by hand. Types have the numbers of Debian's build.
class EclHeap {
 public:
  static constexpr std::uint8_t kFirst = 13;  // the type of symbols

  EclHeap() {
    facts.symbol = kFirst;
    facts.sizes.assign(ecl::kBignum, 0);
    for (const auto& type : ecl::kNumbers) facts.sizes.push_back(type.bytes);
    for (const auto& type : ecl::kLater) facts.sizes.push_back(type.bytes);
    heap.namer = [this](const runtimes::HeapView& view) {
      runtimes::ObjectNames names(view.heap().slots());
      ecl::name_objects(facts, view, names);
      return names;
    };
  }

  static std::uint64_t number(std::int64_t n) { return static_cast<std::uint64_t>(n) * 4 + 3; }
  static constexpr std::uint64_t kNil = 1;
  static std::uint64_t type(ecl::Later later) { return std::uint64_t{kFirst} + later; }

  // Makes an object of `bytes` that begins with these words.
  std::uint64_t object(const std::vector<std::uint64_t>& words,
                       std::uint64_t bytes,
                       std::uint8_t kind = heap::kNormal) {
    const RemoteAddr at = heap.object(bytes, kind);
    for (std::size_t i = 0; i < words.size(); ++i) heap.fake.put(at + i * 8, words[i]);
    return at.value;
  }
  // Makes a cons, and returns its value as a list: the address of the cons plus one.
  std::uint64_t cons(std::uint64_t car, std::uint64_t cdr) { return object({car, cdr}, 16) + 1; }
  std::uint64_t symbol(const std::string& text) {
    const std::uint64_t name =
        object({type(ecl::kBaseString), 0, text.size(), text.size()}, 80, heap::kAtomic);
    heap.fake.put(RemoteAddr{name + 32}, name + 40);
    heap.fake.put(RemoteAddr{name + 8}, name + 40);
    for (std::size_t i = 0; i < text.size(); ++i) heap.fake.put(RemoteAddr{name + 40 + i}, text[i]);
    return object({type(ecl::kSymbol), kNil, 0, kNil, name, kNil, kNil, 0}, 64);
  }
  std::uint64_t instance(std::uint64_t of_class,
                         const std::vector<std::uint64_t>& slots,
                         std::uint64_t slot_list) {
    const std::uint64_t at = object(slots, (slots.size() * 8 + 15) / 16 * 16);
    return object({type(ecl::kInstance), slots.size(), of_class, 0, slot_list, at, 0, 0}, 64);
  }
  // Makes a class, which is an instance of itself.
  std::uint64_t make_class(const std::string& name) {
    const auto at = instance(kNil, {kNil, kNil, kNil, symbol(name), kNil, kNil}, kNil);
    heap.fake.put(RemoteAddr{at + 16}, at);
    return at;
  }

  [[nodiscard]] std::string type_at(std::uint64_t at) { return heap.type_at(RemoteAddr{at}); }

  TypedHeap heap;
  ecl::Facts facts;
};

}  // namespace heapattach
