#include "symbols/types/model_checks.h"

#include <algorithm>

#include <fmt/format.h>

namespace heapattach::types {
namespace {

constexpr std::uint64_t kLargestType = std::uint64_t{1} << 40;

bool holds_others(const Type& type) {
  return type.shape == Shape::Struct || type.shape == Shape::Union || type.shape == Shape::Array;
}

// Visits each type after the types that it contains, and breaks circles of containment.
class Containment {
 public:
  explicit Containment(TypeModel& model) : model_(model), states_(model.types().size()) {}

  template <class Visit>
  void walk(const Visit& visit) {
    for (TypeRef start = 0; start < states_.size(); ++start) {
      if (states_[start] != State::New) continue;
      enter(start);
      while (!open_.empty()) {
        const TypeRef at = open_.back().type;
        if (const TypeRef* inner = next_inner()) {
          if (states_[*inner] == State::New) enter(*inner);
          continue;
        }
        visit(model_[at]);
        states_[at] = State::Done;
        open_.pop_back();
      }
    }
  }

 private:
  enum class State : std::uint8_t { New, Open, Done };
  struct Open {
    TypeRef type = 0;
    std::size_t next = 0;  // the next of its members
  };

  void enter(TypeRef at) {
    states_[at] = State::Open;
    open_.push_back({at, 0});
  }

  // The next type that the innermost open type contains; null if there are no more. Returns the
  // address of the reference in the model, because a reference that closes a circle is cut there.
  const TypeRef* next_inner() {
    Open& open = open_.back();
    Type& type = model_[open.type];
    if (!holds_others(type)) return nullptr;
    const std::size_t count = type.shape == Shape::Array ? 1 : type.members.size();
    while (open.next < count) {
      TypeRef& inner = type.shape == Shape::Array ? type.target : type.members[open.next].type;
      ++open.next;
      if (inner == kNoType) continue;
      if (states_[inner] == State::Open) {
        inner = kNoType;
        continue;
      }
      return &inner;
    }
    return nullptr;
  }

  TypeModel& model_;
  std::vector<State> states_;
  std::vector<Open> open_;
};

void check_refs(TypeModel& model) {
  const std::size_t count = model.types().size();
  const auto check = [count](TypeRef& ref) {
    if (ref >= count) ref = kNoType;
  };
  for (TypeRef at = 0; at < count; ++at) {
    check(model[at].target);
    for (Member& member : model[at].members) check(member.type);
    for (VirtualBase& base : model[at].virtual_bases) check(base.type);
    if (model[at].choice) {
      for (Choice::Branch& branch : model[at].choice->branches) check(branch.type);
    }
    if (model[at].bytes > kLargestType) model[at].bytes = std::nullopt;
  }
  for (Variable& variable : model.globals) check(variable.type);
}

// Checks a type's contents. The types that it contains must have been checked before.
void check_inside(const TypeModel& model, Type& type) {
  if (type.shape == Shape::Array) {
    const std::uint64_t element = type.target == kNoType ? 0 : model[type.target].bytes.value_or(0);
    if (type.count > kLargestType / std::max<std::uint64_t>(element, 1)) type.count = std::nullopt;
    if (type.count && element > 0) type.bytes = *type.count * element;
    return;
  }
  const auto is_outside = [&](const Member& member) {
    if (member.offset > kLargestType || member.bit_count > 64 || member.bit_offset > 7) return true;
    if (!type.bytes) return false;
    if (member.offset > *type.bytes) return true;
    if (member.type == kNoType || !holds_others(model[member.type])) return false;
    // The size of a base includes its virtual bases, whose space is elsewhere in this instance.
    if (member.is_base && model[member.type].has_virtual_bases) return false;
    return model[member.type].bytes.value_or(0) > *type.bytes - member.offset;
  };
  std::erase_if(type.members, is_outside);
  std::stable_sort(type.members.begin(), type.members.end(),
                   [](const Member& a, const Member& b) { return a.offset < b.offset; });
  std::stable_sort(type.enumerators.begin(), type.enumerators.end(),
                   [](const Enumerator& a, const Enumerator& b) { return a.value < b.value; });
  type.has_virtual_bases = !type.virtual_bases.empty();
  for (const Member& member : type.members) {
    const bool is_base = member.is_base && member.type != kNoType;
    if (is_base && model[member.type].has_virtual_bases) type.has_virtual_bases = true;
    if (is_base && member.offset == 0 && model[member.type].has_header) type.has_header = true;
  }
}

bool is_described(const Type& type) {
  return type.shape != Shape::Opaque || type.bytes.has_value();
}

bool agree(const Type& a, const Type& b) {
  if (a.shape != b.shape || a.bytes != b.bytes || a.members.size() != b.members.size())
    return false;
  return std::equal(
      a.members.begin(), a.members.end(), b.members.begin(),
      [](const Member& x, const Member& y) { return x.name == y.name && x.offset == y.offset; });
}

}  // namespace

void make_sound(TypeModel& model) {
  check_refs(model);
  Containment(model).walk([&model](Type& type) { check_inside(model, type); });
}

void merge(TypeModel& into, const TypeModel& from) {
  std::vector<TypeRef> refs;
  refs.reserve(from.types().size());
  for (const Type& type : from.types()) refs.push_back(into.intern(type.name));
  const auto translated = [&](TypeRef ref) { return ref < refs.size() ? refs[ref] : kNoType; };
  for (TypeRef at = 0; at < refs.size(); ++at) {
    const Type& theirs = from.types()[at];
    Type& ours = into[refs[at]];
    for (const std::string& source : theirs.known_from) {
      const auto known = std::find(ours.known_from.begin(), ours.known_from.end(), source);
      if (known == ours.known_from.end()) ours.known_from.push_back(source);
    }
    if (!is_described(theirs)) continue;
    if (is_described(ours)) {
      if (agree(ours, theirs)) continue;
      into.disagreements.push_back(
          fmt::format("{}: two sources describe it differently", ours.name));
      continue;
    }
    std::vector<std::string> known_from = std::move(ours.known_from);
    ours = theirs;
    ours.known_from = std::move(known_from);
    ours.target = translated(ours.target);
    for (Member& member : ours.members) member.type = translated(member.type);
    for (VirtualBase& base : ours.virtual_bases) base.type = translated(base.type);
    if (!ours.choice) continue;
    for (Choice::Branch& branch : ours.choice->branches) branch.type = translated(branch.type);
  }
  for (Variable variable : from.globals) {
    variable.type = translated(variable.type);
    into.globals.push_back(std::move(variable));
  }
  into.notes.insert(into.notes.end(), from.notes.begin(), from.notes.end());
  into.disagreements.insert(into.disagreements.end(), from.disagreements.begin(),
                            from.disagreements.end());
}

}  // namespace heapattach::types
