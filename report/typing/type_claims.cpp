// The claims that the pointers of a type make about the objects to which they point. This is the
// part of TypeRows that knows the languages.

#include <algorithm>
#include <array>

#include "report/typing/cxx_containers.h"
#include "report/typing/type_rows.h"
#include "symbols/vlang/types.h"
#include "symbols/vlang/variants.h"

namespace heapattach::snapshot {

namespace {

using types::Shape;

using types::TypeModel;
using types::TypeRef;

bool is_crystal_pointer(const types::Type& type) {
  return type.name.starts_with("Pointer(");
}

// Whether only Crystal itself makes the buffers of a class.
bool is_container(std::string_view name) {
  constexpr std::array<std::string_view, 3> kContainers = {"Array(", "Deque(", "Hash("};
  return std::any_of(kContainers.begin(), kContainers.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Whether a type says nothing about an object. An incomplete type has only a name; "void" is not
// even a name.
bool says_nothing(const types::Type& type) {
  return type.name.empty() || type.name.front() == '(' || type.name == "void" ||
         type.name == "Void";
}

// Whether instances end in an array with as many elements as fit.
bool ends_in_array(const TypeModel& model, const types::Type& type, int depth = 0) {
  if (type.shape != Shape::Struct || type.members.empty() || type.has_header || depth > 8) {
    return false;
  }
  const auto& last = type.members.back();
  if (last.type >= model.types().size() || last.is_base) return false;
  const types::Type& inner = model[last.type];
  return inner.shape == Shape::Array ? inner.count.value_or(0) <= 1
                                     : ends_in_array(model, inner, depth + 1);
}

}  // namespace

std::string TypeRows::holder_of(const PointerWord& word) const {
  if (word.container != types::kNoType) return container_name(model_[word.container].name);
  return shown(word.holder != types::kNoType ? word.holder : word.type);
}

void TypeRows::add_claims(const PointerWord& word, std::vector<Claim>& claims) {
  if (const auto claim = claim_of(word)) claims.push_back(*claim);
  if (word.kind == WordKind::Pointer) add_variant_claims(word, claims);
}

// Adds the claims of a sum type or an interface of V. The number after the pointer to the value
// says which type the value has.
void TypeRows::add_variant_claims(const PointerWord& word, std::vector<Claim>& claims) {
  const TypeRef target = model_[word.type].target;
  if (target >= model_.types().size() || !vlang::is_of_variants(model_[target])) return;
  for (const types::Enumerator& number : model_[target].enumerators) {
    for (const types::Member& variant : model_[target].members) {
      auto claim = variant.name == number.name ? instance_claim(variant.type) : std::nullopt;
      if (!claim || claim->one == kNoRow) continue;
      claim->offset = word.offset;
      const auto value = static_cast<std::uint64_t>(number.value);
      claim->condition = add_condition(
          {word.offset + vlang::kVariantAt, vlang::kVariantBytes, {{value, value}}, 0});
      if (claim->condition == 0) continue;
      claims.push_back(*claim);
    }
  }
}

std::optional<Claim> TypeRows::claim_of(const PointerWord& word) {
  std::optional<Claim> claim;
  if (word.kind == WordKind::Closure) {
    claim.emplace();
    claim->how = Claim::How::Start;
    claim->one = claim->many = intern({Kind::Closure, types::kNoType, model_[word.type].name});
  } else if (word.type != types::kNoType && word.kind == WordKind::Conservative) {
    // The word of a union is a number, or the only pointer that the union may contain. It counts as
    // the pointer if it points to the start of an object that fits.
    if (is_crystal_pointer(model_[word.type])) claim = claim_of_pointer(word);
    if (word.container != types::kNoType) claim = claim_of_container(word);
    if (claim) claim->step = 0;
  } else if (word.kind == WordKind::Pointer || word.kind == WordKind::Reference) {
    claim = word.container != types::kNoType ? claim_of_container(word) : claim_of_pointer(word);
  }
  if (!claim || claim->one == kNoRow) return std::nullopt;
  claim->offset = word.offset;
  return claim;
}

std::optional<Claim> TypeRows::claim_of_container(const PointerWord& word) {
  const auto how = follow(model_, model_[word.container].name, last_member(word.path));
  if (!how) return claim_of_pointer(word);
  switch (how->leads) {
    case ContainerWord::Leads::Nowhere: return std::nullopt;
    case ContainerWord::Leads::ToBuffer:
      return buffer_claim(model_[word.type].target, holder_of(word));
    case ContainerWord::Leads::ToNode: return instance_claim(how->node);
  }
  return std::nullopt;
}

std::optional<Claim> TypeRows::claim_of_pointer(const PointerWord& word) {
  const types::Type& pointer = model_[word.type];
  if (pointer.target >= model_.types().size()) return std::nullopt;
  const types::Type& target = model_[pointer.target];
  if (word.kind == WordKind::Reference) {
    // An instance contains its type, unless the type's id has no name.
    if (target.shape != Shape::Struct || naming_.has_class(target.name)) return std::nullopt;
    auto claim = instance_claim(pointer.target);
    if (claim) claim->many = kNoRow;
    return claim;
  }
  if (is_crystal_pointer(pointer)) {
    if (target.shape == Shape::Opaque) return std::nullopt;
    auto claim = buffer_claim(pointer.target, holder_of(word));
    if (!claim) return claim;
    claim->by_kind = true;
    const std::string holder = holder_of(word);
    if (!is_container(holder)) claim->other_kind = intern({Kind::Unknown, types::kNoType, holder});
    return claim;
  }
  if (const auto owner = vlang::owner_of_buffer(pointer.name); !owner.empty()) {
    const std::string& holder = shown(model_.find(owner));
    return vlang::has_header(pointer.name) ? headed_claim(pointer.target, holder)
                                           : buffer_claim(pointer.target, holder);
  }
  if (is_node_base(target.name)) return std::nullopt;
  auto claim = instance_claim(pointer.target);
  // An object that is named by its referrer has no table that is known, so it may be of a class
  // that is derived from this one.
  if (claim && target.shape == Shape::Struct && target.has_header) {
    claim->one = intern({Kind::OneOrSubtype, pointer.target, ""});
  }
  return claim;
}

std::optional<Claim> TypeRows::buffer_claim(TypeRef element, const std::string& holder) {
  if (element >= model_.types().size()) return std::nullopt;
  Claim claim;
  claim.how = Claim::How::Elements;
  claim.bytes = claim.step = bytes_of(model_, element);
  claim.one = claim.many = intern({Kind::Buffer, element, holder});
  return claim;
}

// The claim on a buffer that may have V's header. A buffer that V has not made begins with its
// first element.
std::optional<Claim> TypeRows::headed_claim(TypeRef element, const std::string& holder) {
  auto claim = buffer_claim(element, holder);
  if (!claim) return claim;
  claim->header = vlang::kHeaderBytes;
  claim->many = intern({Kind::Headed, element, holder});
  return claim;
}

std::optional<Claim> TypeRows::instance_claim(TypeRef target) {
  if (target >= model_.types().size()) return std::nullopt;
  const types::Type& type = model_[target];
  Claim claim;
  claim.bytes = bytes_of(model_, target);
  if (type.shape == Shape::Opaque) {
    if (says_nothing(type)) return std::nullopt;
    claim.how = Claim::How::Start;
    claim.one = claim.many = intern({Kind::One, target, ""});
    return claim;
  }
  if (claim.bytes == 0) return std::nullopt;
  const bool is_structure = type.shape == Shape::Struct || type.shape == Shape::Union;
  claim.many = intern({Kind::Many, target, ""});
  claim.one = is_structure ? intern({Kind::One, target, ""}) : claim.many;
  claim.has_tail = ends_in_array(model_, type);
  // If objects have a header, it shows which of the types they have.
  const bool has_subtypes = subtype_bytes_.contains(target);
  if (is_structure && has_subtypes && !type.has_header && !naming_.has_class(type.name)) {
    claim.one_or_subtype = intern({Kind::OneOrSubtype, target, ""});
  }
  // A pointer to a number inside an object most likely points to a member.
  claim.step = is_structure && !claim.has_tail ? claim.bytes : 0;
  return claim;
}

}  // namespace heapattach::snapshot
