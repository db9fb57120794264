#include "inject/trace/blob.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "attach/base/check.h"

namespace heapattach::trace {

extern const unsigned char kBlobBytes[];
extern const unsigned kBlobSize;

namespace {

// If the reader dies, the target allocates at full speed again after this long.
constexpr int kJump = 0xe9;

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from - kJumpBytes);
}

}  // namespace

std::span<const std::byte> blob_code() {
  return std::as_bytes(std::span(kBlobBytes, kBlobSize));
}

BlobHead blob_head() {
  BlobHead head{};
  HA_CHECK(kBlobSize >= sizeof head);
  std::memcpy(&head, kBlobBytes, sizeof head);
  return head;
}

std::vector<std::byte> new_control(std::uint64_t every,
                                   std::uint64_t stack_most,
                                   std::uint64_t seed) {
  const auto control = std::make_unique<BlobControl>();
  control->interval = every;
  control->stack_most = stack_most;
  control->random = seed;
  control->patience = static_cast<std::uint64_t>(std::chrono::nanoseconds(kReaderPatience).count());
  constexpr double kOne = 1 << 24;
  constexpr int kQuantiles = 256;
  for (int i = 0; i < kQuantiles; ++i) {
    control->quantiles[i] =
        static_cast<std::uint64_t>(-std::log1p(-i / static_cast<double>(kQuantiles)) * kOne);
  }
  const auto bytes = std::as_bytes(std::span(control.get(), 1));
  return {bytes.begin(), bytes.end()};
}

bool can_jump(std::uint64_t from, std::uint64_t to) {
  const std::int64_t bytes = distance(from, to);
  return bytes == static_cast<std::int32_t>(bytes);
}

std::vector<std::byte> jump(std::uint64_t from, std::uint64_t to) {
  HA_CHECK(can_jump(from, to));
  const auto bytes = static_cast<std::int32_t>(distance(from, to));
  std::vector<std::byte> code(kJumpBytes, std::byte{kJump});
  std::memcpy(code.data() + 1, &bytes, sizeof bytes);
  return code;
}

}  // namespace heapattach::trace
