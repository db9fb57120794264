#include "report/analyze/code_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace heapattach::analyze {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

constexpr std::array<std::string_view, 8> kOfRuby{
    "Class", "Module", "Class (singleton)", "iclass", "RubyVM::InstructionSequence", "Thread",
    "Fiber", "Ractor"};

// Whether the type is instructions or a part of them. These hold only literals, while a class may
// hold anything.
bool holds_only_code(std::string_view type) {
  return type.starts_with("imemo(") || type == "RubyVM::InstructionSequence";
}

bool is_code(std::string_view type) {
  return holds_only_code(type) || type.starts_with("internal(") ||
         std::find(kOfRuby.begin(), kOfRuby.end(), type) != kOfRuby.end();
}

}  // namespace

std::vector<bool> types_of_code(const Snapshot& snapshot) {
  std::vector<bool> are_code(snapshot.types.size());
  if (snapshot.header.runtime != "ruby") return are_code;
  for (TypeIndex type = 0; type < are_code.size(); ++type) {
    are_code[type] = is_code(snapshot.types[type].name);
  }
  return are_code;
}

std::uint64_t code_bytes(const Snapshot& snapshot, const Holding& holding) {
  const std::vector<bool> are_code = types_of_code(snapshot);
  std::vector<bool> is_below(snapshot.objects.size());  // whether instructions dominate the object
  std::uint64_t sum = 0;
  for (const ObjectIndex object : holding.dominators.order) {
    const ObjectIndex by = holding.dominators.of[object];
    const TypeIndex type = holding.types[object];
    is_below[object] = (by != kNone && is_below[by]) ||
                       (are_code[type] && holds_only_code(snapshot.types[type].name));
    if (are_code[type] || is_below[object]) sum += holding.bytes[object];
  }
  return sum;
}

}  // namespace heapattach::analyze
