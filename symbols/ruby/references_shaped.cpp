#include <algorithm>
#include <array>

#include "symbols/ruby/references.h"

// Objects of 3.2 and later. Their classes have no list of their variables; each object has a shape,
// which has their names. The offsets of a class's tables differ between releases, so each of its
// words is tried.
namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kVariablesAt = 16;  // of an object in its slot
constexpr unsigned kFields = 13;            // the kind of imemo that has the variables of another

bool is_fields(const Slot& slot) {
  return slot.kind() == Kind::Imemo && (slot.flags() >> 12 & 0xf) == kFields;
}

}  // namespace

// Adds the variables of `owner`, which are the words of this range. If their names are not known,
// adds all words that are objects.
Extent ReferenceReader::variables(const Slot& owner,
                                  std::uint64_t from,
                                  std::uint64_t bytes,
                                  List& into) {
  const auto* const names = shapes_.fields_of(owner);
  if (names == nullptr) {
    words(from, std::min(bytes, kMostVariableBytes), "@?", into);
    return Extent::Words;
  }
  for (std::size_t i = 0; i < names->size() && i * 8 < bytes; ++i) {
    const auto value = values_.word(from + i * 8);
    if (!value) {
      fail();
      break;
    }
    add(*value, (*names)[i] == 0 ? "@?" : name_of((*names)[i]), into);
  }
  return Extent::Whole;
}

Extent ReferenceReader::shaped(Value at, const Slot& slot, List& into) {
  const std::uint64_t first = slot.words[2];
  const bool is_object = is_object_(first);
  const auto other = is_object ? values_.slot(first) : std::nullopt;
  if (slot.kind() == Kind::Object && other && is_fields(*other)) {
    add(first, "fields", into);
    return Extent::Whole;
  }
  constexpr unsigned kIsInSlot = 1;  // until 3.4
  const bool has_flag = !machine_.layout->values.has_fields;
  const bool is_in_slot = has_flag ? slot.has(kIsInSlot) : is_object || !is_reference(first);
  if (shapes_.is_complex(slot)) {
    const auto table = limited_table(first);
    if (!table) return Extent::Words;
    for (const Values::Entry& entry : *table) add(entry.value, name_of(entry.key), into);
    return Extent::Whole;
  }
  if (is_in_slot) {
    return variables(slot, at + kVariablesAt, bytes_behind(at, kVariablesAt), into);
  }
  return variables(slot, first, kMostVariableBytes, into);
}

// Adds the variables in an object for them as if they were their owner's own.
void ReferenceReader::fields(Value object, List& into) {
  if (const auto slot = values_.slot(object)) static_cast<void>(shaped(object, *slot, into));
}

// Adds what a table of names references, if it is one of methods or constants.
bool ReferenceReader::named_table(std::uint64_t table, List& into) {
  const auto all = items(table);
  if (all.empty()) return false;
  for (const Item& item : all) {
    if (is_object_(item.value)) {
      add(item.value, name_of_serial(item.serial), into);
      continue;
    }
    // A constant, with its value and its file; or a cache.
    const auto constant = is_reference(item.value)
                              ? values_.as<std::array<std::uint64_t, 3>>(item.value)
                              : std::nullopt;
    if (!constant) return false;
    const bool is_value = is_object_((*constant)[1]);
    if (is_value) add((*constant)[1], name_of_serial(item.serial), into);
    if (is_object_((*constant)[2])) {
      add((*constant)[2], is_value ? "file" : "cache", into);
    } else {
      words((*constant)[2], allocated_bytes(values_, (*constant)[2]), "cache", into);
    }
    if (is_object_((*constant)[0])) add((*constant)[0], "cache", into);
  }
  return true;
}

void ReferenceReader::wide_module(Value at, const Slot& slot, List& into) {
  constexpr std::uint64_t kHead = 16;
  constexpr std::uint64_t kVariablesIn = 32;  // until 3.4: after what every class has
  const bool has_buffer = !machine_.layout->values.has_fields && slot.kind() != Kind::Iclass;
  const auto words = values_.words_in({RemoteAddr{at + kHead}, bytes_behind(at, kHead)});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t offset = kHead + i * 8;
    if (!is_reference(words[i])) continue;
    if (is_object_(words[i])) {
      part_of_module(words[i], offset, into);
    } else if (!named_table(words[i], into) && has_buffer && offset == kVariablesIn) {
      buffer_of_module(slot, words[i], into);
    }
  }
}

void ReferenceReader::part_of_module(Value part, std::uint64_t offset, List& into) {
  const auto slot = values_.slot(part);
  if (slot && is_fields(*slot) && machine_.layout->values.has_fields) {
    fields(part, into);
  } else {
    const bool is_superclass = offset == machine_.layout->of_class.superclass;
    add(part, is_superclass ? "superclass" : "class part", into);
  }
}

// Adds the variables of a class whose buffer is at `buffer`.
void ReferenceReader::buffer_of_module(const Slot& slot, std::uint64_t buffer, List& into) {
  if (!shapes_.is_complex(slot)) {
    static_cast<void>(variables(slot, buffer, kMostVariableBytes, into));
    return;
  }
  for (const Values::Entry& entry : values_.entries(buffer)) {
    add(entry.value, name_of(entry.key), into);
  }
}

// Adds the words of the blocks whose addresses are in this range.
void ReferenceReader::blocks_of(std::uint64_t from,
                                std::uint64_t bytes,
                                std::string_view name,
                                List& into) {
  constexpr std::uint64_t kMostBytes = 4096;
  if (!is_reference(from)) return;
  for (const std::uint64_t word :
       values_.words_in({RemoteAddr{from}, std::min(bytes, kMostBytes)})) {
    if (is_reference(word) && !is_object_(word)) {
      words(word, allocated_bytes(values_, word), name, into);
    }
  }
}

}  // namespace heapattach::ruby
