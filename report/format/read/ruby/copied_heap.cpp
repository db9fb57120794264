#include "report/format/read/ruby/copied_heap.h"

#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/format/read/ruby/names.h"

namespace heapattach::ruby {

namespace {

using snapshot::Snapshot;
using snapshot::TypedBy;
using snapshot::TypeIndex;

constexpr std::uint64_t kMostObjects = 0xffffffff;

// As a dump names them.
constexpr std::array<std::string_view, 16> kInternalKinds{
    "env",    "cref", "svar",           "throw_data", "ifunc",     "memo",       "ment", "iseq",
    "tmpbuf", "ast",  "parser_strterm", "callinfo",   "callcache", "constcache", "14",   "15"};

std::string_view dump_word(Kind kind) {
  switch (kind) {
    case Kind::Object: return "OBJECT";
    case Kind::Class: return "CLASS";
    case Kind::Module: return "MODULE";
    case Kind::Float: return "FLOAT";
    case Kind::String: return "STRING";
    case Kind::Regexp: return "REGEXP";
    case Kind::Array: return "ARRAY";
    case Kind::Hash: return "HASH";
    case Kind::Struct: return "STRUCT";
    case Kind::Bignum: return "BIGNUM";
    case Kind::File: return "FILE";
    case Kind::Data: return "DATA";
    case Kind::Match: return "MATCH";
    case Kind::Complex: return "COMPLEX";
    case Kind::Rational: return "RATIONAL";
    case Kind::Symbol: return "SYMBOL";
    case Kind::None:
    case Kind::Imemo:
    case Kind::Node:
    case Kind::Iclass:
    case Kind::Zombie:
    case Kind::Moved: break;
  }
  return "NONE";
}

struct TypeName {
  std::string text;
  bool is_known = true;
};

TypeName name_of(const HeapCopy& heap, const Slot& slot) {
  switch (slot.kind()) {
    case Kind::Imemo: return {fmt::format("imemo({})", kInternalKinds[slot.flags() >> 12 & 0xf])};
    case Kind::Node: return {"node"};
    case Kind::Iclass: return {"iclass"};
    case Kind::Zombie: return {"zombie"};
    case Kind::Moved: return {"moved"};
    default: break;
  }
  const std::string kind = kind_in_words(dump_word(slot.kind()));
  if (slot.of_class() == 0) {
    const std::string of_data =
        slot.kind() == Kind::Data ? heap.data_name(slot.data_type()) : std::string();
    return {fmt::format("internal({})", of_data.empty() ? kind : of_data)};
  }
  const auto name = heap.class_name(slot.of_class());
  if (!name) return {fmt::format("({} of class {:#x})", kind, slot.of_class()), false};
  return {slot.is_singleton_class() ? *name + " (singleton)" : *name};
}

// What decides a type: the class, and what name_of() looks at besides.
std::uint64_t key_of(const Slot& slot) {
  const Kind kind = slot.kind();
  const bool is_internal = kind == Kind::Imemo;
  const std::uint64_t detail = is_internal ? slot.flags() >> 12 & 0xf : slot.is_singleton_class();
  const bool has_class = !is_internal && kind != Kind::Iclass && kind != Kind::Node &&
                         kind != Kind::Zombie && kind != Kind::Moved;
  std::uint64_t of_class = has_class ? slot.of_class() : 0;
  if (has_class && of_class == 0 && kind == Kind::Data) of_class = slot.data_type();
  return of_class << 16 | static_cast<std::uint64_t>(kind) << 8 | detail;
}

class Adder {
 public:
  Adder(const HeapCopy& heap, Snapshot& snapshot) : heap_(heap), snapshot_(snapshot) {}

  Result<void> add() {
    std::uint64_t count = 0;
    heap_.for_each([&](const HeapCopy::Object&) { ++count; });
    if (count > kMostObjects) {
      return Error{ErrorKind::Unsupported, "more than four billion objects"};
    }
    snapshot_.objects.reserve(count);
    heap_.for_each([&](const HeapCopy::Object& object) { add(object); });
    return {};
  }

 private:
  void add(const HeapCopy::Object& object) {
    snapshot::Object added{};
    added.address = object.address & ((std::uint64_t{1} << 48) - 1);
    added.is_reachable = 1;
    added.type = type_of(object.slot);
    const auto [size, is_new] =
        sizes_.try_emplace(object.bytes, static_cast<std::uint32_t>(snapshot_.sizes.size()));
    if (is_new) snapshot_.sizes.push_back(object.bytes);
    added.size_class = size->second;
    snapshot_.objects.push_back(added);
  }

  TypeIndex type_of(const Slot& slot) {
    const auto [at, is_new] = types_.try_emplace(key_of(slot));
    if (!is_new) return at->second;
    TypeName name = name_of(heap_, slot);
    const auto [named, is_first] =
        by_name_.try_emplace(name.text, static_cast<TypeIndex>(snapshot_.types.size()));
    if (is_first) {
      snapshot::Type& type = snapshot_.types.emplace_back();
      type.name = std::move(name.text);
      type.typed_by = name.is_known ? TypedBy::Header : TypedBy::Nothing;
      if (name.is_known) type.known_from = {"header"};
    }
    at->second = named->second;
    return at->second;
  }

  const HeapCopy& heap_;
  Snapshot& snapshot_;
  std::unordered_map<std::uint64_t, TypeIndex> types_;
  std::unordered_map<std::string, TypeIndex> by_name_;
  std::unordered_map<std::uint64_t, std::uint32_t> sizes_;
};

}  // namespace

Result<void> add_objects(const HeapCopy& heap, Snapshot& snapshot) {
  HA_TRY(Adder(heap, snapshot).add());
  snapshot.complete = false;
  snapshot.skipped = heap.misfits();
  snapshot.reason =
      "read from outside, so not collected first: objects that nothing references may be counted; "
      "sizes lack what libraries allocated";
  if (heap.is_collecting()) snapshot.reason += "; a collection was running";
  if (heap.misfits() > 0) {
    snapshot.reason += fmt::format("; {} slots are not understood", heap.misfits());
  }
  if (heap.unread_bytes() > 0) {
    snapshot.reason += fmt::format("; {} bytes could not be read", heap.unread_bytes());
  }
  return {};
}

}  // namespace heapattach::ruby
