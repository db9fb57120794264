// Each chunk of the view is either absent (part of one large inaccessible mapping) or present (a
// small readable mapping of its own). A chunk is read into memory that no other thread knows and
// then moved into position, so no thread ever sees half of it. To drop a chunk, an inaccessible
// mapping replaces it. The kernel does each of the two in one step.
//
// Rejected: userfaultfd, which containers forbid; mapping /proc/<pid>/mem, which the kernel does
// not support; a cache behind an interface, where every reader of the heap would hold its own
// pieces.

#include "attach/memory/window.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/base/check.h"
#include "attach/base/fault_points.h"
#include "attach/base/page.h"

namespace heapattach {

namespace {

// Large enough for what is read in order, small enough for what is not.
constexpr std::size_t kLeastChunkPages = 8;
// Each present chunk is a mapping, of which a process may have 65530 (max_map_count).
constexpr std::size_t kMostChunks = 8192;
constexpr std::size_t kFewestChunks = 64;

// the open window, or null
std::atomic<Window*> current{nullptr};
struct sigaction before_ours {};

}  // namespace

Result<std::unique_ptr<Window>> Window::open(Fd mem,
                                             std::span<const Range> ranges,
                                             std::size_t limit) {
  std::vector<Place> places;
  places.reserve(ranges.size());
  std::size_t bytes = 0;
  for (const Range& range : ranges) {
    const std::size_t in_page = range.start.value % page_bytes();
    HA_CHECK(range.start <= range.end() && range.bytes < SIZE_MAX / 4 - bytes);
    places.push_back({range, bytes + in_page});
    bytes += (in_page + range.bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  }
  const std::size_t least =
      std::max(kLeastChunkPages * page_bytes(), std::bit_ceil(limit / kMostChunks));
  bytes = std::max((bytes + least - 1) / least * least, least);
  void* const mapped =
      fault_at(FaultPoint::MapArena)
          ? MAP_FAILED
          : mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int failure = errno;
  if (mapped == MAP_FAILED) {
    return os_error(fmt::format("reserving {} bytes for a view of the heap", bytes), failure);
  }
  return std::unique_ptr<Window>(
      new Window(std::move(mem), std::move(places), static_cast<std::byte*>(mapped), bytes, limit));
}

Window::Window(
    Fd mem, std::vector<Place> places, std::byte* begin, std::size_t bytes, std::size_t limit)
    : mem_(std::move(mem)),
      places_(std::move(places)),
      begin_(begin),
      bytes_(bytes),
      chunk_bytes_(std::max(kLeastChunkPages * page_bytes(), std::bit_ceil(limit / kMostChunks))),
      owner_(getpid()),
      is_here_(bytes / chunk_bytes_),
      ring_(std::max(limit / chunk_bytes_, kFewestChunks)) {
  Window* none = nullptr;
  const bool is_only = current.compare_exchange_strong(none, this);
  HA_CHECK(is_only);
  struct sigaction ours {};
  ours.sa_sigaction = &Window::handle_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  HA_CHECK(sigaction(SIGSEGV, &ours, &before_ours) == 0);
}

Window::~Window() {
  sigaction(SIGSEGV, &before_ours, nullptr);
  current.store(nullptr);
  munmap(begin_, bytes_);
}

// Runs on the faulting thread, in the middle of one of our memory-reading instructions. That code
// holds no lock of this file, so one can be taken here, and nothing is allocated.
void Window::handle_fault(int, siginfo_t* about, void*) {
  const int failure = errno;
  Window* const window = current.load();
  const auto* const at = static_cast<const std::byte*>(about->si_addr);
  const bool is_ours = window != nullptr && about->si_code > 0 && window->provide(at);
  if (!is_ours) sigaction(SIGSEGV, &before_ours, nullptr);  // retry the instruction
  errno = failure;
}

bool Window::provide(const std::byte* at) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(begin_);
  if (offset >= bytes_ || getpid() != owner_) return false;
  const std::size_t chunk = offset / chunk_bytes_;
  const std::lock_guard lock(mutex_);
  if (is_here_[chunk] != 0) return true;  // another thread was faster
  if (count_ == ring_.size() && !drop_oldest()) return false;
  // Drop other chunks while the kernel has no mapping left.
  while (!fill(chunk)) {
    if (!drop_oldest()) return false;
  }
  is_here_[chunk] = 1;
  ring_[(oldest_ + count_) % ring_.size()] = static_cast<std::uint32_t>(chunk);
  ++count_;
  return true;
}

bool Window::fill(std::size_t chunk) {
  void* const fresh =
      mmap(nullptr, chunk_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return false;
  read_chunk(chunk, static_cast<std::byte*>(fresh));
  const bool is_moved = mprotect(fresh, chunk_bytes_, PROT_READ) == 0 &&
                        mremap(fresh, chunk_bytes_, chunk_bytes_, MREMAP_MAYMOVE | MREMAP_FIXED,
                               begin_ + chunk * chunk_bytes_) != MAP_FAILED;
  if (!is_moved) munmap(fresh, chunk_bytes_);
  return is_moved;
}

void Window::read_chunk(std::size_t chunk, std::byte* into) {
  const std::size_t first = chunk * chunk_bytes_;
  const std::size_t last = first + chunk_bytes_;
  auto place = std::partition_point(places_.begin(), places_.end(), [&](const Place& candidate) {
    return candidate.offset + candidate.range.bytes <= first;
  });
  for (; place != places_.end() && place->offset < last; ++place) {
    std::size_t at = std::max(first, place->offset);
    const std::size_t end = std::min(last, place->offset + place->range.bytes);
    while (at < end) {
      const std::uint64_t from = place->range.start.value + (at - place->offset);
      const ssize_t got =
          pread(mem_.get(), into + (at - first), end - at, static_cast<off_t>(from));
      if (got < 0 && errno == EINTR) continue;
      if (got > 0) {
        at += static_cast<std::size_t>(got);
        continue;
      }
      const std::size_t page = std::min(page_bytes() - from % page_bytes(), end - at);
      unread_.fetch_add(page);
      at += page;
    }
  }
}

bool Window::drop_oldest() {
  if (count_ == 0) return false;
  const std::size_t chunk = ring_[oldest_];
  // Over it, in one step: no other mapping can take the address.
  const void* const none = mmap(begin_ + chunk * chunk_bytes_, chunk_bytes_, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (none == MAP_FAILED) return false;
  is_here_[chunk] = 0;
  oldest_ = (oldest_ + 1) % ring_.size();
  --count_;
  return true;
}

void Window::forget() {
  const std::lock_guard lock(mutex_);
  while (drop_oldest()) {
  }
}

}  // namespace heapattach
