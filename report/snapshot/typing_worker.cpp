#include "report/snapshot/typing_worker.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kPartBytes = 65536;  // of a large object
constexpr std::size_t kShareAbove = 64;      // items that a worker keeps when others run dry
constexpr unsigned kShareEvery = 64;
constexpr std::size_t kTextBytes = 4096;  // how far text is looked at

std::uint64_t load_word(std::span<const std::byte> contents, std::uint64_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, contents.data() + at, sizeof word);
  return word;
}

}  // namespace

void TypingWorker::scan_object(boehm::ObjectRef ref, TypeIndex row) {
  push(ref, row);
  drain();
}

void TypingWorker::scan_variable(std::span<const std::byte> contents, const Layout& layout) {
  from_object_ = false;
  scan_part(contents, layout, 0, contents.size());
  drain();
}

void TypingWorker::finish() {
  do {
    drain();
  } while (shared_.exchange.take(number_, stack_));
}

void TypingWorker::drain() {
  unsigned scanned = 0;
  for (;;) {
    if (!stack_.empty()) {
      const TypedItem item = stack_.back();
      stack_.pop_back();
      scan(item);
      if (++scanned % kShareEvery == 0 && stack_.size() > kShareAbove &&
          shared_.exchange.is_hungry()) {
        share();
      }
    } else if (head_ != tail_) {
      settle(candidates_[tail_++ % kAhead]);
    } else {
      return;
    }
  }
}

// The older half: what was found first leads to more.
void TypingWorker::share() {
  const auto half = stack_.begin() + static_cast<std::ptrdiff_t>(stack_.size() / 2);
  TypedItems items(stack_.begin(), half);
  const unsigned next = (number_ + 1) % shared_.workers;  // or whoever waits
  if (shared_.exchange.give(next, items)) stack_.erase(stack_.begin(), half);
}

void TypingWorker::push(boehm::ObjectRef ref, TypeIndex row) {
  if (!shared_.rows.layout(row).has_claims()) return;
  const boehm::Heap::Record& record = shared_.heap.record(ref.block);
  if (record.size_granules != 0) {
    stack_.push_back({ref.block, ref.slot, row});
    return;
  }
  const std::uint64_t bytes = shared_.heap.contents(ref).size();
  for (std::uint64_t part = 0; part * kPartBytes < bytes; ++part) {
    stack_.push_back({ref.block, static_cast<std::uint32_t>(part), row});
  }
}

void TypingWorker::scan(const TypedItem& item) {
  const Layout& layout = shared_.rows.layout(item.row);
  const bool is_large = shared_.heap.record(item.block).size_granules == 0;
  source_ = {item.block, is_large ? 0 : item.slot};
  from_object_ = true;
  const auto contents = shared_.heap.contents(source_);
  const std::uint64_t from = is_large ? item.slot * kPartBytes : 0;
  scan_part(contents, layout, from, is_large ? from + kPartBytes : contents.size());
}

// The claims of the pointers that begin in [from, to).
void TypingWorker::scan_part(std::span<const std::byte> contents,
                             const Layout& layout,
                             std::uint64_t from,
                             std::uint64_t to) {
  if (contents.size() < 8) return;
  const std::uint64_t last = contents.size() - 8;
  for (const Claim& claim : layout.claims) {
    if (claim.offset < from || claim.offset >= to || claim.offset > last) continue;
    visit(claim, load_word(contents, claim.offset));
  }
  if (layout.element_claims.empty()) return;
  std::uint64_t at = layout.elements_at;
  if (at < from) {
    at += (from - at + layout.element_bytes - 1) / layout.element_bytes * layout.element_bytes;
  }
  for (; at < to && at + layout.element_bytes <= contents.size(); at += layout.element_bytes) {
    for (const Claim& claim : layout.element_claims) {
      visit(claim, load_word(contents, at + claim.offset));
    }
  }
}

void TypingWorker::visit(const Claim& claim, std::uint64_t word) {
  const auto ref = shared_.heap.resolve(word, boehm::Heap::From::Stack);
  if (!ref || (from_object_ && *ref == source_)) return;
  const std::uint64_t number = shared_.heap.number(*ref);
  if (!shared_.order.listed().contains(number)) return;
  __builtin_prefetch(&shared_.cells[number], 1);
  const boehm::Heap::Record& record = shared_.heap.record(ref->block);
  const std::uint64_t offset = ref->slot * record.object_bytes();
  __builtin_prefetch(record.data + offset);
  if (head_ - tail_ == kAhead) settle(candidates_[tail_++ % kAhead]);
  candidates_[head_++ % kAhead] = {*ref, number, word - record.start - offset, &claim};
}

void TypingWorker::settle(const Candidate& candidate) {
  const boehm::Block& block = shared_.heap.blocks()[candidate.ref.block];
  const std::atomic_ref<std::uint32_t> cell(shared_.cells[candidate.number]);
  const std::uint32_t old = cell.load(std::memory_order_relaxed);
  if (TypeCells::rank_of(old) == Rank::Header) return;
  const Fit found = fit(*candidate.claim, block, candidate.inside, shared_.rows);
  if (found.rank == Rank::None) {
    if (candidate.inside == 0) ++conflicts_;
    return;
  }
  if (TypeCells::encode(found.rank, found.row) == old) return;
  if (is_text_with_pointers(found, candidate)) return;
  if (improve(cell, found)) push(candidate.ref, found.row);
}

// Makes the cell at least as good as `found`. True if the row is another one then.
bool TypingWorker::improve(std::atomic_ref<std::uint32_t> cell, const Fit& found) {
  const std::uint32_t mine = TypeCells::encode(found.rank, found.row);
  std::uint32_t old = cell.load(std::memory_order_relaxed);
  while (old < mine) {
    if (!cell.compare_exchange_weak(old, mine, std::memory_order_relaxed)) continue;
    if (old == 0) return true;
    if (TypeCells::row_of(old) == found.row) return false;  // no more than surer
    ++conflicts_;
    return true;
  }
  if (TypeCells::row_of(old) != found.row) ++conflicts_;
  return false;
}

// A pointer to characters is often one to anything: memory that may hold pointers is text only if
// it holds none.
bool TypingWorker::is_text_with_pointers(const Fit& found, const Candidate& candidate) const {
  if (candidate.claim->bytes != 1 || shared_.rows.layout(found.row).may_point()) return false;
  if (shared_.heap.blocks()[candidate.ref.block].is_atomic()) return false;
  const auto contents = shared_.heap.contents(candidate.ref);
  for (std::size_t at = 0; at + 8 <= std::min(contents.size(), kTextBytes); at += 8) {
    const auto to = shared_.heap.resolve(load_word(contents, at), boehm::Heap::From::Stack);
    if (to && shared_.order.listed().contains(shared_.heap.number(*to))) return true;
  }
  return false;
}

}  // namespace heapattach::snapshot
