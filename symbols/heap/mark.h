#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attach/base/flat_array.h"
#include "symbols/heap/heap.h"

namespace heapattach::heap {

// A set of a heap's objects: one bit for each slot, by Heap::number.
class ObjectSet {
 public:
  explicit ObjectSet(const Heap& heap) : words_((heap.slots() + 63) / 64, 0) {}

  [[nodiscard]] bool contains(std::uint64_t number) const {
    return (words_[number / 64] >> (number % 64) & 1) != 0;
  }
  // Returns false if the object was already in the set.
  bool insert(std::uint64_t number) {
    const bool is_new = !contains(number);
    words_[number / 64] |= std::uint64_t{1} << (number % 64);
    return is_new;
  }
  // Inserts while other threads insert, too. Returns false if the object was already in the set.
  bool insert_shared(std::uint64_t number) {
    const std::atomic_ref<std::uint64_t> word(words_[number / 64]);
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    // Most words reference objects that were seen before: reading costs less than a locked write.
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
    return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  void erase(std::uint64_t number) { words_[number / 64] &= ~(std::uint64_t{1} << (number % 64)); }
  // The first number of the set in [from, end); `end` if there is none.
  [[nodiscard]] std::uint64_t next(std::uint64_t from, std::uint64_t end) const;
  void add(const ObjectSet& other);
  void remove(const ObjectSet& other);
  [[nodiscard]] std::uint64_t count() const;
  // The bits: number n is bit n % 64 of word n / 64.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }

 private:
  FlatArray<std::uint64_t> words_;
};

// Copied words that may be pointers.
struct RootWords {
  std::span<const std::byte> bytes;  // of aligned words
  Heap::From from = Heap::From::Heap;
  RemoteAddr at{};         // the address of the first word
  bool is_packed = false;  // as RootRange::is_packed
};

// Calls visit(offset_bytes, word) for each word of a root. The words of packed ones begin at every
// byte, and the lower half of each is a word, too.
template <class Visit>
void for_each_word(const RootWords& root, const Visit& visit) {
  constexpr std::uint64_t kLowerHalf = 0xffffffff;
  for (std::size_t i = 0; i + 8 <= root.bytes.size(); i += root.is_packed ? 1 : 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, root.bytes.data() + i, sizeof word);
    visit(i, word);
    if (root.is_packed && word > kLowerHalf) visit(i, word & kLowerHalf);
  }
}

// Follows pointers from roots through a heap, as the collector's marker does, on several threads.
// It works depth-first with explicit stacks, so a list of ten million objects needs only a few
// entries. An idle worker takes half of another's stack. Between being found and being scanned,
// objects wait in a short queue while their memory is prefetched.
//
// Marks persist, so more roots can be added later, as the collector itself does for finalizers.
class Marker {
 public:
  // Objects in `never` (those on free lists) are neither entered nor counted. Borrows `never` and
  // the heap.
  Marker(const Heap& heap, const ObjectSet& never, unsigned workers);

  void trace(std::span<const RootWords> words, std::span<const ObjectRef> objects);

  [[nodiscard]] bool is_live(ObjectRef ref) const {
    const std::uint64_t number = heap_.number(ref);
    return marks_.contains(number) && !never_.contains(number);
  }
  // Returns the objects that were reached. The marker cannot be used afterwards.
  [[nodiscard]] ObjectSet take_live() &&;

 private:
  const Heap& heap_;
  const ObjectSet& never_;
  ObjectSet marks_;  // includes `never`, so one lookup is enough
  unsigned workers_;
};

// Calls visit(ref) for each object of blocks [first, last) that is in `set`, in address order.
template <class Visit>
void for_each_object(const Heap& heap,
                     const ObjectSet& set,
                     std::uint32_t first,
                     std::uint32_t last,
                     const Visit& visit) {
  for (std::uint32_t block = first; block < last; ++block) {
    const std::uint32_t objects = heap.blocks()[block].objects;
    const std::uint64_t number = heap.number({block, 0});
    for (std::uint32_t slot = 0; slot < objects; ++slot) {
      if (set.contains(number + slot)) visit(ObjectRef{block, slot});
    }
  }
}

}  // namespace heapattach::heap
