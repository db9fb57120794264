// An event in the log begins with a byte for its kind and for the members that equal those of the
// previous event. Numbers follow, seven bits per byte, lowest first. Times, addresses and
// collections are differences from the previous event, with the sign in the lowest bit, because
// events of different threads may be slightly out of order.

#include "report/trace/event_log.h"

namespace heapattach::trace {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kMostEventBytes = 128;  // the first byte and ten numbers of at most ten bytes

constexpr std::uint8_t kKindMask = 0x3;
constexpr std::uint8_t kSameThread = 0x4;
constexpr std::uint8_t kSameFiber = 0x8;

constexpr std::uint64_t difference(std::uint64_t now, std::uint64_t before) {
  const std::uint64_t by = now - before;
  return by << 1 ^ (by >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t changed(std::uint64_t before, std::uint64_t packed) {
  return before + (packed >> 1 ^ ((packed & 1) != 0 ? ~std::uint64_t{0} : 0));
}

// kNone becomes 0, so that it is short.
constexpr std::uint64_t packed_index(std::uint32_t index) {
  return static_cast<std::uint32_t>(index + 1);
}
constexpr std::uint32_t index_of(std::uint64_t packed) {
  return static_cast<std::uint32_t>(packed) - 1;
}

constexpr bool allocates(EventKind kind) {
  return kind == EventKind::Alloc || kind == EventKind::Realloc;
}

}  // namespace

void EventLog::put(std::uint64_t number) {
  std::vector<std::uint8_t>& chunk = chunks_.back();
  for (; number >= 0x80; number >>= 7) chunk.push_back(static_cast<std::uint8_t>(number | 0x80));
  chunk.push_back(static_cast<std::uint8_t>(number));
}

void EventLog::add(const Event& event) {
  if (chunks_.empty() || chunks_.back().size() + kMostEventBytes > kChunkBytes) {
    chunks_.emplace_back().reserve(kChunkBytes);
  }
  const bool same_thread = event.thread == last_.thread;
  const bool same_fiber = event.fiber == last_.fiber;
  chunks_.back().push_back(static_cast<std::uint8_t>(static_cast<unsigned>(event.kind) |
                                                     (same_thread ? kSameThread : 0U) |
                                                     (same_fiber ? kSameFiber : 0U)));
  put(difference(event.time_ns, last_.time_ns));
  if (!same_thread) put(packed_index(event.thread));
  if (!same_fiber) put(packed_index(event.fiber));
  put(difference(event.address, last_.address));
  if (allocates(event.kind)) {
    if (event.kind == EventKind::Realloc) put(difference(event.old_address, event.address));
    put(event.bytes);
    put(packed_index(event.type));
    put(packed_index(event.stack));
  }
  if (event.kind != EventKind::Free) {
    put(difference(event.collection, last_.collection));
    last_.collection = event.collection;
  }
  last_.time_ns = event.time_ns;
  last_.thread = event.thread;
  last_.fiber = event.fiber;
  last_.address = event.address;
  ++size_;
}

std::size_t EventLog::memory_bytes() const {
  return (chunks_.size() - forgotten_) * kChunkBytes;
}

void EventLog::forget_read(const Reader& reader) {
  for (; forgotten_ < reader.chunk_; ++forgotten_) {
    std::vector<std::uint8_t>().swap(chunks_[forgotten_]);
  }
}

std::uint64_t EventLog::Reader::number() {
  const std::vector<std::uint8_t>& chunk = log_->chunks_[chunk_];
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = chunk[at_++];
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

bool EventLog::Reader::next(Event& event) {
  if (chunk_ >= log_->chunks_.size()) return false;
  if (at_ == log_->chunks_[chunk_].size()) {
    // The last chunk may still grow.
    if (chunk_ + 1 == log_->chunks_.size()) return false;
    ++chunk_;
    at_ = 0;
  }
  const std::uint8_t first = log_->chunks_[chunk_][at_++];
  last_.kind = static_cast<EventKind>(first & kKindMask);
  last_.time_ns = changed(last_.time_ns, number());
  if ((first & kSameThread) == 0) last_.thread = index_of(number());
  if ((first & kSameFiber) == 0) last_.fiber = index_of(number());
  last_.address = changed(last_.address, number());
  event = Event{.kind = last_.kind,
                .time_ns = last_.time_ns,
                .thread = last_.thread,
                .fiber = last_.fiber,
                .address = last_.address};
  if (allocates(event.kind)) {
    if (event.kind == EventKind::Realloc) event.old_address = changed(event.address, number());
    event.bytes = number();
    event.type = index_of(number());
    event.stack = index_of(number());
  }
  if (event.kind != EventKind::Free) {
    last_.collection = changed(last_.collection, number());
    event.collection = last_.collection;
  }
  return true;
}

}  // namespace heapattach::trace
