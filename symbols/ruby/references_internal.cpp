#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "symbols/ruby/references.h"

namespace heapattach::ruby {

namespace {

constexpr std::uint64_t kMostItems = 1U << 20;
constexpr std::uint64_t kMostStackWords = 1U << 25;
constexpr std::uint64_t kMostBufferBytes = 1U << 20;

// struct rb_classext_struct.
constexpr std::uint64_t kVariables = 8;
constexpr std::uint64_t kMethods = 16;
constexpr std::uint64_t kConstants = 24;
constexpr std::uint64_t kCallable = 32;
constexpr std::uint64_t kCaches = 40;

// The kinds of an imemo.
enum class Internal : std::uint8_t {
  Environment = 0,
  Scope = 1,
  Special = 2,
  Thrown = 3,
  Native = 4,
  Memo = 5,
  Method = 6,
  Code = 7,
  Buffer = 8,
  CallInfo = 11,
  CallCache = 12,
  Constant = 13,
};

// struct rb_iseq_constant_body.
constexpr std::uint64_t kLocals = 152;
constexpr std::uint64_t kLocalCount = 240;

}  // namespace

void ReferenceReader::module(const Slot& slot, List& into) {
  const bool is_included = slot.kind() == Kind::Iclass;
  add(slot.words[2], "superclass", into);
  const std::uint64_t own = slot.words[3];
  const auto extension =
      is_reference(own) ? values_.as<std::array<std::uint64_t, 6>>(own) : std::nullopt;
  if (!extension) return;
  const auto at = [&](std::uint64_t offset) { return (*extension)[offset / 8]; };
  if (is_included) {
    // An iclass has the methods and constants of its module. Only an origin has its own methods:
    // those that its class had before something was prepended.
    constexpr unsigned kIsOrigin = 5;
    constexpr unsigned kHasOwnMethods = 4;
    if (slot.has(kIsOrigin) || slot.has(kHasOwnMethods)) methods(at(kMethods), into);
    methods(at(kCallable), into);
    caches(at(kCaches), into);
    return;
  }
  methods(at(kMethods), into);
  caches(at(kCaches), into);
  for (const Values::Entry& entry : values_.entries(at(kVariables))) {
    add(entry.value, name_of(entry.key), into);
  }
  for (const Item& item : items(at(kConstants))) {
    const auto value = values_.word(item.value + 8);
    const auto file = values_.word(item.value + 16);
    if (value) add(*value, name_of_serial(item.serial), into);
    if (file) add(*file, "file", into);
  }
}

std::vector<ReferenceReader::Item> ReferenceReader::items(std::uint64_t table) const {
  struct Head {
    std::int32_t capacity, count, used, rest;
    std::uint64_t items;
  };
  struct Raw {
    std::uint32_t serial, collision;
    std::uint64_t value;
  };
  std::vector<Item> found;
  const auto head = is_reference(table) ? values_.as<Head>(table) : std::nullopt;
  if (!head || head->capacity <= 0 || head->count <= 0 || head->count > head->capacity ||
      static_cast<std::uint64_t>(head->capacity) > kMostItems || !is_reference(head->items)) {
    return found;
  }
  std::vector<Raw> all(static_cast<std::size_t>(head->capacity));
  if (!values_.memory().read(RemoteAddr{head->items}, std::as_writable_bytes(std::span(all)))) {
    return found;
  }
  for (const Raw& one : all) {
    if (one.serial != 0) found.push_back({one.serial, one.value});
  }
  return found;
}

void ReferenceReader::methods(std::uint64_t table, List& into) {
  for (const Item& item : items(table)) add(item.value, name_of_serial(item.serial), into);
}

// Adds call caches, by method: the method, and pairs of call and callee.
void ReferenceReader::caches(std::uint64_t table, List& into) {
  struct Calls {
    std::int32_t capacity, count;
    std::uint64_t method, entries;
  };
  for (const Item& item : items(table)) {
    const auto calls = values_.as<Calls>(item.value);
    if (!calls || calls->count < 0 || calls->count > 65536) continue;
    add(calls->method, "cache", into);
    for (std::int32_t i = 0; i < calls->count * 2; ++i) {
      const auto value = values_.word(calls->entries + static_cast<std::uint64_t>(i) * 8);
      if (value) add(*value, "cache", into);
    }
  }
}

Extent ReferenceReader::internal(Value at, const Slot& slot, List& into) {
  const auto& words = slot.words;
  const unsigned number = slot.flags() >> 12 & 0xf;
  // The kinds after these have other numbers since 3.2.
  constexpr unsigned kCommon = 8;
  constexpr unsigned kFields = 13;
  if (machine_.layout->values.is_wide && number > kCommon) {
    if (machine_.layout->values.has_fields && number == kFields) return shaped(at, slot, into);
    this->words(at + 8, bytes_behind(at, 8), "internal", into);
    return Extent::Words;
  }
  switch (static_cast<Internal>(number)) {
    case Internal::Environment: environment(slot, into); return Extent::Whole;
    case Internal::Scope:
      add(words[2], "class", into);
      add(words[3], "next", into);
      add(words[1], "refinements", into);
      return Extent::Whole;
    case Internal::Special:
      for (std::size_t i = 1; i < words.size(); ++i) add(words[i], "special", into);
      return Extent::Whole;
    case Internal::Thrown: add(words[2], "thrown", into); return Extent::Whole;
    case Internal::Native:
      if (is_object_(words[3])) add(words[3], "data", into);
      return Extent::Whole;
    case Internal::Memo:
      add(words[2], "first", into);
      add(words[3], "second", into);
      if (is_object_(words[4])) add(words[4], "third", into);
      return Extent::Whole;
    case Internal::Method: method(slot, into); return Extent::Whole;
    case Internal::Code: code(slot, into); return Extent::Words;
    case Internal::Buffer: {
      constexpr int kMostBuffers = 64;
      std::optional<std::array<std::uint64_t, 5>> buffer = words;
      for (int i = 0; buffer && i < kMostBuffers; ++i) {
        this->words((*buffer)[2], std::min((*buffer)[4] * 8, kMostBufferBytes), "buffer", into);
        const std::uint64_t next = (*buffer)[3];
        buffer = is_reference(next) ? values_.as<std::array<std::uint64_t, 5>>(next) : std::nullopt;
      }
      return Extent::Whole;
    }
    case Internal::CallInfo: return Extent::Whole;
    case Internal::CallCache: add(words[2], "method", into); return Extent::Whole;
    case Internal::Constant: add(words[1], "value", into); return Extent::Whole;
  }
  words_of_block(at, into);
  return Extent::Words;
}

// Adds the local variables of code that is running or has created a block.
void ReferenceReader::environment(const Slot& slot, List& into) {
  const std::uint64_t code = slot.words[1];
  const std::uint64_t variables = slot.words[2];  // just after the local variables
  const std::uint64_t from = slot.words[3];
  const std::uint64_t count = slot.words[4] & 0xffffffff;
  if (!is_reference(variables) || count > 65536) return;
  std::uint64_t names = 0;
  std::uint64_t named = 0;
  if (const auto iseq = values_.slot(code)) {
    constexpr std::uint64_t kSpecial = 3;  // values of an environment that are not variables
    const bool is_wide = machine_.layout->values.is_wide;
    const std::uint64_t behind_lines = machine_.layout->code.line_index + 8U;
    names = values_.word(iseq->words[2] + (is_wide ? behind_lines : kLocals)).value_or(0);
    named = is_wide ? count - std::min(count, kSpecial)
                    : values_.as<std::uint32_t>(iseq->words[2] + kLocalCount).value_or(0);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = values_.word(from + i * 8);
    if (!value) continue;
    const auto id = i < named && names != 0 ? values_.word(names + i * 8) : std::nullopt;
    const std::string_view name = id ? name_of(*id) : "environment";
    add(*value, name, into);
  }
  // The enclosing environment, unless this is a method's own.
  constexpr std::uint64_t kIsLocal = 2;
  const auto flags = values_.word(variables);
  if (flags && (*flags & kIsLocal) == 0) {
    const auto before = values_.word(variables - 8);
    const auto outer = before ? values_.word((*before & ~std::uint64_t{3}) + 8) : std::nullopt;
    if (outer) add(*outer, "outer", into);
  }
  add(code, "code", into);
}

void ReferenceReader::method(const Slot& slot, List& into) {
  add(slot.words[4], "owner", into);
  add(slot.words[1], "class", into);
  const auto definition = is_reference(slot.words[2])
                              ? values_.as<std::array<std::uint64_t, 4>>(slot.words[2])
                              : std::nullopt;
  if (!definition) return;
  const auto first = (*definition)[1];
  const auto second = (*definition)[2];
  switch ((*definition)[0] & 0xf) {
    case 0:  // Ruby code
      add(first, "code", into);
      add(second, "scope", into);
      break;
    case 2:
    case 3: add(second, "location", into); break;  // attr_writer, attr_reader
    case 4: add(first, "proc", into); break;       // define_method
    case 6: add(first, "original", into); break;   // an alias
    case 11:                                       // refined
      add(first, "original", into);
      add(second, "owner", into);
      break;
    default: break;
  }
}

// Adds the references of code's instructions and caches, and the words of its structure that look
// like objects.
void ReferenceReader::code(const Slot& slot, List& into) {
  const std::uint64_t body = slot.words[2];
  add(slot.words[1], "wrapper", into);
  if (!is_reference(body)) return;
  constexpr std::uint64_t kLeastBytes = 280;
  words(body, std::max(kLeastBytes, allocated_bytes(values_, body)), "code", into);
  const auto instructions = values_.as<std::uint32_t>(body + machine_.layout->code.size);
  const auto begin = values_.word(body + machine_.layout->code.code);
  if (instructions && begin) {
    words(*begin, std::min<std::uint64_t>(*instructions, 65536) * 8, "literal", into);
  }
  if (machine_.layout->values.is_wide) {
    blocks_of(body, 280, "cache", into);
    return;
  }
  for (const std::uint64_t pointer : {160U, 184U, 192U, 56U}) {
    const auto block = values_.word(body + pointer);
    if (block) words(*block, allocated_bytes(values_, *block), "cache", into);
  }
}

void ReferenceReader::stack_of(std::uint64_t context, List& into) {
  const auto& form = machine_.layout->context;
  const auto begin = values_.word(context + form.stack);
  const auto count = values_.word(context + form.stack_words);
  if (begin && count && *count <= kMostStackWords) words(*begin, *count * 8, "stack", into);
  // The table of Thread.current[:name] follows the thread in the context, in every known release.
  for (const Item& item : items(values_.word(context + form.thread + 8).value_or(0))) {
    add(item.value, keep(fmt::format("[:{}]", name_of_serial(item.serial))), into);
  }
}

Extent ReferenceReader::data(Value at, const Slot& slot, List& into) {
  const std::uint64_t type = slot.data_type(values_.form());
  const std::uint64_t structure = slot.data(at, values_.form());
  // A Data without a type has a function for marking, whose place is known only in releases before
  // 4.0.
  const std::uint64_t own_mark = values_.form().has_fields ? 1 : slot.words[2];
  const auto mark = type != 0 ? values_.word(type + 8) : std::optional(own_mark);
  if (structure == 0 || mark == 0) return Extent::Whole;
  const auto name_at = type != 0 ? values_.word(type) : std::nullopt;
  const std::string name = name_at ? values_.c_text(*name_at).value_or("") : "";
  const auto& form = *machine_.layout;
  if (name == "proc") {
    const auto block = values_.as<std::array<std::uint64_t, 4>>(structure);
    if (!block) return Extent::Words;
    const auto kind = (*block)[3] & 0xffffffff;
    add((*block)[0], kind < 2 ? "self" : "proc", into);
    if (kind < 2) {
      add((*block)[2], "code", into);
      const auto variables = values_.word((*block)[1] + 8);
      if (variables && is_object_(*variables)) add(*variables, "environment", into);
    }
    return Extent::Whole;
  }
  if (machine_.layout->values.has_fields) add(slot.words[2], "fields", into);
  const bool is_in_slot = structure == at + 32;
  if (is_in_slot) {
    words(structure, bytes_behind(at, 32), "structure", into);
    blocks_of(structure, bytes_behind(at, 32), "structure", into);
  } else {
    words_of_block(structure, into);
    if (machine_.layout->values.is_wide) {
      blocks_of(structure, allocated_bytes(values_, structure), "structure", into);
    }
  }
  if (name == "VM/thread") {
    if (const auto context = values_.word(structure + form.thread.context)) {
      stack_of(*context, into);
    }
  } else if (name == "fiber") {
    stack_of(structure + form.fiber.context, into);
  }
  return Extent::Words;
}

void ReferenceReader::file(const Slot& slot, List& into) {
  const std::uint64_t file = slot.words[2];
  if (!is_reference(file)) return;
  for (const auto& [offset, name] :
       {std::pair(0, "self"), std::pair(32, "path"), std::pair(88, "tied"),
        std::pair(120, "options"), std::pair(168, "encoding"), std::pair(184, "options"),
        std::pair(192, "lock")}) {
    const auto value = values_.word(file + static_cast<std::uint64_t>(offset));
    if (value) add(*value, name, into);
  }
}

}  // namespace heapattach::ruby
