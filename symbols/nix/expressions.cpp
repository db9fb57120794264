#include "symbols/nix/expressions.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "symbols/text/utf8.h"

namespace heapattach::nix {

namespace {

constexpr std::uint64_t kLambdaName = 24;
constexpr std::uint64_t kMostPart = 256;  // the most bytes that a view reads at once
constexpr std::uint32_t kOrigins = 3;     // 0: a file, 1: stdin, 2: a string

bool is_showable(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (!step.is_valid || is_unsafe_to_show(step.code)) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

}  // namespace

const ExpressionClass* ExpressionReader::class_of(std::uint64_t at) const {
  if (at == 0 || at % 8 != 0) return nullptr;
  const auto found = facts_.classes.find(word(at));
  return found != facts_.classes.end() ? found->second : nullptr;
}

std::string ExpressionReader::read_text(std::uint64_t at) const {
  if (at == 0 || at % 8 != 0) return {};
  const std::uint64_t text = word(at);
  const std::uint64_t bytes = word(at + 8);
  if (text == 0 || bytes == 0 || bytes > kMaxNameBytes) return {};
  std::string found;
  while (found.size() < bytes) {
    const auto part = view_.bytes(text + found.size(), std::min(bytes - found.size(), kMostPart));
    if (part.empty()) return {};
    for (const std::byte one : part) found += static_cast<char>(one);
  }
  return is_showable(found) ? found : std::string();
}

const std::string& ExpressionReader::symbol(std::uint64_t at) {
  const auto [known, is_new] = symbols_.try_emplace(at);
  if (is_new) known->second = read_text(at);
  return known->second;
}

std::string ExpressionReader::read_place(std::uint64_t position) {
  if (position == 0 || position % 8 != 0 || position == facts_.no_position) return {};
  const std::uint64_t rest = word(position + 8);
  const auto line = static_cast<std::uint32_t>(rest);
  const auto origin = static_cast<std::uint32_t>(rest >> 32 & 3);
  if (line == 0 || origin >= kOrigins) return {};
  if (origin == 1) return fmt::format(" at (stdin):{}", line);
  if (origin == 2) return fmt::format(" at (string):{}", line);
  const std::string& file = symbol(word(position));
  return file.empty() ? std::string() : fmt::format(" at {}:{}", file, line);
}

const std::string& ExpressionReader::place(std::uint64_t position) {
  const auto [known, is_new] = places_.try_emplace(position);
  if (is_new) known->second = read_place(position);
  return known->second;
}

bool ExpressionReader::has_names(std::uint64_t position) const {
  constexpr std::uint64_t kPosition = 16;
  constexpr std::uint64_t kComputedNames = 80;  // the offset of a vector
  const std::uint64_t at = position - kPosition;
  const ExpressionClass* const found = class_of(at);
  return found != nullptr && found->is_set &&
         word(at + kComputedNames) == word(at + kComputedNames + 8);
}

std::string ExpressionReader::place_of(std::uint64_t at, int depth) {
  constexpr int kDeepest = 32;
  const ExpressionClass* const found = class_of(at);
  if (found == nullptr || depth > kDeepest) return {};
  using Place = ExpressionClass::Place;
  switch (found->place) {
    case Place::None: return {};
    case Place::Own: return place(at + found->offset);
    case Place::Part: return place_of(word(at + found->offset), depth + 1);
    case Place::Parts: {
      const std::uint64_t first = word(at + found->offset);
      const bool has_any = first != 0 && first < word(at + found->offset + 8);
      return has_any ? place_of(word(first), depth + 1) : std::string();
    }
  }
  return {};
}

const Expression* ExpressionReader::at(std::uint64_t at) {
  const auto [known, is_new] = expressions_.try_emplace(at);
  if (is_new) {
    if (const ExpressionClass* const found = class_of(at)) {
      known->second =
          Expression{.name = {}, .place = place_of(at, 0), .is_lambda = found->is_lambda};
      if (found->is_lambda) known->second->name = symbol(word(at + kLambdaName));
    }
  }
  return known->second ? &*known->second : nullptr;
}

}  // namespace heapattach::nix
