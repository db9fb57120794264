#include "symbols/runtimes/heap_view.h"

#include <algorithm>
#include <cstring>

#include "symbols/text/utf8.h"

namespace heapattach::runtimes {

namespace {

constexpr std::uint64_t kMostBytes = 256;
constexpr std::uint64_t kGranule = 16;

}  // namespace

std::optional<heap::ObjectRef> HeapView::object_at(std::uint64_t at) const {
  const auto ref = heap_.object_at(at);
  if (!ref || !listed_.contains(heap_.number(*ref))) return std::nullopt;
  return ref;
}

bool HeapView::may_refer_to(std::uint64_t at) const {
  const std::uint32_t block = heap_.block_of(at);
  if (block != heap::Heap::kNone && !heap_.is_chunk(block)) return object_at(at).has_value();
  const Mapping* mapping = map_.find(RemoteAddr{at});
  return mapping != nullptr && mapping->readable;
}

std::optional<std::uint64_t> HeapView::word(std::uint64_t at) const {
  if (const auto ref = heap_.resolve(at, heap::Heap::From::Stack)) {
    return heap_.word_at(*ref, at - heap_.address(*ref).value);
  }
  if (const auto word = captured_.read_as<std::uint64_t>(RemoteAddr{at})) return *word;
  if (const auto word = outside_.read_as<std::uint64_t>(RemoteAddr{at})) return *word;
  return std::nullopt;
}

std::vector<std::byte> HeapView::bytes(std::uint64_t at, std::uint64_t count) const {
  std::vector<std::byte> found(std::min(count, kMostBytes));
  if (const auto ref = heap_.resolve(at, heap::Heap::From::Stack)) {
    const auto contents = heap_.contents(*ref);
    const std::uint64_t inside = at - heap_.address(*ref).value;
    if (inside > contents.size() || found.size() > contents.size() - inside) return {};
    std::copy_n(contents.begin() + static_cast<std::ptrdiff_t>(inside), found.size(),
                found.begin());
    return found;
  }
  if (captured_.read(RemoteAddr{at}, found)) return found;
  if (!outside_.read(RemoteAddr{at}, found)) return {};
  return found;
}

std::string HeapView::text(std::uint64_t at, std::uint64_t count, std::uint64_t width) const {
  const auto bytes = this->bytes(at, count * width);
  std::string text;
  for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
    std::uint32_t character = 0;
    std::memcpy(&character, &bytes[i], width);
    append_utf8(text, character);
  }
  return text;
}

bool fits(std::uint64_t object_bytes, std::uint64_t needed) {
  if (needed == 0 || object_bytes < needed) return false;
  return object_bytes - needed < kGranule + needed / 4;
}

}  // namespace heapattach::runtimes
