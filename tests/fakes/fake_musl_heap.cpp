#include "tests/fakes/fake_musl_heap.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kUnit = 16;
constexpr std::uint64_t kMetaBytes = 40;
constexpr std::uint64_t kAreaHeader = 24;
constexpr unsigned kMetas = 101;  // of an area
constexpr std::uint64_t kMayBeFreed = 1 << 5;

std::uint64_t numbers_of(unsigned slots, std::uint64_t size_class, std::uint64_t pages) {
  return (slots - 1) | kMayBeFreed | size_class << 6 | pages << 12;
}

}  // namespace

FakeMuslHeap::FakeMuslHeap() : counted_(musl::kClasses) {
  memory_.map_zero(kData, kDataBytes);
  memory_.map_zero(kAreas, kAreaBytes);
  memory_.map_zero(kMapped, kMappedBytes);
  poke(kContext, kSecret);
  poke(kContext + 0x08, 1 | std::uint64_t{3} << 32);
  poke(kContext + 0x38, kAreas.value);
  poke(kAreas, kSecret);
  poke(kAreas + 16, kMetas);
}

std::uint64_t FakeMuslHeap::peek(RemoteAddr at) {
  return memory_.read_as<std::uint64_t>(at).value();
}

void FakeMuslHeap::begin_area() {
  while (metas_ < kMetas) add_free_metas(1);
  const RemoteAddr next = area_ + kPage;
  poke(area_ + 8, next.value);
  poke(next, kSecret);
  poke(next + 16, kMetas);
  area_ = next;
  metas_ = 0;
}

RemoteAddr FakeMuslHeap::next_meta() {
  return area_ + kAreaHeader + kMetaBytes * metas_++;
}

void FakeMuslHeap::add_free_metas(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    const RemoteAddr meta = next_meta();
    const RemoteAddr first = first_free_.value == 0 ? meta : first_free_;
    poke(meta + 8, first.value);
    if (first != meta) {
      const RemoteAddr last{peek(first)};
      poke(last + 8, meta.value);
      poke(meta, last.value);
    }
    poke(first, meta.value);
    first_free_ = first;
  }
}

unsigned FakeMuslHeap::add(RemoteAddr at,
                           std::uint64_t units,
                           unsigned slots,
                           std::uint64_t numbers) {
  const RemoteAddr meta = next_meta();
  const std::uint32_t all = (std::uint32_t{2} << (slots - 1)) - 1;
  poke(meta + 16, at.value);
  poke(meta + 24, std::uint64_t{all} << 32);  // freed
  poke(meta + 32, numbers);
  poke(at, meta.value);
  groups_.push_back({meta, at, units * kUnit});
  return static_cast<unsigned>(groups_.size() - 1);
}

unsigned FakeMuslHeap::add_group(unsigned size_class, std::uint64_t units, unsigned slots) {
  const std::uint64_t pages = (kUnit + units * kUnit * slots + kPage - 1) / kPage;
  const RemoteAddr at = next_mapped_;
  next_mapped_ = at + (pages + 1) * kPage;
  counted_.at(size_class) += slots;
  return add(at, units, slots, numbers_of(slots, size_class, pages));
}

unsigned FakeMuslHeap::add_nested(
    unsigned outer, unsigned slot, unsigned size_class, std::uint64_t units, unsigned slots) {
  take(outer, slot);
  const RemoteAddr at = groups_[outer].at + kUnit + groups_[outer].stride * slot;
  memory_.put(at - 3, static_cast<std::uint8_t>(slot | 6U << 5));
  counted_.at(size_class) += slots;
  return add(at, units, slots, numbers_of(slots, size_class, 0));
}

unsigned FakeMuslHeap::add_donated(unsigned size_class, std::uint64_t units) {
  const RemoteAddr at = next_donated_;
  next_donated_ = at + kUnit * (units + 1);
  return add(at, units, 1, numbers_of(1, size_class, 0) & ~kMayBeFreed);
}

unsigned FakeMuslHeap::add_mapped(std::uint64_t pages) {
  const RemoteAddr at = next_mapped_;
  next_mapped_ = at + (pages + 1) * kPage;
  return add(at, pages * kPage / kUnit - 1, 1, numbers_of(1, 63, pages));
}

void FakeMuslHeap::take(unsigned group, unsigned slot) {
  const RemoteAddr masks = groups_.at(group).meta + 24;
  poke(masks, peek(masks) & ~(std::uint64_t{1} << (32 + slot)));
}

void FakeMuslHeap::release(unsigned group, unsigned slot) {
  const RemoteAddr masks = groups_.at(group).meta + 24;
  poke(masks, peek(masks) | std::uint64_t{1} << (32 + slot));
}

RemoteAddr FakeMuslHeap::allocate(unsigned group,
                                  unsigned slot,
                                  std::uint64_t bytes,
                                  std::uint64_t later) {
  take(group, slot);
  const Written& in = groups_[group];
  const RemoteAddr start = in.at + kUnit + in.stride * slot;
  const RemoteAddr end = start + in.stride - 4;
  const RemoteAddr at = start + later * kUnit;
  if (later != 0) {
    memory_.put(start - 2, static_cast<std::uint16_t>(later));
    memory_.put(start - 3, std::uint8_t{7 << 5});
  }
  const std::uint64_t distance = (at - (in.at + kUnit)) / kUnit;
  const bool is_far = distance > 0xffff;
  memory_.put(at - 2, static_cast<std::uint16_t>(is_far ? 0 : distance));
  memory_.put(at - 4, static_cast<std::uint8_t>(is_far ? 1 : 0));
  if (is_far) memory_.put(at - 8, static_cast<std::uint32_t>(distance));
  const std::uint64_t unused = end - at - bytes;
  memory_.put(at - 3, static_cast<std::uint8_t>(slot | std::min<std::uint64_t>(unused, 5) << 5));
  if (unused >= 5) memory_.put(end - 4, static_cast<std::uint32_t>(unused));
  return at;
}

Result<musl::Heap> FakeMuslHeap::read(std::size_t threads) {
  poke(kContext + 0x10, first_free_.value);
  poke(kContext + 0x18, (area_ + kAreaHeader + kMetaBytes * metas_).value);
  poke(kContext + 0x20, kMetas - metas_);
  poke(kContext + 0x40, area_.value);
  for (unsigned i = 0; i < musl::kClasses; ++i) poke(kContext + 0x1d0 + i * 8, counted_[i]);
  return read_again(threads);
}

Result<musl::Heap> FakeMuslHeap::read_again(std::size_t threads) {
  const std::vector<Range> all{{kAreas, kAreaBytes}, {kMapped, kMappedBytes}, {kData, kDataBytes}};
  const std::vector<Range> data{{kData, kDataBytes}};
  capture_ = std::make_unique<Capture>(Arena::reserve(8 << 20, 0).value());
  HA_TRY(capture_->add(memory_, all, {}));
  return musl::read_heap(*capture_, {data, {}, threads, {}});
}

}  // namespace heapattach
