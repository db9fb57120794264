// .eh_frame is a list of records: length · number · contents; a record of length 0 ends it. With
// the number 0 it is a CIE, which describes those that follow: version 1, the text "zR" and what
// belongs to it. Otherwise it is an FDE: the function's start, relative to the word itself, and its
// size, both of 32 bits. (The psABI for x86-64 allows other forms; compilers use them for huge
// programs.)

#include "symbols/elf/function_ranges.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace heapattach {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::uint32_t kReserved = 0xfffffff0;  // lengths from here on mean something else

// After the length of a CIE: its number, its version, "zR", the factors of code and data, and the
// register of the return address.
constexpr std::array<unsigned char, 11> kCie = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10};

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class Records {
 public:
  Records(const Module& module, std::vector<Range>& functions)
      : module_(module), functions_(functions) {}

  void find_in(std::span<const std::byte> bytes, RemoteAddr at) {
    const auto pattern = std::as_bytes(std::span(kCie));
    for (std::size_t from = 0; from < bytes.size();) {
      const auto rest = bytes.subspan(from);
      const auto found = std::search(rest.begin(), rest.end(), pattern.begin(), pattern.end());
      if (found == rest.end()) return;
      const std::size_t cie = from + static_cast<std::size_t>(found - rest.begin());
      from = cie < kLengthBytes ? cie + 1 : std::max(cie + 1, walk(bytes, cie - kLengthBytes, at));
    }
  }

 private:
  // Returns where the list that begins at `next` ends.
  std::size_t walk(std::span<const std::byte> bytes, std::size_t next, RemoteAddr at) {
    constexpr std::size_t kSmallestEntry = 16;
    while (bytes.size() - next >= kSmallestEntry) {
      const auto length = value_at<std::uint32_t>(bytes, next);
      if (length == 0 || length >= kReserved || length > bytes.size() - next - kLengthBytes) break;
      const bool is_cie = value_at<std::uint32_t>(bytes, next + kLengthBytes) == 0;
      if (!is_cie && length >= kSmallestEntry - kLengthBytes) {
        const std::size_t start = next + 2 * kLengthBytes;
        const auto relative = std::int64_t{value_at<std::int32_t>(bytes, start)};
        add({at + start + static_cast<std::uint64_t>(relative),
             value_at<std::uint32_t>(bytes, start + sizeof(std::int32_t))});
      }
      next += kLengthBytes + length;
    }
    return next;
  }

  void add(const Range& function) {
    const auto segments = module_.segments();
    const bool is_code = std::any_of(segments.begin(), segments.end(), [&](const Segment& of) {
      return of.executable && of.range.contains(function.start) &&
             function.bytes <= of.range.end() - function.start;
    });
    if (is_code && function.bytes != 0) functions_.push_back(function);
  }

  const Module& module_;
  std::vector<Range>& functions_;
};

}  // namespace

std::vector<Range> function_ranges(const Module& module) {
  std::vector<Range> functions;
  Records records(module, functions);
  for (const Segment& segment : module.segments()) {
    if (!segment.writable) {
      records.find_in(module.file_bytes(segment.range.start), segment.range.start);
    }
  }
  std::sort(functions.begin(), functions.end());
  // If records overlap, only the first is believed.
  std::vector<Range> disjoint;
  for (const Range& function : functions) {
    if (disjoint.empty() || disjoint.back().end() <= function.start) disjoint.push_back(function);
  }
  return disjoint;
}

}  // namespace heapattach
