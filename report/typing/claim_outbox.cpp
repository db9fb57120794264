#include "report/typing/claim_outbox.h"

#include <bit>
#include <utility>

namespace heapattach::snapshot {

namespace {

constexpr std::size_t kShareAbove = 4;  // how many regions a worker keeps when others have none

}  // namespace

ClaimOutbox::ClaimOutbox(TypingRegions& regions)
    : regions_(regions), found_(regions.count()), is_waiting_(regions.count() / 64 + 1) {}

std::uint32_t ClaimOutbox::next_region() {
  const std::size_t enough = regions_.waiting() / regions_waiting_;
  std::uint32_t region = next_marked();
  for (std::size_t i = 1; i < regions_waiting_; ++i) {
    if (regions_.waiting_for(region) >= enough) break;
    region = next_marked();
  }
  return region;
}

std::uint32_t ClaimOutbox::next_marked() {
  std::size_t at = cursor_ / 64;
  std::uint64_t bits = is_waiting_[at] & (~std::uint64_t{0} << (cursor_ % 64));
  while (bits == 0) {
    at = at + 1 == is_waiting_.size() ? 0 : at + 1;
    bits = is_waiting_[at];
  }
  const auto region =
      static_cast<std::uint32_t>(at * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
  cursor_ = region + 1 == regions_.count() ? 0 : region + 1;
  return region;
}

bool ClaimOutbox::enter(std::uint32_t region) {
  mark(region, false);
  if (!regions_.hold(region, found_[region], own_chunks_)) return false;
  own_ = region;
  return true;
}

void ClaimOutbox::enter_held(std::uint32_t region) {
  mark(region, false);
  own_ = region;
}

bool ClaimOutbox::leave_own() {
  if (regions_.take_or_release(own_, own_chunks_)) return false;
  own_ = TypingRegions::kNone;
  return true;
}

void ClaimOutbox::share() {
  if (regions_waiting_ < kShareAbove) return;
  cursor_ = 0;
  for (std::size_t left = regions_waiting_; left >= 2; left -= 2) {
    (void)next_marked();
    const std::uint32_t region = next_marked();
    mark(region, false);
    if (found_[region] != nullptr) regions_.leave(region, std::move(found_[region]));
    regions_.offer(region);
  }
}

std::unique_ptr<ClaimChunk> ClaimOutbox::take_own() {
  if (own_chunks_.empty()) return std::move(found_[own_]);
  auto chunk = std::move(own_chunks_.back());
  own_chunks_.pop_back();
  return chunk;
}

ClaimChunk* ClaimOutbox::begin_chunk(std::uint32_t region) {
  auto& chunk = found_[region];
  if (spare_.empty()) {
    chunk = std::make_unique_for_overwrite<ClaimChunk>();
  } else {
    chunk = std::move(spare_.back());
    spare_.pop_back();
  }
  chunk->count = 0;
  if (region != own_) mark(region, true);
  return chunk.get();
}

void ClaimOutbox::end_chunk(std::uint32_t region) {
  if (region == own_) {
    own_chunks_.push_back(std::move(found_[region]));
  } else {
    regions_.leave(region, std::move(found_[region]));
  }
}

void ClaimOutbox::mark(std::uint32_t region, bool is_waiting) {
  std::uint64_t& word = is_waiting_[region / 64];
  const std::uint64_t bit = std::uint64_t{1} << (region % 64);
  if (((word & bit) != 0) == is_waiting) return;
  word ^= bit;
  if (is_waiting) {
    ++regions_waiting_;
  } else {
    --regions_waiting_;
  }
}

}  // namespace heapattach::snapshot
