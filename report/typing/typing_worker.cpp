#include "report/typing/typing_worker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attach/base/prefetch.h"
#include "symbols/heap/mark.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kPartBytes = 65536;  // the size of a part of a large object
constexpr std::size_t kVariablesAtATime = 16;
constexpr std::size_t kEnoughChunks = 16384;  // if so many are waiting, no more claims are sought
constexpr std::size_t kTextBytes = 4096;      // how much of a text is checked

std::uint64_t load_word(std::span<const std::byte> contents, std::uint64_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, contents.data() + at, sizeof word);
  return word;
}

}  // namespace

TypingWorker::TypingWorker(TypingWork& work)
    : work_(work), fits_(work.heap, work.rows, work.plan), outbox_(work.regions) {}

void TypingWorker::run() {
  while (!work_.regions.is_abandoned()) {
    if (work_.regions.is_hungry()) share();
    // Processes what waits before finding more, which bounds how much can wait.
    // Finds much before it goes on, so that each region is visited for many claims at once.
    if (work_.regions.waiting() < kEnoughChunks && (begin_next() || scan_next_part())) continue;
    if (go_to_next_region() || scan_next_part()) continue;
    if (!take_from_others()) return;
  }
}

// Takes the next group of variables or, after the last group, the next region with its own objects.
bool TypingWorker::begin_next() {
  const std::size_t groups = (work_.variables.size() + kVariablesAtATime - 1) / kVariablesAtATime;
  const std::size_t end = groups + (work_.has_headers ? work_.regions.count() : 0);
  if (work_.next.load(std::memory_order_relaxed) >= end) return false;
  const std::size_t at = work_.next.fetch_add(1, std::memory_order_relaxed);
  if (at >= end) return false;
  if (at >= groups) {
    enter(static_cast<std::uint32_t>(at - groups));
    return true;
  }
  source_ = {};
  const std::size_t first = at * kVariablesAtATime;
  const std::size_t last = std::min(first + kVariablesAtATime, work_.variables.size());
  for (const VariableWords& variable : work_.variables.subspan(first, last - first)) {
    scan_part(variable.contents, variable.says, 0, variable.contents.size());
  }
  return true;
}

bool TypingWorker::go_to_next_region() {
  if (outbox_.regions_waiting() == 0) return false;
  enter(outbox_.next_region());
  return true;
}

bool TypingWorker::scan_next_part() {
  if (parts_.empty()) return false;
  const LargePart part = parts_.back();
  parts_.pop_back();
  const heap::Block& block = work_.heap.blocks()[part.block];
  source_ = {block.start, block.object_bytes};
  const std::uint64_t from = part.part * kPartBytes;
  scan_part(work_.heap.contents({part.block, 0}), work_.plan.of_row(part.row), from,
            from + kPartBytes);
  return true;
}

bool TypingWorker::take_from_others() {
  TypingRegions::Task task;
  if (!work_.regions.wait_for(task)) return false;
  parts_.insert(parts_.end(), task.parts.begin(), task.parts.end());
  if (task.region == TypingRegions::kNone) return true;
  outbox_.enter_held(task.region);
  work_on(task.region);
  return true;
}

void TypingWorker::share() {
  outbox_.share();
  if (parts_.size() < 2) return;
  const auto half = parts_.begin() + static_cast<std::ptrdiff_t>(parts_.size() / 2);
  work_.regions.give(std::vector<LargePart>(parts_.begin(), half));
  parts_.erase(parts_.begin(), half);
}

void TypingWorker::enter(std::uint32_t region) {
  if (outbox_.enter(region)) work_on(region);
}

// Works until no claim is waiting in the region, neither one of its own objects nor one from
// another worker.
void TypingWorker::work_on(std::uint32_t region) {
  if (work_.has_headers && work_.regions.begin(region)) begin(region);
  do {
    while (auto chunk = outbox_.take_own()) {
      settle_all(*chunk);
      outbox_.give_back(std::move(chunk));
    }
  } while (!outbox_.leave_own());
}

void TypingWorker::begin(std::uint32_t region) {
  heap::for_each_object(work_.heap, work_.order.listed(), work_.regions.first_block(region),
                        work_.regions.end_block(region), [&](heap::ObjectRef ref) {
                          const std::uint32_t cell = work_.cells[work_.heap.number(ref)];
                          if (TypeCells::rank_of(cell) != Rank::Header) return;
                          const TypeIndex row = TypeCells::row_of(cell);
                          if (!work_.plan.of_row(row).has_claims()) return;
                          if (work_.heap.record(ref.block).size_units == 0) {
                            push_parts(ref, row);
                          } else {
                            scan({ref, row});
                          }
                        });
}

// Settles claims. Does each step for all claims before the next step, so that the others continue
// while one claim waits for memory.
void TypingWorker::settle_all(const ClaimChunk& chunk) {
  std::size_t places = 0;
  for (const FoundClaim& found : chunk.found()) {
    if (look_up(found, places_[places])) ++places;
  }
  objects_ = 0;
  for (const Place& place : std::span(places_).first(places)) settle(place);
  for (std::size_t i = 0; i < std::min(objects_, kAhead); ++i) fetch(typed_[i]);
  for (std::size_t i = 0; i < objects_; ++i) {
    if (i + kAhead < objects_) fetch(typed_[i + kAhead]);
    scan(typed_[i]);
  }
}

// Finds the object to which a pointer points. Returns false if there is none.
bool TypingWorker::look_up(const FoundClaim& found, Place& place) const {
  const heap::Heap::Record& record = work_.heap.record(found.block);
  const std::uint64_t offset = found.word - record.start;
  const std::uint32_t slot = record.slot_of(offset);
  const std::uint64_t number = record.first_slot + slot;
  place = {number, offset - slot * record.object_bytes(), {found.block, slot}, found.claim};
  if (offset / heap::Heap::kUnitBytes >= record.extent) return false;
  prefetch(&work_.cells[number]);
  return work_.order.listed().contains(number);
}

void TypingWorker::settle(const Place& place) {
  std::uint32_t& cell = work_.cells[place.number];
  const FitMemo::Entry& fitting = fits_.of(place.claim, work_.heap.blocks()[place.ref.block]);
  const std::uint32_t old = cell;
  // Nearly every claim gives the object its first type, or the same type again. The processor
  // cannot predict which, so there is no branch for it.
  const bool is_plain = fitting.is_plain & (place.inside == 0);
  if (is_plain & ((old == 0) | (old == fitting.cell))) {
    cell = fitting.cell;
    typed_[objects_] = {place.ref, fitting.row};
    objects_ += static_cast<std::size_t>((old == 0) & fitting.leads);
  } else {
    settle_slowly(place);
  }
}

void TypingWorker::settle_slowly(const Place& place) {
  std::uint32_t& cell = work_.cells[place.number];
  if (TypeCells::rank_of(cell) == Rank::Header) return;
  const Claim& claim = work_.plan.claim(place.claim);
  const heap::Block& block = work_.heap.blocks()[place.ref.block];
  Fit found = fit(claim, block, work_.heap.sizes_of(block), place.inside, work_.rows);
  if (may_be_single(claim, found, block) && is_zero_from(place.ref, claim.bytes)) {
    found = {Rank::Loose, claim.one};
  }
  if (found.rank == Rank::None) {
    if (place.inside == 0) ++conflicts_;
    return;
  }
  if (TypeCells::encode(found.rank, found.row) == cell) return;
  if (may_be_no_text(claim, found, block, work_.rows) &&
      !is_text_to_its_end(claim, work_.heap.contents(place.ref)) && has_pointers(place.ref)) {
    return;
  }
  if (!improve(cell, found) || !work_.plan.of_row(found.row).has_claims()) return;
  if (block.is_atomic()) return;  // there are no pointers, even if words look like some
  if (block.objects > 1) {
    typed_[objects_++] = {place.ref, found.row};
  } else {
    push_parts(place.ref, found.row);
  }
}

void TypingWorker::push_parts(heap::ObjectRef ref, TypeIndex row) {
  const std::uint64_t bytes = work_.heap.contents(ref).size();
  for (std::uint64_t part = 0; part * kPartBytes < bytes; ++part) {
    parts_.push_back({ref.block, static_cast<std::uint32_t>(part), row});
  }
}

void TypingWorker::fetch(const TypedObject& object) const {
  const heap::Heap::Record& record = work_.heap.record(object.ref.block);
  prefetch(record.data + object.ref.slot * record.object_bytes());
}

void TypingWorker::scan(const TypedObject& object) {
  const auto contents = work_.heap.contents(object.ref);
  source_ = {work_.heap.address(object.ref), contents.size()};
  scan_part(contents, work_.plan.of_row(object.row), 0, contents.size());
}

// Finds the claims of the pointers that begin in [from, to).
void TypingWorker::scan_part(std::span<const std::byte> contents,
                             const TypingPlan::Part& says,
                             std::uint64_t from,
                             std::uint64_t to) {
  if (contents.size() < 8) return;
  const std::uint64_t last = contents.size() - 8;
  for (std::uint32_t claim = says.first; claim < says.first + says.count; ++claim) {
    const Claim& made = work_.plan.claim(claim);
    if (made.offset < from || made.offset >= to || made.offset > last) continue;
    if (work_.rows.holds(made.condition, contents, 0)) {
      keep(claim, load_word(contents, made.offset));
    }
  }
  if (says.element_count == 0) return;
  std::uint64_t at = says.elements_at;
  if (at < from) {
    at += (from - at + says.element_bytes - 1) / says.element_bytes * says.element_bytes;
  }
  const std::uint32_t end = says.element_first + says.element_count;
  for (; at < to && at + says.element_bytes <= contents.size(); at += says.element_bytes) {
    for (std::uint32_t claim = says.element_first; claim < end; ++claim) {
      const Claim& made = work_.plan.claim(claim);
      if (work_.rows.holds(made.condition, contents, at)) {
        keep(claim, load_word(contents, at + made.offset));
      }
    }
  }
}

void TypingWorker::keep(std::uint32_t claim, std::uint64_t word) {
  const std::uint32_t block = work_.heap.block_of(word);
  if (block == heap::Heap::kNone) return;
  // A pointer to the object itself shows nothing new.
  if (word - source_.start.value < source_.bytes) return;
  outbox_.add(work_.regions.of(block), {word, block, claim});
}

// Makes the cell at least as good as `found`. Returns true if that has changed its row.
bool TypingWorker::improve(std::uint32_t& cell, const Fit& found) {
  const std::uint32_t mine = TypeCells::encode(found.rank, found.row);
  const std::uint32_t old = cell;
  const bool is_other_row = old != 0 && TypeCells::row_of(old) != found.row;
  if (is_other_row) ++conflicts_;
  if (old >= mine) return false;
  cell = mine;
  return old == 0 || is_other_row;
}

bool TypingWorker::has_pointers(heap::ObjectRef ref) const {
  const auto contents = work_.heap.contents(ref);
  for (std::size_t at = 0; at + 8 <= std::min(contents.size(), kTextBytes); at += 8) {
    const auto to = work_.heap.resolve(load_word(contents, at), heap::Heap::From::Stack);
    if (to && work_.order.listed().contains(work_.heap.number(*to))) return true;
  }
  return false;
}

bool TypingWorker::is_zero_from(heap::ObjectRef ref, std::uint64_t offset) const {
  const auto contents = work_.heap.contents(ref);
  if (contents.size() < offset) return false;
  return std::all_of(contents.begin() + static_cast<std::ptrdiff_t>(offset), contents.end(),
                     [](std::byte one) { return one == std::byte{0}; });
}

}  // namespace heapattach::snapshot
