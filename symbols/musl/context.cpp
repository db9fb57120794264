#include "symbols/musl/context.h"

#include "attach/base/page.h"

namespace heapattach::musl {

namespace {

using glibc::Words;

std::optional<Context> read_context(const Words& words, RemoteAddr at) {
  constexpr std::uint64_t kReady = 0x08;
  constexpr std::uint64_t kFirstArea = 0x38;
  if ((words.at_or_zero(at + kReady) & 0xffffffff) != 1) return std::nullopt;
  const RemoteAddr area{words.at_or_zero(at + kFirstArea)};
  if (area.value == 0 || area.value % kLeastPageBytes != 0) return std::nullopt;
  Context found{.at = at, .secret = words.at_or_zero(at), .first_area = area};
  if (found.secret == 0 || words.at(area) != found.secret) return std::nullopt;
  found.free_metas = RemoteAddr{words.at_or_zero(at + 0x10)};
  found.unused_metas = RemoteAddr{words.at_or_zero(at + 0x18)};
  found.unused = words.at_or_zero(at + 0x20);
  found.last_area = RemoteAddr{words.at_or_zero(at + kFirstArea + 8)};
  if (words.at(found.last_area) != found.secret) return std::nullopt;
  for (unsigned i = 0; i < kClasses; ++i) found.slots[i] = words.at_or_zero(at + 0x1d0 + i * 8);
  return found;
}

}  // namespace

std::vector<Context> find_contexts(const Words& words, std::span<const Range> data) {
  std::vector<Context> found;
  for (const Range& range : data) {
    RemoteAddr at{(range.start.value + 7) & ~std::uint64_t{7}};
    while (at + Context::kBytes <= range.end()) {
      const RemoteAddr touched = words.next_touched(at);
      if (touched > at) {
        at = RemoteAddr{(touched.value + 7) & ~std::uint64_t{7}};
        continue;
      }
      if (const auto context = read_context(words, at)) found.push_back(*context);
      at = at + 8;
    }
  }
  return found;
}

}  // namespace heapattach::musl
