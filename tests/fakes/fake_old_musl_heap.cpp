#include "tests/fakes/fake_old_musl_heap.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBinBytes = 24;
constexpr std::uint64_t kInUse = 1;

}  // namespace

FakeOldMuslHeap::FakeOldMuslHeap() {
  memory_.map_zero(kData, kDataPages);
  memory_.map_zero(kHeap, kHeapBytes);
  memory_.map_zero(kMapped, kMappedBytes);
  poke(next_, kInUse);
  const RemoteAddr bin = kBins + kBinBytes * 7 - 8;  // a bin that was used, and is empty now
  poke(bin + 16, bin.value);
  poke(bin + 24, bin.value);
}

std::uint64_t FakeOldMuslHeap::peek(RemoteAddr at) {
  return memory_.read_as<std::uint64_t>(at).value();
}

RemoteAddr FakeOldMuslHeap::append(std::uint64_t chunk_bytes, bool is_in_use) {
  const RemoteAddr chunk = next_;
  const std::uint64_t word = chunk_bytes | (is_in_use ? kInUse : 0);
  poke(chunk + 8, word);
  next_ = chunk + chunk_bytes;
  poke(next_, word);
  return chunk + 16;
}

RemoteAddr FakeOldMuslHeap::add(std::uint64_t chunk_bytes) {
  return append(chunk_bytes, true);
}

RemoteAddr FakeOldMuslHeap::add_free(std::uint64_t chunk_bytes) {
  const RemoteAddr at = append(chunk_bytes, false);
  const RemoteAddr chunk = at - 16;
  const std::uint64_t number = chunk_bytes <= 0x400 ? chunk_bytes / 32 - 1 : 40;
  const RemoteAddr bin = kBins + kBinBytes * number - 8;
  const RemoteAddr last{peek(bin + 24) == 0 ? bin.value : peek(bin + 24)};
  poke(chunk + 16, bin.value);
  poke(chunk + 24, last.value);
  poke(last + 16, chunk.value);
  poke(bin + 24, chunk.value);
  poke(kBins - 8, peek(kBins - 8) | std::uint64_t{1} << number);
  return at;
}

RemoteAddr FakeOldMuslHeap::add_mapped(std::uint64_t pages, std::uint64_t aligned) {
  const RemoteAddr start = next_mapped_;
  next_mapped_ = start + pages * kPage;
  poke(start + 16, 16);
  poke(start + 24, pages * kPage - 16);
  if (aligned == 32) return start + 32;
  const RemoteAddr at{(start.value + 32 + aligned - 1) & ~(aligned - 1)};
  poke(at - 16, at - start - 16);
  poke(at - 8, pages * kPage - (at - start - 16));
  return at;
}

void FakeOldMuslHeap::end_segment() {
  if (!is_donated_) {
    const std::uint64_t used = next_ - start_ + 16;
    const std::uint64_t rest = (kPage - used % kPage) % kPage;
    if (rest != 0) add(rest);
  }
  poke(next_ + 8, kInUse);
  segment_bytes_ += next_ + 16 - start_;
}

void FakeOldMuslHeap::begin_segment() {
  end_segment();
  start_ = next_ + 16 + kPage;
  next_ = start_ + 16;
  is_donated_ = false;
  poke(next_, kInUse);
}

void FakeOldMuslHeap::begin_donated() {
  end_segment();
  start_ = kData + kDataBytes + 16;
  next_ = start_;
  is_donated_ = true;
  poke(next_, kInUse);
}

Result<musl::Heap> FakeOldMuslHeap::read(std::size_t threads) {
  end_segment();
  return read_again(threads);
}

Result<musl::Heap> FakeOldMuslHeap::read_again(std::size_t threads) {
  const std::vector<Range> anonymous{{kHeap, kHeapBytes}, {kMapped, kMappedBytes}};
  const std::vector<Range> all{anonymous[0], anonymous[1], {kData, kDataPages}};
  const std::vector<Range> data{{kData, kDataBytes}};
  capture_ = std::make_unique<Capture>(Arena::reserve(4 << 20, 0).value());
  HA_TRY(capture_->add(memory_, all, {}));
  return musl::read_heap(*capture_, {data, anonymous, threads, {}});
}

}  // namespace heapattach
