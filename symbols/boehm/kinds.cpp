#include "symbols/boehm/kinds.h"

#include <algorithm>
#include <array>

#include "attach/arch/addresses.h"
#include "attach/base/word.h"

namespace heapattach::boehm {
namespace {

constexpr std::uint64_t kListBytes = kListsOfKind * kWordBytes;  // at least
constexpr std::uint64_t kMostApart = std::uint64_t{64} << 10;    // in GC_arrays they are neighbours
constexpr std::uint64_t kMostTableBytes = 4096;

bool may_be_lists(std::uint64_t word) {
  return word != 0 && word % kWordBytes == 0 && word < kUsualAddressEnd;
}

}  // namespace

std::optional<std::size_t> words_of_kind(std::span<const std::uint64_t> words) {
  for (const std::size_t size : {6U, 5U, 4U}) {
    if (words.size() < kFirstKinds * size) continue;
    std::array<std::uint64_t, kFirstKinds> lists{};
    for (std::size_t kind = 0; kind < kFirstKinds; ++kind) lists.at(kind) = words[kind * size];
    std::sort(lists.begin(), lists.end());
    bool fits = may_be_lists(lists.front());
    for (std::size_t i = 1; i < lists.size(); ++i) {
      const std::uint64_t apart = lists.at(i) - lists.at(i - 1);
      fits = fits && may_be_lists(lists.at(i)) && apart >= kListBytes && apart <= kMostApart;
    }
    if (fits) return size;
  }
  return std::nullopt;
}

std::vector<ObjectKind> read_kinds(const Range& table, const MemoryReader& memory) {
  std::vector<ObjectKind> kinds;
  std::vector<std::uint64_t> words(std::min(table.bytes, kMostTableBytes) / kWordBytes);
  if (!memory.read(table.start, std::as_writable_bytes(std::span(words)))) return kinds;
  const auto size = words_of_kind(words);
  for (std::size_t at = 0; size && at + *size <= words.size(); at += *size) {
    if (!may_be_lists(words[at])) break;  // kinds are numbered from 0 without gaps
    kinds.push_back({RemoteAddr{words[at]}, RemoteAddr{words[at + 1]}, words[at + 2]});
  }
  return kinds;
}

}  // namespace heapattach::boehm
