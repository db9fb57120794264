#include "symbols/heap/mark.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <optional>
#include <utility>

#include "attach/base/count_ones.h"
#include "attach/base/prefetch.h"
#include "attach/base/team.h"
#include "symbols/heap/exchange.h"
#include "symbols/heap/mark_by_parts.h"

namespace heapattach::heap {
namespace {

// An object to scan, or a part of a large one. The necessary data is copied from the block's record
// when the object is found, because the record is in the cache then.
struct Item {
  const std::byte* data = nullptr;  // of an object whose first words are scanned; otherwise null
  std::uint32_t block = 0;          // of other objects
  std::uint32_t number = 0;  // of words if there are data, of a large object the part, or the slot
};

constexpr std::uint64_t kPartWords = 8192;  // of a large object, and of a root
constexpr std::size_t kQueueItems = 16;     // being prefetched into the cache; a power of two
constexpr std::size_t kAhead = 8;           // words of a packet examined ahead of their turn
constexpr std::size_t kPacketWords = 512;   // collected for another worker before they are given
constexpr std::size_t kShareAbove = 64;     // items that a worker keeps when others run out
constexpr unsigned kShareEvery = 64;        // scanned items between checks for that

constexpr unsigned kPatience = 32;  // such checks before work is shared against ownership

// Work that one worker gives to another: words that point into the other's blocks, and objects that
// are marked but not scanned yet.
struct Packet {
  std::vector<std::uint64_t> words;
  std::vector<Item> items;
};

class Worker {
 public:
  Worker(const Heap& heap,
         ObjectSet& marks,
         Exchange<Packet>& exchange,
         const Owners& owners,
         unsigned number)
      : heap_(heap),
        marks_(marks),
        exchange_(exchange),
        interior_(heap.recognises_interior()),
        owners_(owners),
        number_(number),
        for_others_(owners.workers()) {}

  void run(std::span<const RootWords> roots, std::atomic<std::size_t>& next_root) {
    for (;;) {
      const std::size_t at = next_root.fetch_add(1, std::memory_order_relaxed);
      if (at >= roots.size()) break;
      scan_root(roots[at]);
      drain();
    }
    Packet packet;
    do {
      stack_.insert(stack_.end(), packet.items.begin(), packet.items.end());
      follow(packet.words);
      drain();
      follow_kept();
    } while (exchange_.take(number_, packet));
  }

  void add(ObjectRef ref) {
    if (marks_.insert_shared(heap_.number(ref))) push(ref);
  }

 private:
  void scan_root(const RootWords& root) {
    heap::for_each_word(root, [&](std::size_t, std::uint64_t word) {
      if (const auto ref = heap_.resolve(word, root.from)) add(*ref);
    });
  }

  // Follows words that point into our own blocks, or that no other worker would take.
  void follow(std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i + kAhead < words.size()) {
        heapattach::prefetch(&heap_.record(heap_.block_of(words[i + kAhead])));
      }
      mark(words[i], heap_.block_of(words[i]));
    }
  }

  // Follows the words that were collected for others but did not fill a packet.
  void follow_kept() {
    for (bool is_done = false; !is_done;) {
      is_done = true;
      for (auto& kept : for_others_) {
        if (kept.empty()) continue;
        is_done = false;
        follow(std::exchange(kept, {}));
        drain();
      }
    }
  }

  // `word` is within the heap's span. Most words are not, and are left out where they are read.
  void visit(std::uint64_t word) {
    const std::uint32_t block = heap_.block_within(word);
    if (block == Heap::kNone) return;
    const unsigned owner = owners_.of(block);
    if (owner == number_) {
      mark(word, block);
      return;
    }
    auto& gathered = for_others_[owner];
    gathered.push_back(word);
    if (gathered.size() >= kPacketWords) give(owner);
  }

  void give(unsigned owner) {
    Packet packet{std::move(for_others_[owner]), {}};
    for_others_[owner].clear();
    if (exchange_.give(owner, packet)) {
      for_others_[owner].reserve(kPacketWords);
      return;
    }
    for (const std::uint64_t word : packet.words) mark(word, heap_.block_of(word));
    packet.words.clear();
    for_others_[owner] = std::move(packet.words);
  }

  void mark(std::uint64_t word, std::uint32_t block) {
    const Heap::Record& record = heap_.record(block);
    const std::uint64_t offset = word - record.start;
    if (offset / Heap::kUnitBytes >= record.extent) return;
    const std::uint32_t slot = record.slot_of(offset);
    if (!interior_ && !heap_.counts(block, offset - slot * record.object_bytes())) return;
    if (marks_.insert_shared(record.first_slot + slot)) push({block, slot});
  }

  void push(ObjectRef ref) {
    const Heap::Record& record = heap_.record(ref.block);
    if (record.scan == Heap::Scan::Nothing) return;
    if (record.scan == Heap::Scan::Whole) {
      const std::byte* data = record.data + ref.slot * record.object_bytes();
      stack_.push_back({data, 0, record.last_word + 1U});
      return;
    }
    if (record.size_units != 0) {
      stack_.push_back({nullptr, ref.block, ref.slot});
      return;
    }
    const std::uint64_t words = heap_.contents(ref).size() / 8;
    for (std::uint64_t part = 0; part * kPartWords < words; ++part) {
      stack_.push_back({nullptr, ref.block, static_cast<std::uint32_t>(part)});
    }
  }

  void drain() {
    unsigned scanned = 0;
    for (;;) {
      if (!stack_.empty()) {
        const Item item = stack_.back();
        stack_.pop_back();
        prefetch(item);
        queue_[head_++ % kQueueItems] = item;
        if (head_ - tail_ < kQueueItems) continue;
      } else if (head_ == tail_) {
        return;
      }
      scan(queue_[tail_++ % kQueueItems]);
      if (++scanned % kShareEvery != 0) continue;
      if (exchange_.is_abandoned()) return;
      if (exchange_.has_for(number_)) accept();
      looked_hungry_ = exchange_.is_hungry() ? looked_hungry_ + 1 : 0;
      if (looked_hungry_ > 0) share();
    }
  }

  void accept() {
    Packet packet;
    if (!exchange_.take_own(number_, packet)) return;
    stack_.insert(stack_.end(), packet.items.begin(), packet.items.end());
    follow(packet.words);
  }

  // First shares the words that wait for their owners. If that does not help for a while, shares
  // the older half of the stack, because objects that were found early reference more.
  void share() {
    for (unsigned owner = 0; owner < for_others_.size(); ++owner) {
      if (for_others_[owner].size() > kShareAbove) give(owner);
    }
    if (stack_.size() <= kShareAbove || looked_hungry_ < kPatience) return;
    looked_hungry_ = 0;
    const auto half = stack_.begin() + static_cast<std::ptrdiff_t>(stack_.size() / 2);
    Packet packet{{}, {stack_.begin(), half}};
    const unsigned next = (number_ + 1) % owners_.workers();  // or any waiting worker
    if (exchange_.give(next, packet)) stack_.erase(stack_.begin(), half);
  }

  void prefetch(Item item) const {
    if (item.data == nullptr) {
      const Heap::Record& record = heap_.record(item.block);
      heapattach::prefetch(record.data + item.number * record.object_bytes());
      return;
    }
    heapattach::prefetch(item.data);
    if (item.number > 4) heapattach::prefetch(item.data + 64);
  }

  void scan(Item item) {
    const auto visit_word = [this](std::uint64_t, std::uint64_t word) {
      if (heap_.spans(word)) visit(word);
    };
    if (item.data != nullptr) {
      for (std::uint32_t i = 0; i < item.number; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, item.data + i * sizeof word, sizeof word);
        visit_word(i, word);
      }
    } else if (heap_.record(item.block).size_units != 0) {
      heap_.for_each_word({item.block, item.number}, visit_word);
    } else {
      const std::uint64_t from = item.number * kPartWords;
      for_each_word(heap_.scanned_words({item.block, 0}), from, from + kPartWords, visit_word);
    }
  }

  const Heap& heap_;
  ObjectSet& marks_;
  Exchange<Packet>& exchange_;
  bool interior_;
  Owners owners_;
  unsigned number_;
  std::vector<Item> stack_;
  std::array<Item, kQueueItems> queue_{};
  unsigned looked_hungry_ = 0;  // how often in a row another worker waited
  std::size_t head_ = 0;        // the next free slot of the queue; tail_ is the oldest item
  std::size_t tail_ = 0;
  std::vector<std::vector<std::uint64_t>> for_others_;  // by owner: words not given yet
};

// Pieces of roots. Those of packed ones overlap, so that no word is cut.
std::vector<RootWords> cut(std::span<const RootWords> words) {
  std::vector<RootWords> parts;
  for (const RootWords& root : words) {
    const std::size_t most = kPartWords * 8 + (root.is_packed ? 7 : 0);
    for (std::size_t at = 0; at < root.bytes.size(); at += kPartWords * 8) {
      RootWords part = root;
      part.bytes = root.bytes.subspan(at, std::min(most, root.bytes.size() - at));
      parts.push_back(part);
    }
  }
  return parts;
}

}  // namespace

std::uint64_t ObjectSet::next(std::uint64_t from, std::uint64_t end) const {
  while (from < end) {
    const std::uint64_t rest = words_[from / 64] >> (from % 64);
    if (rest != 0) return std::min(from + static_cast<unsigned>(std::countr_zero(rest)), end);
    from = (from / 64 + 1) * 64;
  }
  return end;
}

void ObjectSet::add(const ObjectSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

void ObjectSet::remove(const ObjectSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
}

std::uint64_t ObjectSet::count() const {
  std::uint64_t count = 0;
  for (const std::uint64_t word : words_) count += count_ones(word);
  return count;
}

Marker::Marker(const Heap& heap, const ObjectSet& never, unsigned workers)
    : heap_(heap), never_(never), marks_(never), workers_(std::max(1U, workers)) {}

void Marker::trace(std::span<const RootWords> words, std::span<const ObjectRef> objects) {
  constexpr std::uint64_t kPartBytes = 4U << 20;  // a quarter of the smallest window
  if (heap_.is_in_window()) return mark_by_parts(heap_, marks_, words, objects, kPartBytes);
  const std::vector<RootWords> parts = cut(words);
  std::atomic<std::size_t> next_part{0};
  std::optional<Exchange<Packet>> exchange;
  std::deque<Worker> workers;  // a deque, because workers do not move
  const auto begin = [&](unsigned count) {
    exchange.emplace(count);
    const Owners owners(heap_.blocks().size(), count);
    for (unsigned i = 0; i < count; ++i) workers.emplace_back(heap_, marks_, *exchange, owners, i);
    for (std::size_t i = 0; i < objects.size(); ++i) workers[i % count].add(objects[i]);
  };
  run_team(workers_, {.begin = begin,
                      .work = [&](unsigned number) { workers[number].run(parts, next_part); },
                      .abandon = [&] { exchange->abandon(); }});
}

ObjectSet Marker::take_live() && {
  marks_.remove(never_);
  return std::move(marks_);
}

}  // namespace heapattach::heap
