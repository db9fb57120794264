#include "report/format/read/ruby/names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "symbols/ruby/kinds.h"

namespace heapattach::ruby {

namespace {

// A broken file must not lead in circles.
constexpr int kMostAncestors = 4096;

}  // namespace

Names::Names(const RubyPieces& pieces) : marks_internal_(!pieces.is_heap_dump) {
  for (const RubyPiece& piece : pieces.all) {
    for (const ClassRecord& record : piece.classes) classes_.emplace(record.address, &record);
    for (const ShapeRecord& record : piece.shapes) shapes_.emplace(record.id, &record);
  }
}

std::optional<std::string> Names::class_name(std::uint64_t address) const {
  for (int i = 0; i < kMostAncestors; ++i) {
    const auto at = classes_.find(address);
    if (at == classes_.end()) return std::nullopt;
    const ClassRecord& record = *at->second;
    if (!record.is_included && !record.name.empty()) return record.name;
    if (!record.is_included && !record.is_singleton) {
      return fmt::format("#<{}:0x{:016x}>", record.is_module ? "Module" : "Class", record.address);
    }
    address = record.superclass;
  }
  return std::nullopt;
}

Names::TypeName Names::of(const Identity& identity, const Tables& tables) const {
  const std::string& kind = tables.kinds[identity.kind];
  const std::string& site = tables.sites[identity.site];
  TypeName name;
  if (is_of_the_machine(std::string_view(kind).substr(0, kind.find(' ')))) {
    name.text = machine_words(kind);
  } else if (identity.of_class == 0) {
    name.text = kind_in_words(kind);
    if (marks_internal_) name.text = fmt::format("internal({})", name.text);
  } else if (auto known = class_name(identity.of_class)) {
    name.text = std::move(*known);
    if (identity.is_singleton) name.text += " (singleton)";
  } else {
    name.text = fmt::format("({} of class {:#x})", kind_in_words(kind), identity.of_class);
    name.is_known = false;
  }
  if (!site.empty()) name.text = fmt::format("{} ({})", name.text, site);
  return name;
}

std::vector<std::string> Names::variables_of(std::uint64_t shape) const {
  std::vector<std::string> names;
  for (int i = 0; i < kMostAncestors; ++i) {
    const auto at = shapes_.find(shape);
    if (at == shapes_.end()) return {};
    if (!at->second->name.empty()) names.push_back(at->second->name);
    if (!at->second->parent) {
      std::reverse(names.begin(), names.end());
      return names;
    }
    shape = *at->second->parent;
  }
  return {};
}

}  // namespace heapattach::ruby
