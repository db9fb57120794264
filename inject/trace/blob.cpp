#include "inject/trace/blob.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>

#include "attach/base/check.h"

namespace heapattach::trace {

extern const unsigned char kBlobBytes[];
extern const unsigned kBlobSize;

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
  if (every <= 1) std::fill(std::begin(control->filter), std::end(control->filter), 1);
  const auto bytes = std::as_bytes(std::span(control.get(), 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace heapattach::trace
