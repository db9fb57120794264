#include "symbols/elf/file_share.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace heapattach {

namespace {

// A file with more holes than that is not worth counting.
constexpr int kMostHoles = 10'000;
// Small holes are common.
constexpr std::uint64_t kHarmless = std::uint64_t{1} << 20;

std::atomic<std::uint64_t> taken{0};

}  // namespace

std::uint64_t stored_bytes(const Fd& file, std::uint64_t offset, std::uint64_t bytes) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || status.st_size < 0) return 0;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (offset >= size) return 0;
  const std::uint64_t end = offset + std::min(bytes, size - offset);
  std::uint64_t stored = 0;
  for (int holes = 0; offset < end && holes < kMostHoles; ++holes) {
    const off_t data = lseek(file.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0 || static_cast<std::uint64_t>(data) >= end) break;
    const off_t hole = lseek(file.get(), data, SEEK_HOLE);
    const std::uint64_t until = hole < 0 ? end : std::min(end, static_cast<std::uint64_t>(hole));
    stored += until - std::min(until, static_cast<std::uint64_t>(data));
    offset = until;
  }
  return stored;
}

bool is_stored(const Fd& file, std::uint64_t offset, std::uint64_t bytes) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || status.st_size < 0) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (offset > size || bytes > size - offset) return false;
  return bytes <= kHarmless || stored_bytes(file, offset, bytes) >= bytes / 2;
}

std::uint64_t stored_bytes(const Fd& file) {
  return stored_bytes(file, 0, INT64_MAX);
}

std::uint64_t memory_to_read(std::uint64_t file_bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t{320} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  constexpr std::uint64_t kGrowth = 12;
  return std::min(kMost, kLeast + kGrowth * std::min(file_bytes, kMost));
}

FileShare::~FileShare() {
  taken.fetch_sub(bytes_);
}
FileShare::FileShare(FileShare&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
FileShare& FileShare::operator=(FileShare&& other) noexcept {
  if (this != &other) std::swap(bytes_, other.bytes_);
  return *this;
}

bool FileShare::take(std::uint64_t bytes) {
  std::uint64_t before = taken.load();
  do {
    if (bytes > kMostFileBytes - std::min(before, kMostFileBytes)) return false;
  } while (!taken.compare_exchange_weak(before, before + bytes));
  bytes_ += bytes;
  return true;
}

}  // namespace heapattach
