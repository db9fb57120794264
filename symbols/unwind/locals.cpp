#include "symbols/unwind/locals.h"

#include <algorithm>
#include <functional>

#include <dwarf.h>

#include "symbols/dwarf/dwarf_types.h"
#include "symbols/unwind/pieces.h"

namespace heapattach::unwind {

namespace {

constexpr int kDeepestScope = 200;
constexpr std::size_t kMostVariables = 2000;  // at one instruction
constexpr std::uint64_t kPointerBytes = 8;

bool is_scope_of_code(int tag) {
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
         tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

// Whether an entry with this tag may contain functions.
bool is_scope_of_names(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || types::is_aggregate(tag);
}

std::optional<Dwarf_Attribute> attribute_of(Dwarf_Die die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&die, name, &attribute) == nullptr) return {};
  return attribute;
}

bool is_static(std::span<const Dwarf_Op> expression) {
  const auto atom = expression.front().atom;
  return atom == DW_OP_addr || atom == DW_OP_addrx || atom == DW_OP_GNU_addr_index;
}

// The expression that is valid at `pc`; empty if there is none.
std::span<const Dwarf_Op> expression_at(Dwarf_Attribute attribute, Dwarf_Addr pc) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation_addr(&attribute, pc, &ops, &count, 1) != 1) return {};
  return {ops, count};
}

}  // namespace

// Gathers the variables at one instruction, scope by scope.
class Locals::Collector {
 public:
  Collector(Dwarf_Addr pc, types::DwarfNames& names, std::vector<Variable>& into)
      : pc_(pc), names_(names), into_(into) {}

  void visit(const Dwarf_Die& parent, int depth = 0) {
    types::each_child(parent, [&](Dwarf_Die child) {
      take(child, depth);
      return into_.size() < kMostVariables;
    });
  }

 private:
  void take(Dwarf_Die die, int depth) {
    // Go only forward, even if a reference to a sibling points back.
    if (!std::less<>()(last_, static_cast<const void*>(die.addr))) return;
    last_ = die.addr;
    const int tag = types::tag_of(die);
    if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
      if (is_in_code_) add(die);
    } else if (depth >= kDeepestScope) {
      return;
    } else if (is_scope_of_names(tag)) {
      if (!is_in_code_) visit(die, depth + 1);
    } else if (is_scope_of_code(tag) && dwarf_haspc(&die, pc_) == 1) {
      const bool was_in_code = is_in_code_;
      const auto outer = frame_base_;
      const auto outer_inlined = inlined_;
      if (tag == DW_TAG_inlined_subroutine) ++inlined_;
      if (tag == DW_TAG_subprogram) inlined_ = 0;
      if (tag == DW_TAG_subprogram) frame_base_ = attribute_of(die, DW_AT_frame_base);
      is_in_code_ = true;
      visit(die, depth + 1);
      is_in_code_ = was_in_code;
      frame_base_ = outer;
      inlined_ = outer_inlined;
    }
  }

  void add(const Dwarf_Die& die) {
    const auto location = attribute_of(die, DW_AT_location);
    if (!location) return;
    const Dwarf_Die described = types::declaration_of(die);
    into_.push_back({types::own_name(described), names_.of_type_of(described), described, *location,
                     frame_base_, inlined_});
  }

  Dwarf_Addr pc_;
  types::DwarfNames& names_;
  std::vector<Variable>& into_;
  bool is_in_code_ = false;
  const void* last_ = nullptr;  // the last entry that was passed
  std::optional<Dwarf_Attribute> frame_base_;
  std::uint32_t inlined_ = 0;
};

types::DwarfNames& Locals::names_of(ModuleDebug& module) {
  auto& names = names_[&module.module()];
  if (names == nullptr) names = std::make_unique<types::DwarfNames>(module.dwarf());
  return *names;
}

const std::vector<Locals::Variable>& Locals::variables_at(ModuleDebug& module, Dwarf_Addr pc) {
  const auto [at, is_new] = variables_.try_emplace(pc + module.bias());
  if (!is_new || module.dwarf() == nullptr) return at->second;
  const auto root = module.units().at(pc);
  const auto unit = root ? module.whole_unit(*root) : std::nullopt;
  if (unit) Collector(pc, names_of(module), at->second).visit(*unit);
  return at->second;
}

void Locals::locate(const Variable& variable,
                    const Frame& frame,
                    ModuleDebug& module,
                    std::vector<Local>& into) {
  const Dwarf_Addr pc = frame.pc().value - module.bias();
  LocationContext context{frame.state, memory_, module.bias(), frame.cfa, {}};
  const auto expression = expression_at(variable.location, pc);
  if (expression.empty() || is_static(expression)) return;
  if (variable.frame_base) {
    const auto base = follow(expression_at(*variable.frame_base, pc), context);
    const bool is_register = base && base->kind == Location::Kind::Register;
    if (base) context.frame_base = is_register ? frame.state.at(base->value) : base->value;
  }
  const auto pieces = pieces_of(expression);
  if (pieces.empty()) return add(follow(expression, context), frame, variable, into);
  const auto type = types::die_at(variable.described, DW_AT_type);
  for (const Piece& piece : pieces) {
    if (!type || piece.expression.empty() || piece.bytes != kPointerBytes) continue;
    const auto pointer = pointer_at(*type, piece.offset, names_of(module));
    if (!pointer) continue;
    Variable part = variable;
    part.name += pointer->path;
    part.type = pointer->type;
    add(follow(piece.expression, context), frame, part, into);
  }
}

// Adds the variable, if its location `place` is known.
void Locals::add(const std::optional<Location>& place,
                 const Frame& frame,
                 const Variable& variable,
                 std::vector<Local>& into) {
  if (!place) return;
  const bool is_register = place->kind == Location::Kind::Register;
  const auto at = is_register ? frame.state.at(place->value) : place->value;
  if (!at) return;
  into.push_back({.name = variable.name,
                  .type = variable.type,
                  .is_value = place->kind != Location::Kind::Address,
                  .at = *at,
                  .inlined = variable.inlined});
}

std::vector<Local> Locals::of(const Frame& frame) {
  std::vector<Local> locals;
  ModuleDebug* const module = modules_.find(frame.pc());
  if (module == nullptr) return locals;
  // Skip a module whose types are not read, such as the C library: unpacking its debug file takes
  // ten times as long as everything else in a small program.
  if (types::is_without_types(module->module())) return locals;
  const Dwarf_Addr pc = frame.pc().value - module->bias();
  for (const Variable& variable : variables_at(*module, pc)) {
    locate(variable, frame, *module, locals);
  }
  return locals;
}

}  // namespace heapattach::unwind
