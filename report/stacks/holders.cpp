#include "report/stacks/holders.h"

#include <algorithm>

#include <fmt/format.h>

#include "attach/base/word.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t kMostBytes = 32U << 20U;
constexpr std::uint64_t kStep = 1U << 20U;

// Calls `visit` for each readable word.
template <class Visit>
void each_word(Range range, const MemoryReader& memory, const Visit& visit) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t done = 0; done < range.bytes; done += kStep) {
    words.assign(std::min(kStep, range.bytes - done) / kWordBytes, 0);
    if (!memory.read(range.start + done, std::as_writable_bytes(std::span(words)))) continue;
    for (std::size_t i = 0; i < words.size(); ++i) {
      visit(range.start + done + i * kWordBytes, words[i]);
    }
  }
}

// "a Job", "an Account".
std::string with_article(std::string_view type) {
  constexpr std::string_view kVowels = "AEIOU";
  const bool is_vowel = !type.empty() && kVowels.find(type.front()) != std::string_view::npos;
  return fmt::format("{} {}", is_vowel ? "an" : "a", type);
}

}  // namespace

HolderNames names_of_globals(const Modules& modules,
                             const MemoryReader& memory,
                             std::span<const RemoteAddr> objects) {
  HolderNames names;
  const Module* const program = modules.main_program();
  if (program == nullptr || objects.empty()) return names;
  std::vector<RemoteAddr> wanted(objects.begin(), objects.end());
  std::sort(wanted.begin(), wanted.end());
  std::uint64_t left = kMostBytes;
  for (const Segment& segment : program->segments()) {
    if (!segment.writable || segment.range.bytes > left) continue;
    left -= segment.range.bytes;
    const std::uint64_t skipped =
        (kWordBytes - segment.range.start.value % kWordBytes) % kWordBytes;
    if (segment.range.bytes < skipped) continue;
    const Range words{segment.range.start + skipped, segment.range.bytes - skipped};
    each_word(words, memory, [&](RemoteAddr at, std::uint64_t word) {
      if (!std::binary_search(wanted.begin(), wanted.end(), RemoteAddr{word})) return;
      const auto symbol = program->symbol_at(at);
      if (symbol && !symbol->is_function) names.emplace(RemoteAddr{word}, symbol->name);
    });
  }
  return names;
}

std::string name_of_field(RemoteAddr object,
                          std::span<const AwaitedObject> owners,
                          const MemoryReader& capture) {
  for (const AwaitedObject& owner : owners) {
    if (owner.start == object || owner.type == nullptr || owner.type->name.empty()) continue;
    for (std::uint64_t offset = kWordBytes; offset + kWordBytes <= owner.bytes;
         offset += kWordBytes) {
      const auto word = capture.read_as<std::uint64_t>(owner.start + offset);
      if (!word || *word != object.value) continue;
      const auto& fields = owner.type->fields;
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const crystal::Field& f) { return f.offset == offset; });
      if (field == fields.end()) return "a field of " + with_article(owner.type->name);
      return owner.type->name + field->name;
    }
  }
  return {};
}

}  // namespace heapattach::stacks
