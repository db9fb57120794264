#include "symbols/guile/smobs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "symbols/guile/values.h"

namespace heapattach::guile {

namespace {

std::string name_of(std::uint64_t number, RemoteAddr type, const MemoryReader& memory) {
  const std::string none = fmt::format("smob {}", number);
  std::string name;
  const auto at = memory.read_as<std::uint64_t>(type);
  std::array<std::byte, 64> text{};
  if (!at || !memory.read(RemoteAddr{*at}, text)) return none;
  for (const std::byte one : text) {
    const auto letter = std::to_integer<char>(one);
    if (letter == '\0') break;
    if (letter < ' ' || letter > '~') return none;
    name += letter;
  }
  return name.empty() ? none : name;
}

// Whether each type of smobs has a function that marks, by the type's number.
std::vector<bool> marking_types(const Facts& facts, const MemoryReader& memory) {
  std::vector<bool> marks;
  if (!facts.smobs) return marks;
  const std::uint64_t types = std::min(facts.smob_types, kSmobTypes);
  for (std::uint64_t i = 0; i < types; ++i) {
    const auto mark =
        memory.read_as<std::uint64_t>(*facts.smobs + (i * kSmobTypeBytes + kSmobMark));
    marks.push_back(mark && *mark != 0);
  }
  return marks;
}

}  // namespace

std::vector<std::string> types_that_mark_elsewhere(const Facts& facts,
                                                   const heap::Heap& heap,
                                                   const heap::ObjectSet& live,
                                                   const MemoryReader& memory,
                                                   const MemoryMap& map) {
  std::vector<bool> marks = marking_types(facts, memory);
  std::vector<std::string> names;
  if (std::find(marks.begin(), marks.end(), true) == marks.end()) return names;
  const auto blocks = static_cast<std::uint32_t>(heap.blocks().size());
  heap::for_each_object(heap, live, 0, blocks, [&](heap::ObjectRef ref) {
    const std::uint64_t tag = heap.word_at(ref, 0).value_or(0);
    const std::uint64_t number = tag >> 8 & (kSmobTypes - 1);
    if ((tag & 0xff) != kSmob || tag >> 48 != 0 || number >= marks.size() || !marks[number]) return;
    const std::uint64_t data = heap.word_at(ref, 8).value_or(0);
    const Mapping* const mapping = heap.resolve(data) ? nullptr : map.find(RemoteAddr{data});
    if (data % 8 != 0 || mapping == nullptr || !mapping->readable) return;
    marks[number] = false;
    names.push_back(name_of(number, *facts.smobs + number * kSmobTypeBytes, memory));
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace heapattach::guile
