#include "report/typing/naming.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace heapattach::snapshot {

namespace {

enum Unknown : TypeIndex { kUnknown, kUnknownAtomic, kUnknownUncollectable, kUnknownCustom };

Type placeholder(const char* name) {
  Type type;
  type.name = name;
  return type;
}

Type row_of(const crystal::Type& known) {
  Type type;
  type.name = known.name;
  if (known.name.empty()) {
    type.name = known.label.empty() ? fmt::format("(type {})", known.id)
                                    : fmt::format("(type {}: {})", known.id, known.label);
  }
  type.id = known.id;
  type.instance_bytes = known.instance_bytes;
  for (const crystal::KnownFrom source : known.known_from) {
    type.known_from.emplace_back(crystal::to_string(source));
  }
  for (const crystal::Field& field : known.fields) {
    type.fields.push_back({field.name, field.type, field.offset, field.bytes});
  }
  type.typed_by = known.name.empty() ? TypedBy::Nothing : TypedBy::Header;
  return type;
}

Type row_of_vtable(const std::string& name) {
  Type type;
  type.name = name;
  type.known_from = {"vtable"};
  type.typed_by = TypedBy::Vtable;
  return type;
}

}  // namespace

Naming::Naming(const crystal::TypeTable& classes,
               const cxx::VtableNames& vtables,
               std::vector<Range> code)
    : classes_(classes),
      vtables_(vtables),
      code_(std::move(code)),
      headers_(classes, knows_code()),  // a dump has no code, and may have no numbers
      types_{placeholder("(unknown)"), placeholder("(unknown atomic)"),
             placeholder("(unknown uncollectable)"), placeholder("(unknown custom)")} {
  first_class_ = static_cast<TypeIndex>(types_.size());
  for (const crystal::Type& known : classes.types()) {
    if (known.name == "String") string_ = static_cast<TypeIndex>(types_.size());
    types_.push_back(row_of(known));
    buffer_pointers_.push_back(crystal::buffer_pointers(known));
    if (!known.name.empty()) names_.insert(known.name);
  }
  first_vtable_ = static_cast<TypeIndex>(types_.size());
  knows_no_headers_ = classes.types().empty() && vtables.names().empty();
  for (const std::string& name : vtables.names()) {
    types_.push_back(row_of_vtable(name));
    names_.insert(name);
  }
}

TypeIndex Naming::unknown_of(const heap::Block& block) {
  if (block.is_uncollectable()) return kUnknownUncollectable;
  if (block.kind == heap::kAtomic) return kUnknownAtomic;
  return block.kind == heap::kNormal ? kUnknown : kUnknownCustom;
}

bool Naming::is_unknown(TypeIndex row) {
  return row <= kUnknownCustom;
}

TypeIndex Naming::type_of(const heap::Block& block, std::span<const std::byte> contents) const {
  if (knows_no_headers_) return unknown_of(block);
  if (const crystal::Type* known = headers_.type_of(block, contents)) {
    return first_class_ + static_cast<TypeIndex>(known - classes_.types().data());
  }
  std::uint64_t first_word = 0;
  if (contents.size() >= sizeof first_word) {
    std::memcpy(&first_word, contents.data(), sizeof first_word);
    if (const auto vtable = vtables_.index_of(first_word)) return first_vtable_ + *vtable;
  }
  return unknown_of(block);
}

std::span<const crystal::BufferPointer> Naming::buffer_pointers(TypeIndex type) const {
  const TypeIndex at = type - first_class_;  // wraps to a large number for earlier types
  if (at >= buffer_pointers_.size()) return {};
  return buffer_pointers_[at];
}

}  // namespace heapattach::snapshot
