#include "symbols/unwind/frame_rules.h"

#include <dwarf.h>

namespace heapattach::unwind {

namespace {

// No genuine stack has this many different instructions.
constexpr std::size_t kMostRules = 100'000;

}  // namespace

FrameRule::FrameRule(ModuleDebug::FramePtr table,
                     std::uint64_t bias,
                     const RegisterNumbers& numbers)
    : table_(std::move(table)), bias_(bias), numbers_(numbers) {
  const int returns_by = dwarf_frame_info(table_.get(), nullptr, nullptr, &is_signal_);
  if (returns_by != static_cast<int>(numbers.return_address)) return;
  read_cfa();
  if (!is_usable_) return;
  for (std::size_t number = 0; number < numbers.count; ++number) {
    const bool is_return = number == numbers.program_counter;
    rules_[number] = rule_of(*table_, is_return ? numbers.return_address : number);
  }
}

void FrameRule::read_cfa() {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(table_.get(), &ops, &count) != 0 || count == 0) return;
  is_usable_ = true;
  if (count == 1 && ops[0].atom == DW_OP_bregx) {
    cfa_register_ = ops[0].number;
    cfa_offset_ = ops[0].number2;
  } else {
    cfa_expression_.assign(ops, ops + count);
  }
}

FrameRule::Rule FrameRule::rule_of(Dwarf_Frame& table, std::size_t number) {
  std::array<Dwarf_Op, 3> room{};
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  Rule rule;
  if (dwarf_frame_register(&table, static_cast<int>(number), room.data(), &ops, &count) != 0) {
    return rule;
  }
  if (count == 0) {
    if (ops == nullptr) rule.how = How::Same;
    return rule;
  }
  const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
  const std::size_t steps = is_value ? count - 1 : count;
  const bool is_at_cfa = steps == 1 && ops[0].atom == DW_OP_call_frame_cfa;
  const bool is_beside_cfa =
      steps == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst;
  if (is_at_cfa || is_beside_cfa) {
    rule.how = is_value ? How::IsCfaPlus : How::SavedAt;
    rule.offset = is_beside_cfa ? ops[1].number : 0;
    return rule;
  }
  rule.how = How::Expression;
  rule.expression.assign(ops, ops + count);
  return rule;
}

std::optional<std::uint64_t> FrameRule::cfa(const MachineState& state,
                                            const MemoryReader& memory) const {
  if (cfa_register_) {
    const auto base = state.at(*cfa_register_);
    return base ? std::optional(*base + cfa_offset_) : std::nullopt;
  }
  const auto found = follow(cfa_expression_, {state, memory, bias_, {}, {}});
  if (!found || found->kind == Location::Kind::Register) return {};
  return found->value;
}

std::optional<std::uint64_t> FrameRule::restored(std::size_t number,
                                                 const MachineState& state,
                                                 const MemoryReader& memory,
                                                 std::uint64_t cfa) const {
  const Rule& rule = rules_[number];
  const bool is_return = number == numbers_.program_counter;
  const auto load = [&](std::uint64_t at) {
    const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  };
  switch (rule.how) {
    case How::Unknown: return {};
    case How::Same: return state.at(is_return ? numbers_.return_address : number);
    case How::SavedAt: return load(cfa + rule.offset);
    case How::IsCfaPlus: return cfa + rule.offset;
    case How::Expression: break;
  }
  const auto found = follow(rule.expression, {state, memory, bias_, cfa, {}});
  if (!found) return {};
  switch (found->kind) {
    case Location::Kind::Value: return found->value;
    case Location::Kind::Register: return state.at(found->value);
    case Location::Kind::Address: break;
  }
  return load(found->value);
}

const FrameRule* FrameRules::at(ModuleDebug& module, RemoteAddr pc) {
  auto known = rules_.find(pc.value);
  if (known == rules_.end()) {
    if (rules_.size() >= kMostRules) rules_.clear();
    std::optional<FrameRule> rule;
    if (auto table = module.frame_at(pc.value - module.bias()); table != nullptr) {
      rule.emplace(std::move(table), module.bias(), numbers_of(module.module().machine()));
      if (!rule->is_usable()) rule.reset();
    }
    known = rules_.emplace(pc.value, std::move(rule)).first;
  }
  return known->second ? &*known->second : nullptr;
}

}  // namespace heapattach::unwind
