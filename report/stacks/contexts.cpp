// Since 1.16 a fiber belongs to an execution context. A context has a name, and so has each of its
// schedulers, and the fiber in which a scheduler looks for work: NAME, NAME-0, "NAME-0:loop". An
// isolated context has the name of its only fiber. The offsets of the names differ by release, but
// a word that references an object which references a String with the right text is proof enough.
// Then the same word is read in the other fibers.

#include "report/stacks/contexts.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "attach/base/word.h"

namespace heapattach::stacks {

namespace {

constexpr std::size_t kContextWords = 24;  // that may hold its name
constexpr std::uint32_t kLongestName = 128;

// The text of a String; empty if there is none.
std::string string_at(RemoteAddr at, const MemoryReader& memory) {
  const auto head = memory.read_as<std::array<std::uint32_t, 2>>(at);
  constexpr std::uint32_t kStringId = 1;
  if (!head || (*head)[0] != kStringId || (*head)[1] == 0 || (*head)[1] > kLongestName) return {};
  std::string text((*head)[1], '\0');
  if (!memory.read(at + 12, std::as_writable_bytes(std::span(text)))) return {};
  return text;
}

class Contexts {
 public:
  Contexts(std::vector<std::string> names, const MemoryReader& memory)
      : names_(std::move(names)), memory_(memory) {}

  // The name of the context that the fiber's word at `offset` references.
  std::string at(const crystal::FiberStack& fiber,
                 const std::string& fiber_name,
                 std::uint64_t offset) {
    const auto word = memory_.read_as<std::uint64_t>(fiber.object + offset);
    if (!word || *word == 0 || *word % kWordBytes != 0) return {};
    const auto [known, is_new] = known_.try_emplace(*word);
    if (is_new) known->second = texts_of(RemoteAddr{*word});
    for (const std::string& text : known->second.texts) {
      const bool is_context = std::find(names_.begin(), names_.end(), text) != names_.end();
      if (is_context) return text;
      const bool leads_back = known->second.words.contains(fiber.object.value);
      if (text == fiber_name && leads_back) return text;
    }
    return {};
  }

 private:
  struct Object {
    std::vector<std::string> texts;
    std::set<std::uint64_t> words;
  };

  [[nodiscard]] Object texts_of(RemoteAddr object) const {
    Object found;
    for (std::size_t i = 1; i < kContextWords; ++i) {
      const auto word = memory_.read_as<std::uint64_t>(object + i * kWordBytes);
      if (!word) break;
      if (*word == 0 || *word % 4 != 0) continue;
      found.words.insert(*word);
      std::string text = string_at(RemoteAddr{*word}, memory_);
      if (!text.empty()) found.texts.push_back(std::move(text));
    }
    return found;
  }

  std::vector<std::string> names_;
  const MemoryReader& memory_;
  std::map<std::uint64_t, Object> known_;  // the objects that words of fibers reference
};

}  // namespace

std::vector<std::string> context_names(std::span<const std::string> fiber_names) {
  constexpr std::string_view kLoop = ":loop";
  std::vector<std::string> names;
  for (std::string_view name : fiber_names) {
    if (!name.ends_with(kLoop)) continue;
    name.remove_suffix(kLoop.size());
    const std::size_t number = name.find_last_not_of("0123456789");
    const bool is_numbered = number != std::string_view::npos && number + 1 < name.size() &&
                             name[number] == '-' && number > 0;
    names.emplace_back(is_numbered ? name.substr(0, number) : name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> contexts_of(std::span<const crystal::FiberStack> fibers,
                                     std::span<const std::string> fiber_names,
                                     std::uint64_t object_bytes,
                                     const MemoryReader& memory) {
  constexpr std::size_t kTried = 64;  // fibers, to find which word it is
  std::vector<std::string> found(fibers.size());
  std::vector<std::string> names = context_names(fiber_names);
  if (names.empty()) return found;
  Contexts contexts(std::move(names), memory);
  std::optional<std::uint64_t> word;
  for (std::size_t i = 0; i < std::min(kTried, fibers.size()) && !word; ++i) {
    for (std::uint64_t offset = kWordBytes; offset < object_bytes && !word; offset += kWordBytes) {
      if (!contexts.at(fibers[i], fiber_names[i], offset).empty()) word = offset;
    }
  }
  if (!word) return found;
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    found[i] = contexts.at(fibers[i], fiber_names[i], *word);
  }
  return found;
}

}  // namespace heapattach::stacks
