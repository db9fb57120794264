#pragma once

#include <memory>
#include <string_view>
#include <vector>

struct z_stream_s;

namespace heapattach {

// Compresses each piece into a separate gzip member. Concatenated members are a valid gzip file
// (RFC 1952, 2.2), so pieces can be compressed in parallel.
class GzipMembers {
 public:
  GzipMembers();
  ~GzipMembers();
  GzipMembers(GzipMembers&&) noexcept = default;
  GzipMembers& operator=(GzipMembers&&) noexcept = default;
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  // The member for `bytes`; valid until the next call. At most 1 GiB at a time.
  [[nodiscard]] std::string_view compress(std::string_view bytes);

 private:
  struct EndStream {
    void operator()(z_stream_s* stream) const noexcept;
  };
  std::unique_ptr<z_stream_s, EndStream> stream_;
  std::vector<char> member_;
};

}  // namespace heapattach
