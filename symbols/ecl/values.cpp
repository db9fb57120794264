#include "symbols/ecl/values.h"

#include "symbols/ecl/types.h"

namespace heapattach::ecl {

namespace {

constexpr std::uint64_t kMostCharacters = 256;
constexpr std::uint64_t kSymbolName = 32;    // the offset of a symbol's name
constexpr std::uint64_t kStringLength = 24;  // the offset of a string's length
constexpr std::uint64_t kStringText = 32;    // the offset of the address of a string's text
constexpr std::uint64_t kNotBound = 4;       // a constant that is not an address

std::optional<std::uint8_t> type_at(const runtimes::HeapView& view, std::uint64_t at) {
  if (at == 0 || at % 4 != 0) return std::nullopt;
  const auto word = view.word(at);
  if (!word) return std::nullopt;
  return static_cast<std::uint8_t>(*word);
}

}  // namespace

bool is_value(const runtimes::HeapView& view, std::uint64_t word) {
  switch (word & 3) {
    case 3: return true;
    case 2: return word >> 2 <= 0x10ffff;
    case 1: return word == kNil || (cons_of(word) != 0 && view.may_refer_to(cons_of(word)));
    default: return word == 0 || word == kNotBound || view.may_refer_to(word);
  }
}

std::uint64_t cons_of(std::uint64_t value) {
  return value > kNil && value % 8 == 1 ? value - 1 : 0;
}

std::string symbol_name(const Facts& facts, const runtimes::HeapView& view, std::uint64_t value) {
  if (type_at(view, value) != facts.symbol + kSymbol) return {};
  const std::uint64_t name = view.word(value + kSymbolName).value_or(0);
  const auto type = type_at(view, name);
  const bool is_wide = type == facts.symbol + kString;
  if (!is_wide && type != facts.symbol + kBaseString) return {};
  const std::uint64_t length = view.word(name + kStringLength).value_or(0);
  if (length > kMostCharacters) return {};
  const std::uint64_t width = is_wide ? 4 : 1;
  return view.text(view.word(name + kStringText).value_or(0), length, width);
}

std::vector<std::uint64_t> list_of(const runtimes::HeapView& view,
                                   std::uint64_t value,
                                   std::uint64_t count) {
  std::vector<std::uint64_t> found;
  while (value != kNil) {
    const std::uint64_t cons = cons_of(value);
    const auto head = cons != 0 ? view.word(cons) : std::nullopt;
    const auto rest = cons != 0 ? view.word(cons + 8) : std::nullopt;
    if (!head || !rest || found.size() == count) return {};
    found.push_back(*head);
    value = *rest;
  }
  if (found.size() != count) found.clear();
  return found;
}

}  // namespace heapattach::ecl
