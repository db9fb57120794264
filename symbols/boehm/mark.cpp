#include "symbols/boehm/mark.h"

#include <array>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace heapattach::boehm {
namespace {

// Something to be scanned: an object of a small block, or a part of a large one, whose `slot` is
// then the part's number.
using Item = ObjectRef;

constexpr std::uint64_t kPartWords = 8192;  // of a large object, and of a root
constexpr std::size_t kQueueItems = 8;      // on their way to the cache; a power of two
constexpr std::size_t kShareAbove = 64;     // items that a worker keeps when others run dry
constexpr unsigned kShareEvery = 64;        // scanned items between looks at whether they do

// A piece of a root.
struct RootPart {
  std::span<const std::byte> bytes;
  Heap::From from;
};

// What the workers share: packets of items that somebody else may scan, and who waits for one.
class Pool {
 public:
  explicit Pool(unsigned workers) : workers_(workers) {}

  [[nodiscard]] bool is_hungry() const { return waiting_.load(std::memory_order_relaxed) != 0; }

  void give(std::vector<Item> items) {
    const std::lock_guard lock(mutex_);
    packets_.push_back(std::move(items));
    changed_.notify_one();
  }

  // Waits for a packet. False if all wait, so that there will never be one.
  bool take(std::vector<Item>& into) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    if (packets_.empty() && waiting_ == workers_) changed_.notify_all();
    changed_.wait(lock, [&] { return !packets_.empty() || waiting_ == workers_; });
    if (packets_.empty()) return false;
    into = std::move(packets_.front());
    packets_.pop_front();
    --waiting_;
    return true;
  }

 private:
  unsigned workers_;
  std::atomic<unsigned> waiting_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<Item>> packets_;
};

class Worker {
 public:
  Worker(const Heap& heap, ObjectSet& marks, Pool& pool)
      : heap_(heap), marks_(marks), pool_(pool), interior_(heap.recognises_interior()) {}

  void run(std::span<const RootPart> roots, std::atomic<std::size_t>& next_root) {
    for (;;) {
      const std::size_t at = next_root.fetch_add(1, std::memory_order_relaxed);
      if (at >= roots.size()) break;
      scan_root(roots[at]);
      drain();
    }
    do {
      drain();
    } while (pool_.take(stack_));
  }

  void add(ObjectRef ref) {
    if (marks_.insert_shared(heap_.number(ref))) push(ref);
  }

 private:
  void scan_root(const RootPart& root) {
    for (std::size_t i = 0; i + 8 <= root.bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, root.bytes.data() + i, sizeof word);
      if (const auto ref = heap_.resolve(word, root.from)) add(*ref);
    }
  }

  void visit(std::uint64_t word) {
    const std::uint32_t block = heap_.block_of(word);
    if (block == Heap::kNone) return;
    const Heap::Record& record = heap_.record(block);
    const std::uint64_t offset = word - record.start;
    if (offset / Heap::kGranuleBytes >= record.extent) return;
    const std::uint32_t slot = record.slot_of(offset);
    if (!interior_ && offset - slot * record.object_bytes() >= Heap::kTagBytes) return;
    if (!marks_.insert_shared(record.first_slot + slot)) return;
    if (record.scan == Heap::Scan::Nothing) return;
    if (record.size_granules != 0) {
      stack_.push_back({block, slot});
    } else {
      push({block, slot});
    }
  }

  void push(ObjectRef ref) {
    const Heap::Record& record = heap_.record(ref.block);
    if (record.scan == Heap::Scan::Nothing) return;
    if (record.size_granules != 0) {
      stack_.push_back(ref);
      return;
    }
    const std::uint64_t words = heap_.contents(ref).size() / 8;
    for (std::uint64_t part = 0; part * kPartWords < words; ++part) {
      stack_.push_back({ref.block, static_cast<std::uint32_t>(part)});
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
      if (++scanned % kShareEvery == 0 && stack_.size() > kShareAbove && pool_.is_hungry()) share();
    }
  }

  // The older half: what was found first leads to more.
  void share() {
    const auto half = stack_.begin() + static_cast<std::ptrdiff_t>(stack_.size() / 2);
    pool_.give({stack_.begin(), half});
    stack_.erase(stack_.begin(), half);
  }

  void prefetch(Item item) const {
    const Heap::Record& record = heap_.record(item.block);
    const std::byte* at = record.data + item.slot * record.object_bytes();
    __builtin_prefetch(at);
    if (record.size_granules > 2) __builtin_prefetch(at + 64);
  }

  void scan(Item item) {
    const Heap::Record& record = heap_.record(item.block);
    if (record.size_granules != 0) {
      heap_.for_each_word(item, [this](std::uint64_t, std::uint64_t word) { visit(word); });
      return;
    }
    const Heap::ScannedWords words = heap_.scanned_words({item.block, 0});
    const std::uint64_t from = item.slot * kPartWords;
    Heap::for_each_word(words, from, from + kPartWords,
                        [this](std::uint64_t, std::uint64_t word) { visit(word); });
  }

  const Heap& heap_;
  ObjectSet& marks_;
  Pool& pool_;
  bool interior_;
  std::vector<Item> stack_;
  std::array<Item, kQueueItems> queue_{};
  std::size_t head_ = 0;  // where the next item is put; tail_ is where the oldest is
  std::size_t tail_ = 0;
};

std::vector<RootPart> cut(std::span<const RootWords> words) {
  std::vector<RootPart> parts;
  for (const RootWords& root : words) {
    for (std::size_t at = 0; at < root.bytes.size(); at += kPartWords * 8) {
      const std::size_t bytes = std::min<std::size_t>(kPartWords * 8, root.bytes.size() - at);
      parts.push_back({root.bytes.subspan(at, bytes), root.from});
    }
  }
  return parts;
}

}  // namespace

void ObjectSet::remove(const ObjectSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
}

std::uint64_t ObjectSet::count() const {
  std::uint64_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::uint64_t>(std::popcount(word));
  return count;
}

Tracer::Tracer(const Heap& heap, const ObjectSet& never, unsigned workers)
    : heap_(heap), never_(never), marks_(never), workers_(std::max(1U, workers)) {}

void Tracer::trace(std::span<const RootWords> words, std::span<const ObjectRef> objects) {
  const std::vector<RootPart> parts = cut(words);
  std::atomic<std::size_t> next_part{0};
  Pool pool(workers_);
  std::deque<Worker> workers;  // a deque, because they do not move
  for (unsigned i = 0; i < workers_; ++i) workers.emplace_back(heap_, marks_, pool);
  for (std::size_t i = 0; i < objects.size(); ++i) workers[i % workers_].add(objects[i]);

  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < workers_; ++i) {
    threads.emplace_back([&, i] { workers[i].run(parts, next_part); });
  }
  workers[0].run(parts, next_part);
}

ObjectSet Tracer::take_live() && {
  marks_.remove(never_);
  return std::move(marks_);
}

}  // namespace heapattach::boehm
