#include "report/format/read/ruby/names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace heapattach::ruby {

namespace {

// A broken file must not lead in circles.
constexpr int kMostAncestors = 4096;

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kKinds{{
    {"ARRAY", "Array"},
    {"BIGNUM", "Integer"},
    {"CLASS", "Class"},
    {"COMPLEX", "Complex"},
    {"FILE", "File"},
    {"FLOAT", "Float"},
    {"HASH", "Hash"},
    {"MATCH", "MatchData"},
    {"MODULE", "Module"},
    {"RATIONAL", "Rational"},
    {"REGEXP", "Regexp"},
    {"STRING", "String"},
    {"STRUCT", "Struct"},
    {"SYMBOL", "Symbol"},
}};

// True for objects without a class that a program can see.
bool is_of_the_machine(std::string_view family) {
  return family == "IMEMO" || family == "NODE" || family == "ICLASS" || family == "ZOMBIE" ||
         family == "SHAPE";
}

std::string in_small_letters(std::string text) {
  for (char& letter : text) letter = static_cast<char>(letter | 0x20);
  return text;
}

}  // namespace

std::string kind_in_words(std::string_view kind) {
  for (const auto& [name, word] : kKinds) {
    if (name == kind) return std::string(word);
  }
  if (kind == "OBJECT") return "Object";
  // A DATA is named by its structure: "VM/thread".
  return std::string(kind.starts_with("DATA ") ? kind.substr(5) : kind);
}

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
  const std::string family = kind.substr(0, kind.find(' '));
  if (is_of_the_machine(family)) {
    name.text = in_small_letters(family);
    if (family != kind) name.text += fmt::format("({})", kind.substr(family.size() + 1));
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
