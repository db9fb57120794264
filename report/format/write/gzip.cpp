#include "report/format/write/gzip.h"

#include <zlib.h>

#include "attach/base/check.h"

namespace heapattach {

namespace {

// Level 1: on this text level 6 saves a fifth of the size for three times the time, and the user
// waits.
constexpr int kLevel = 1;
constexpr int kWindowBits = 15 + 16;  // the largest window; +16 asks for gzip framing (zlib.h)
constexpr int kMemoryLevel = 9;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // zlib counts in unsigned int

}  // namespace

void GzipMembers::EndStream::operator()(z_stream_s* stream) const noexcept {
  deflateEnd(stream);
  delete stream;
}

GzipMembers::GzipMembers() : stream_(new z_stream_s{}) {
  HA_CHECK(deflateInit2(stream_.get(), kLevel, Z_DEFLATED, kWindowBits, kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK);
}

GzipMembers::~GzipMembers() = default;

std::string_view GzipMembers::compress(std::string_view bytes) {
  HA_CHECK(bytes.size() <= kMostBytes);
  HA_CHECK(deflateReset(stream_.get()) == Z_OK);
  const std::size_t bound = deflateBound(stream_.get(), bytes.size());
  if (member_.size() < bound) member_.resize(bound);
  // zlib takes its input without const but does not change it.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  stream_->next_out = reinterpret_cast<Bytef*>(member_.data());
  stream_->avail_out = static_cast<uInt>(member_.size());
  HA_CHECK(deflate(stream_.get(), Z_FINISH) == Z_STREAM_END);
  return {member_.data(), member_.size() - stream_->avail_out};
}

}  // namespace heapattach
