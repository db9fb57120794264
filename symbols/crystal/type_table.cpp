#include "symbols/crystal/type_table.h"

#include <algorithm>

#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

// The sources as the enumerator lists them: best first.
KnownFrom best_source(const Type& type) {
  if (type.known_from.empty()) return KnownFrom::AllocationSite;
  return *std::min_element(type.known_from.begin(), type.known_from.end());
}

void take_what_is_missing(Type& type, Type&& other) {
  if (!type.instance_bytes) type.instance_bytes = other.instance_bytes;
  if (!type.is_atomic) type.is_atomic = other.is_atomic;
  if (type.made_at.empty()) type.made_at = std::move(other.made_at);
  if (type.fields.empty()) type.fields = std::move(other.fields);
  if (type.own_fields.empty()) type.own_fields = std::move(other.own_fields);
  for (const KnownFrom source : other.known_from) {
    if (std::find(type.known_from.begin(), type.known_from.end(), source) ==
        type.known_from.end()) {
      type.known_from.push_back(source);
    }
  }
  std::sort(type.known_from.begin(), type.known_from.end());
}

// WeakRef allocates its instances itself, and no followed code stores their id.
void complete_weak_reference(Type& type) {
  if (!type.name.starts_with("WeakRef(") || type.instance_bytes) return;
  type.instance_bytes = 16;  // the id, and @target
  type.is_atomic = true;
}

}  // namespace

std::string_view to_string(KnownFrom source) {
  switch (source) {
    case KnownFrom::TypeIdSymbol: return "type-id symbol";
    case KnownFrom::ClassNameTable: return "class-name table";
    case KnownFrom::TypeInfo: return "type-info";
    case KnownFrom::TypeIdTable: return "type-id table";
    case KnownFrom::AllocationSite: return "allocation site";
  }
  return "";
}

bool TypeTable::add(Type type) {
  type.name = canonical_name(type.name);
  complete_weak_reference(type);
  if (type.is_value) {
    values_.push_back(std::move(type));
    return true;
  }
  const auto [known, is_new] = by_id_.try_emplace(type.id, types_.size());
  if (is_new) {
    types_.push_back(std::move(type));
    return true;
  }
  Type& present = types_[known->second];
  if (type.name.empty()) {
    take_what_is_missing(present, std::move(type));
    return true;
  }
  if (present.name.empty()) present.name = type.name;
  const bool is_better = best_source(type) < best_source(present);
  if (present.name != type.name) {
    ++contradictions_;
    if (!is_better) return false;
    present = std::move(type);  // nothing known about the other name applies to this one
    return true;
  }
  if (is_better) std::swap(present, type);
  take_what_is_missing(present, std::move(type));
  return true;
}

void TypeTable::set_label(std::uint32_t id, std::string label) {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) types_[found->second].label = std::move(label);
}

const Type* TypeTable::find(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &types_[found->second];
}

const Type* TypeTable::find(std::string_view name) const {
  const std::string plain = canonical_name(name);
  const auto found = std::find_if(types_.begin(), types_.end(),
                                  [&](const Type& type) { return type.name == plain; });
  return found == types_.end() ? nullptr : &*found;
}

}  // namespace heapattach::crystal
