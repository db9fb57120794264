#include "report/collect/generated_code.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attach/base/word.h"
#include "symbols/mono/code.h"

namespace heapattach::snapshot {

namespace {

constexpr std::size_t kMostStack = std::size_t{64} << 20;  // the most bytes searched of a stack

std::vector<Range> places_of_code(const MemoryMap& map) {
  std::vector<Range> places;
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.executable && mapping.is_anonymous()) places.push_back(mapping.range);
  }
  return places;
}

}  // namespace

GeneratedCode generated_code(const mono::Facts& mono,
                             std::span<const FrozenThread> threads,
                             const Capture& capture,
                             const MemoryReader& memory,
                             const MemoryMap& map) {
  const std::vector<Range> places = places_of_code(map);
  std::vector<std::uint64_t> words;
  const auto add = [&](std::uint64_t word) {
    const bool is_code = std::any_of(places.begin(), places.end(), [word](const Range& place) {
      return place.contains(RemoteAddr{word});
    });
    if (is_code) words.push_back(word);
  };
  for (const FrozenThread& thread : threads) {
    if (!thread.registers) continue;
    add(thread.registers->instruction_pointer.value);
    auto stack = capture.bytes_from(thread.registers->stack_pointer);
    stack = stack.first(std::min(stack.size(), kMostStack));
    for (std::size_t at = 0; at + kWordBytes <= stack.size(); at += kWordBytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, stack.data() + at, sizeof word);
      add(word);
    }
  }
  GeneratedCode code;
  if (words.empty()) return code;
  mono::Methods methods = mono::methods_at(mono, std::move(words), memory, map);
  code.warnings = std::move(methods.warnings);
  for (mono::Method& method : methods.found) {
    code.functions.push_back({method.code, std::move(method.name), std::move(method.start)});
  }
  return code;
}

}  // namespace heapattach::snapshot
