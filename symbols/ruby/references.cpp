#include "symbols/ruby/references.h"

#include <algorithm>
#include <array>
#include <span>

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostBlockBytes = 1U << 20;

// FL_EXIVAR: the object has variables in a table of the interpreter.
constexpr std::uint64_t kHasGeneric = 1U << 10;
constexpr std::uint32_t kMostGeneric = 65536;

// struct rb_classext_struct.
constexpr std::uint64_t kVariableIndexes = 0;
constexpr std::uint64_t kVariables = 8;
}  // namespace

std::uint64_t allocated_bytes(const Values& values, std::uint64_t at) {
  constexpr std::uint64_t kFlags = 7;
  if (!is_reference(at) || at % 16 != 0) return 0;
  const std::uint64_t bytes = values.word(at - 8).value_or(0) & ~kFlags;
  return bytes >= 32 && bytes % 16 == 0 && bytes <= kMostBlockBytes ? bytes - 8 : 0;
}

ReferenceReader::ReferenceReader(const Machine& machine,
                                 const Values& values,
                                 std::function<bool(Value)> is_object)
    : machine_(machine),
      values_(values),
      is_object_(std::move(is_object)),
      names_(machine, values) {}

std::string_view ReferenceReader::keep(std::string text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return known->second;
  std::string key = text;
  return texts_.emplace(std::move(key), std::move(text)).first->second;
}

std::string_view ReferenceReader::name_of_serial(std::uint64_t serial) {
  const auto [at, is_new] = serials_.try_emplace(serial);
  if (is_new) at->second = keep(names_.name_of_serial(serial).value_or("?"));
  return at->second;
}

std::string_view ReferenceReader::name_of(Id id) {
  return name_of_serial(id > machine_.layout->last_operator ? id >> 4 : id);
}

Extent ReferenceReader::read(Value at, const Slot& slot, List& into) {
  into.clear();
  has_failed_ = false;
  const auto& words = slot.words;
  Extent extent = Extent::Whole;
  const bool is_wide = machine_.layout->values.is_wide;
  switch (slot.kind()) {
    case Kind::Object:
      if (is_wide) {
        extent = shaped(at, slot, into);
      } else {
        object(at, slot, into);
      }
      break;
    case Kind::Class:
    case Kind::Module:
    case Kind::Iclass:
      if (is_wide) {
        wide_module(at, slot, into);
      } else {
        module(slot, into);
      }
      break;
    case Kind::Array: array(at, slot, into); break;
    case Kind::Hash: hash(at, slot, into); break;
    case Kind::Struct: structure(at, slot, into); break;
    case Kind::String:
      if (slot.has(1) && slot.has(machine_.layout->values.shared)) add(words[4], "shared", into);
      break;
    case Kind::Regexp: add(words[3], "source", into); break;
    case Kind::Match:
      // Until 3.2 the address of the match comes before the expression. Since 3.3 the match itself
      // is in the slot, after the expression.
      add(is_object_(words[4]) ? words[4] : words[3], "regexp", into);
      add(words[2], "string", into);
      break;
    case Kind::Rational:
      add(words[2], "numerator", into);
      add(words[3], "denominator", into);
      break;
    case Kind::Complex:
      add(words[2], "real", into);
      add(words[3], "imaginary", into);
      break;
    case Kind::File: file(slot, into); break;
    case Kind::Imemo: extent = internal(at, slot, into); break;
    case Kind::Data: extent = data(at, slot, into); break;
    case Kind::None:
    case Kind::Float:
    case Kind::Bignum:
    case Kind::Symbol: break;
    case Kind::Node:
    case Kind::Zombie:
    case Kind::Moved: extent = Extent::Words; break;
  }
  const bool may_have = slot.kind() != Kind::Imemo && slot.kind() != Kind::Object;
  if (may_have && (slot.flags() & kHasGeneric) != 0) {
    generic(at, slot, into);
    if (generic_.empty()) extent = Extent::Words;
  }
  return has_failed_ ? Extent::Words : extent;
}

const std::vector<std::string_view>& ReferenceReader::variables_of(Value of_class) {
  const auto [at, is_new] = variables_.try_emplace(of_class);
  if (!is_new) return at->second;
  for (int i = 0; i < 64; ++i) {
    const auto slot = values_.slot(of_class);
    if (!slot || slot->kind() == Kind::Module) return at->second;
    if (slot->kind() == Kind::Class &&
        !slot->is_singleton_class(machine_.layout->of_class.singleton)) {
      const auto table = values_.word(slot->words[3] + kVariableIndexes);
      // The indexes of a class's variables have hardly any gaps.
      constexpr std::size_t kMostGaps = 64;
      const std::vector<Values::Entry> entries = values_.entries(table.value_or(0));
      std::vector<std::string_view>& names = at->second;
      names.resize(entries.size() + kMostGaps);
      for (const Values::Entry& entry : entries) {
        const auto index = values_.as<std::uint32_t>(entry.value);
        if (index && *index < names.size()) names[*index] = name_of(entry.key);
      }
      return at->second;
    }
    of_class = slot->words[2];
  }
  return at->second;
}

void ReferenceReader::object(Value at, const Slot& slot, List& into) {
  const bool is_in_slot = slot.has(1);
  const std::uint64_t count = is_in_slot ? 3 : slot.words[2] & 0xffffffff;
  const std::uint64_t from = is_in_slot ? at + 16 : slot.words[3];
  if (!take(count)) return fail();
  const auto& names = variables_of(slot.of_class());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = is_in_slot ? std::optional(slot.words[2 + i]) : values_.word(from + i * 8);
    if (!value) return fail();
    add(*value, i < names.size() && !names[i].empty() ? names[i] : "@?", into);
  }
}

const std::vector<std::string_view>& ReferenceReader::members_of(Value of_class) {
  const auto [at, is_new] = members_.try_emplace(of_class);
  if (!is_new) return at->second;
  for (int i = 0; i < 64; ++i) {
    const auto slot = values_.slot(of_class);
    if (!slot || slot->kind() != Kind::Class) break;
    for (const Reference& one : variables_of_module(of_class, *slot)) {
      if (one.name != "__members__") continue;
      const auto all = values_.elements(one.to);
      for (std::uint64_t m = 0; all && m < std::min<std::uint64_t>(all->count, 4096); ++m) {
        const Value symbol = values_.element(one.to, m).value_or(0);
        members_[of_class].push_back((symbol & 0xff) == 0x0c ? name_of(symbol >> 8) : "");
      }
      if (auto& found = members_[of_class]; !found.empty()) {
        auto names = found;
        return members_.insert_or_assign(of_class, std::move(names)).first->second;
      }
    }
    of_class = values_.word(of_class + machine_.layout->of_class.superclass).value_or(0);
  }
  return members_[of_class];
}

std::vector<Reference> ReferenceReader::variables_of_module(Value at, const Slot& slot) {
  List found;
  if (machine_.layout->values.is_wide) {
    wide_module(at, slot, found);
    return found;
  }
  const auto table = values_.word(slot.words[3] + kVariables);
  for (const Values::Entry& entry : values_.entries(table.value_or(0))) {
    found.push_back({entry.value, name_of(entry.key)});
  }
  return found;
}

void ReferenceReader::structure(Value at, const Slot& slot, List& into) {
  const std::uint64_t in_slot = slot.flags() >> 13 & machine_.layout->values.struct_length;
  const std::uint64_t count = in_slot != 0 ? in_slot : slot.words[2];
  const std::uint64_t from = in_slot != 0 ? at + 16 : slot.words[3];
  if (!take(count)) return fail();
  const auto& names = members_of(slot.of_class());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = values_.word(from + i * 8);
    if (!value) return fail();
    add(*value, i < names.size() && !names[i].empty() ? names[i] : "member", into);
  }
}

void ReferenceReader::array(Value at, const Slot& slot, List& into) {
  if (!slot.has(1) && slot.has(machine_.layout->values.shared)) {
    add(slot.words[3], "shared", into);
    return;
  }
  const auto all = values_.elements(at);
  if (!all || !take(all->count)) return fail();
  if (all->count == 0) return;
  // A wrong count must not cost memory.
  if (!values_.word(all->at + (all->count - 1) * 8)) return fail();
  std::vector<Value> elements(all->count);
  if (!values_.memory().read(RemoteAddr{all->at}, std::as_writable_bytes(std::span(elements)))) {
    return fail();
  }
  into.reserve(elements.size());
  for (const Value element : elements) into.push_back({element, {}});
}

std::optional<std::vector<Values::Entry>> ReferenceReader::limited_table(std::uint64_t at) {
  const auto words = values_.words_of_table(at);
  if (!words || !take(*words)) return std::nullopt;
  return values_.table(at);
}

void ReferenceReader::hash(Value at, const Slot& slot, List& into) {
  constexpr unsigned kHasTable = 3;
  constexpr std::uint64_t kTableInSlot = 24;
  constexpr std::uint64_t kHints = 8;  // before the pairs in a slot
  const bool in_slot = machine_.layout->values.hash_in_slot;
  const bool has_hints = machine_.layout->values.is_wide;
  const std::uint64_t pairs =
      (in_slot ? at + kTableInSlot : slot.words[2]) + (has_hints ? kHints : 0);
  if (slot.has(kHasTable)) {
    const auto table = limited_table(in_slot ? at + kTableInSlot : slot.words[2]);
    if (!table) return fail();
    for (const Values::Entry& entry : *table) {
      add(entry.key, "key", into);
      add(entry.value, "value", into);
    }
  } else if (in_slot || slot.words[2] != 0) {
    const std::uint64_t bound = slot.flags() >> 20 & 0xf;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(bound, 8); ++i) {
      const Value undefined = has_hints ? 0x24 : 0x34;
      const auto key = values_.word(pairs + i * 16);
      const auto value = values_.word(pairs + i * 16 + 8);
      if (!key || !value || *key == undefined) continue;
      add(*key, "key", into);
      add(*value, "value", into);
    }
  }
  add(slot.words[in_slot ? 2 : 3], "default", into);
}

void ReferenceReader::words(std::uint64_t from,
                            std::uint64_t bytes,
                            std::string_view name,
                            List& into) {
  if (!is_reference(from) || bytes == 0) return;
  std::vector<std::uint64_t> all(bytes / 8);
  const auto got =
      values_.memory().read_some(RemoteAddr{from}, std::as_writable_bytes(std::span(all)));
  if (!got) return;
  all.resize(*got / 8);
  for (const std::uint64_t word : all) {
    if (is_object_(word)) into.push_back({word, name});
  }
}

void ReferenceReader::words_of_block(std::uint64_t at, List& into) {
  words(at, allocated_bytes(values_, at), "structure", into);
}

void ReferenceReader::find_generic_variables(const std::vector<std::uint64_t>& tables,
                                             const std::vector<Value>& owners) {
  if (owners.empty()) return;
  for (const std::uint64_t table : tables) {
    const auto entries = values_.entries(table);
    if (entries.size() < owners.size()) continue;
    std::unordered_map<Value, std::uint64_t> found;
    for (const Values::Entry& entry : entries) found.emplace(entry.key, entry.value);
    const bool has_all = std::all_of(owners.begin(), owners.end(),
                                     [&](Value owner) { return found.contains(owner); });
    if (!has_all) continue;
    generic_ = std::move(found);
    return;
  }
}

void ReferenceReader::generic(Value at, const Slot& slot, List& into) {
  const auto found = generic_.find(at);
  if (found == generic_.end()) return;
  if (is_object_(found->second)) {
    add(found->second, "fields", into);
    return;
  }
  const auto count = values_.as<std::uint32_t>(found->second);
  if (!count || *count > kMostGeneric || !take(*count)) return fail();
  if (machine_.layout->values.is_wide) {
    variables(slot, found->second + 8, std::uint64_t{*count} * 8, into);
    return;
  }
  const auto& names = variables_of(slot.of_class());
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto value = values_.word(found->second + 8 + i * 8);
    if (!value) return fail();
    add(*value, i < names.size() && !names[i].empty() ? names[i] : "@?", into);
  }
}

std::vector<Reference> ReferenceReader::globals(std::uint64_t table) {
  std::vector<Reference> found;
  const auto all = items(table);
  for (const Item& item : all) {
    const std::string_view name = name_of_serial(item.serial);
    if (!name.starts_with('$')) return {};
    const auto variable = values_.word(item.value);
    const auto value = variable ? values_.word(*variable + 8) : std::nullopt;
    if (!value) continue;
    // A variable of C code contains a value, or the address of one.
    if (is_object_(*value)) {
      found.push_back({*value, name});
    } else if (const auto there = values_.word(*value); there && is_object_(*there)) {
      found.push_back({*there, name});
    }
  }
  return found;
}

}  // namespace heapattach::ruby
