#include "symbols/nix/values.h"

#include <fmt/format.h>

namespace heapattach::nix {

std::uint64_t ValueReader::object_bytes(std::uint64_t at) const {
  const auto ref = view_.object_at(at);
  if (!ref) return 0;
  const heap::Block& block = view_.heap().blocks()[ref->block];
  const bool may_hold = !block.is_atomic() && !view_.heap().is_chunk(ref->block);
  return may_hold ? block.object_bytes : 0;
}

bool ValueReader::is_environment(std::uint64_t at) const {
  if (object_bytes(at) < kVariables) return false;
  constexpr std::uint64_t kTypes = 3;  // the number of types of environments
  const std::uint64_t type = word(at + kEnvType);
  const std::uint64_t up = word(at + kUp);
  return type >> 14 < kTypes && (up == 0 || object_bytes(up) >= kVariables);
}

bool ValueReader::are_attributes(std::uint64_t at) {
  const auto [known, is_new] = attributes_.try_emplace(at);
  if (is_new) known->second = check_attributes(at);
  return known->second;
}

bool ValueReader::check_attributes(std::uint64_t at) const {
  const std::uint64_t bytes = object_bytes(at);
  if (bytes < kAttributes) return false;
  const std::uint64_t position = word(at + kSetPosition);
  const std::uint64_t size = attributes_in(at);
  const std::uint64_t capacity = word(at + kSetSize) >> 32;
  if (position == 0 || position % 8 != 0 || view_.object_at(position) || size > capacity ||
      !runtimes::fits(bytes, kAttributes + capacity * kAttributeBytes)) {
    return false;
  }
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t name = word(at + kAttributes + i * kAttributeBytes);
    if (name == 0 || name % 8 != 0 || view_.object_at(name)) return false;
  }
  return true;
}

bool ValueReader::are_elements(std::uint64_t at, std::uint64_t count) const {
  const std::uint64_t bytes = object_bytes(at);
  return bytes != 0 && count <= bytes / 8 && runtimes::fits(bytes, count * 8);
}

bool ValueReader::has_expression(const Value& value) {
  const Expression* const found = expressions_.at(value.second);
  return found != nullptr && (value.type != kLambda || found->is_lambda) &&
         is_environment(value.first);
}

bool ValueReader::is_consistent(const Value& value) {
  switch (value.type) {
    case kThunk:
    case kLambda: return has_expression(value);
    // The empty set is not in the heap.
    case kSet: return are_attributes(value.first) || !view_.object_at(value.first);
    case kList: return value.first == 0 || are_elements(value.second, value.first);
    case kString:
    case kPath:
    case kPrimOp:
    case kExternal: return value.first != 0;
    case kApplication:
    case kPartialPrimOp: return value.first != 0 && value.second != 0;
    default: return value.type >= kInt && value.type <= kFloat;
  }
}

std::optional<Value> ValueReader::value_at(std::uint64_t at) {
  if (at == 0 || at % 8 != 0) return std::nullopt;
  const auto type = view_.word(at);
  if (!type) return std::nullopt;
  const Value value{static_cast<std::uint32_t>(*type), word(at + kFirst), word(at + kSecond)};
  return is_consistent(value) ? std::optional(value) : std::nullopt;
}

bool ValueReader::is_value_object(std::uint64_t at) {
  const std::uint64_t bytes = object_bytes(at);
  return bytes != 0 && runtimes::fits(bytes, kValueBytes) && value_at(at);
}

bool ValueReader::proves_itself(const Value& value) {
  switch (value.type) {
    case kThunk:
    case kLambda: return true;
    case kSet: return are_attributes(value.first);
    case kList: return value.first != 0 && count_values(value.second) == value.first;
    case kList1: return is_value_object(value.first);
    case kList2:
    case kApplication:
    case kPartialPrimOp: return is_value_object(value.first) && is_value_object(value.second);
    default: return false;
  }
}

std::uint64_t ValueReader::count_values(std::uint64_t at) {
  if (const auto known = elements_.find(at); known != elements_.end()) return known->second;
  return elements_[at] = check_values(at);
}

std::uint64_t ValueReader::check_values(std::uint64_t at) {
  const std::uint64_t words = object_bytes(at) / 8;
  std::uint64_t count = 0;
  while (count < words && is_value_object(word(at + count * 8))) ++count;
  for (std::uint64_t i = count; i < words; ++i) {
    if (word(at + i * 8) != 0) return 0;
  }
  return are_elements(at, count) ? count : 0;
}

const std::string* ValueReader::place_of(const Value& value) {
  if (!has_expression(value)) return nullptr;
  const std::string& place = expressions_.at(value.second)->place;
  return place.empty() ? nullptr : &place;
}

std::string ValueReader::name_of_set(std::uint64_t attributes) {
  const std::string& place = expressions_.place(word(attributes + kSetPosition));
  if (!place.empty() || attributes_in(attributes) == 0) return "set" + place;
  const std::string& first =
      expressions_.place(word(attributes + kAttributes + kAttributePosition));
  return first.empty() ? "set" : "set with attributes" + first;
}

std::string ValueReader::name_of_thunk(const Value& value) {
  const Expression* const found = expressions_.at(value.second);
  return "thunk" + (found != nullptr ? found->place : std::string());
}

std::string ValueReader::name_of_primop(const Value& value) {
  const std::string& name = expressions_.symbol(word(value.first + kPrimOpName));
  return name.empty() ? "primop" : fmt::format("primop {}", name);
}

std::string ValueReader::name_of_function(std::uint64_t at, int depth) {
  constexpr int kDeepest = 16;
  const auto function = depth < kDeepest ? value_at(at) : std::nullopt;
  if (!function) return {};
  const bool is_call = function->type == kApplication || function->type == kPartialPrimOp;
  return is_call ? name_of_function(function->first, depth + 1) : name_of(*function, depth + 1);
}

std::string ValueReader::name_of(const Value& value, int depth) {
  switch (value.type) {
    case kInt: return "int";
    case kBool: return "bool";
    case kString: return "string";
    case kPath: return "path";
    case kNull: return "null";
    case kFloat: return "float";
    case kExternal: return "external";
    case kSet: return are_attributes(value.first) ? name_of_set(value.first) : "set";
    case kList1:
    case kList2:
    case kList: return "list";
    case kThunk: return name_of_thunk(value);
    case kLambda: {
      const Expression* const found = expressions_.at(value.second);
      const std::string& name = found->name;
      return (name.empty() ? "lambda" : fmt::format("lambda {}", name)) + found->place;
    }
    case kBeingComputed: return has_expression(value) ? name_of_thunk(value) : "thunk";
    case kPrimOp: return name_of_primop(value);
    case kApplication:
    case kPartialPrimOp: {
      const std::string function = name_of_function(value.first, depth);
      return function.empty() ? "application" : fmt::format("application of {}", function);
    }
    default: return {};
  }
}

}  // namespace heapattach::nix
