#include "symbols/vlang/variants.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "symbols/code/disassembler.h"
#include "symbols/elf/machine.h"
#include "symbols/vlang/arch/number_set.h"
#include "symbols/vlang/types.h"

namespace heapattach::vlang {

namespace {

using types::Member;
using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

constexpr std::string_view kStruct = "struct ";
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 31;

// The only number that the function gives to a result; nothing if there are several.
std::optional<std::int64_t> number_in(const Module& module, const Symbol& function) {
  constexpr std::uint64_t kLongest = 512;
  if (function.bytes > kLongest) return std::nullopt;
  const auto disassembler = Disassembler::open(module.machine());
  if (!disassembler) return std::nullopt;
  auto code = module.file_bytes(function.address);
  code = code.first(std::min<std::size_t>(code.size(), function.bytes));
  std::set<std::int64_t> numbers;
  RemoteAddr at = function.address;
  while (!code.empty()) {
    const cs_insn* const instruction = disassembler->decode(code, at);
    if (instruction == nullptr) return std::nullopt;
    if (const auto number = number_set(module.machine(), *instruction)) numbers.insert(*number);
    at = at + instruction->size;
    code = code.subspan(instruction->size);
  }
  return numbers.size() == 1 ? std::optional(*numbers.begin()) : std::nullopt;
}

class Search {
 public:
  Search(const Modules& modules, TypeModel& model) : modules_(modules), model_(model) {
    for (const Type& type : model.types()) {
      if (type.shape != Shape::Enumeration) continue;
      for (const types::Enumerator& one : type.enumerators) {
        if (one.name.ends_with("_index")) constants_.emplace(one.name, one.value);
      }
    }
  }

  void run() {
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      if (is_of_variants(model_[ref])) add_numbers(model_[ref]);
    }
  }

 private:
  // A number that two variants seem to have says nothing.
  void add_numbers(Type& value) const {
    const std::string_view owner = owner_of_value(value.name);
    if (!owner.starts_with(kStruct)) return;
    std::unordered_map<std::int64_t, int> uses;
    value.enumerators.clear();
    for (const Member& variant : value.members) {
      const auto number = number_of(variant.name, owner.substr(kStruct.size()));
      if (!number || *number < 0 || *number >= kMostNumbers) continue;
      value.enumerators.push_back({variant.name, *number});
      ++uses[*number];
    }
    std::erase_if(value.enumerators,
                  [&](const types::Enumerator& one) { return uses[one.value] > 1; });
  }

  // `variant` begins with an underscore.
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view variant,
                                                      std::string_view owner) const {
    const std::string constant = fmt::format("_{}{}_index", owner, variant);
    if (const auto known = constants_.find(constant); known != constants_.end()) {
      return known->second;
    }
    const std::string function = fmt::format("{}_to_sumtype_{}", variant.substr(1), owner);
    for (const Module& module : modules_.all()) {
      if (const auto symbol = module.find_symbol(constant)) return constant_at(module, *symbol);
      const auto symbol = module.find_symbol(function);
      if (symbol && symbol->is_function) return number_in(module, *symbol);
    }
    return std::nullopt;
  }

  static std::optional<std::int64_t> constant_at(const Module& module, const Symbol& symbol) {
    std::uint32_t value = 0;
    const auto bytes = module.file_bytes(symbol.address);
    if (symbol.bytes != sizeof value || bytes.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  const Modules& modules_;
  TypeModel& model_;
  std::unordered_map<std::string, std::int64_t> constants_;  // of interfaces, in newer releases
};

}  // namespace

bool is_of_variants(const Type& type) {
  return type.shape == Shape::Opaque && !owner_of_value(type.name).empty();
}

void find_variants(const Modules& modules, TypeModel& model) {
  Search(modules, model).run();
}

}  // namespace heapattach::vlang
