#include "report/typing/type_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/type_names.h"
#include "report/typing/cxx_containers.h"
#include "symbols/vlang/types.h"

namespace heapattach::snapshot {

namespace {

using types::Shape;
using types::TypeRef;

// If a model needs more rows or words than this, the rest has no fields.
constexpr std::size_t kMostRows = std::size_t{1} << 20;
constexpr std::size_t kMostTotal = std::size_t{1} << 23;

// The path to a part of an element. The key and value of a hash entry are called "key" and "value",
// whatever the compiler calls the entry's variables.
std::string element_path(std::string_view element_type, std::string path) {
  if (element_type.starts_with("Hash::Entry(") && path.starts_with('@')) path.erase(0, 1);
  return path;
}

// The name of a field's type. A reference to an instance has the name of the class, as in the
// language.
const std::string& field_type_name(const TypeRows& rows, TypeRef ref) {
  const types::TypeModel& model = rows.model();
  const types::Type& type = model[ref];
  const bool is_plain = type.is_reference && type.target < model.types().size() &&
                        type.name == model[type.target].name + " *";
  return rows.shown(is_plain ? type.target : ref);
}

std::vector<std::string> sources_of(const types::Type& type) {
  std::vector<std::string> sources = type.known_from;
  sources.emplace_back("referrer");
  return sources;
}

Type row_of(const runtimes::Shape& shape) {
  const bool is_part = !shape.holder.empty();
  Type type;
  type.name = shape.name;
  type.holder = shape.holder;
  type.typed_by = is_part ? TypedBy::Referrer : TypedBy::Header;
  type.known_from = {is_part ? "referrer" : "tag"};
  for (const auto& word : shape.words) {
    type.paths.push_back({word.offset, word.name});
    if (!word.type.empty()) type.fields.push_back({word.name, word.type, word.offset, 8});
  }
  for (const auto& number : shape.numbers) {
    const bool is_word = std::any_of(shape.words.begin(), shape.words.end(), [&](const auto& word) {
      return !word.type.empty() && word.offset == number.offset;
    });
    if (is_word) continue;
    type.fields.push_back({number.name, number.type, number.offset, number.bytes});
  }
  std::sort(type.fields.begin(), type.fields.end(),
            [](const Type::Field& a, const Type::Field& b) { return a.offset < b.offset; });
  type.elements.at = shape.elements_at;
  type.elements.bytes = shape.element_bytes;
  for (const auto& word : shape.element_words) {
    type.elements.paths.push_back({word.offset, word.name});
  }
  return type;
}

}  // namespace

TypeRows::TypeRows(const Naming& naming, const types::TypeModel& model)
    : naming_(naming), model_(model), shown_(nim::shown_names(model)), types_(naming.types()) {
  shown_.merge(vlang::shown_names(model));
  layouts_.resize(types_.size());
  refs_.resize(types_.size(), types::kNoType);
  buffer_pointers_.resize(types_.size());
  has_unknown_fields_.resize(types_.size());
  find_subtypes();
  const auto rows = static_cast<TypeIndex>(types_.size());
  for (TypeIndex row = 0; row < rows; ++row) {
    if (types_[row].typed_by != TypedBy::Nothing) fill_class(row);
    if (!layouts_[row].is_precise) fall_back(row);
    if (auto name = control_block_name(types_[row].name); !name.empty()) {
      types_[row].name = std::move(name);
    } else if (refs_[row] != types::kNoType) {
      types_[row].name = shown(refs_[row]);
    }
    has_buffer_pointers_ =
        has_buffer_pointers_ || !buffer_pointers_[row].empty() || has_unknown_fields_[row];
    add_chosen_rows(row);
  }
  fill_waiting();
}

// Records the size of each type at its first base, at the first base of that base, and so on. Most
// types have only a few bases.
void TypeRows::find_subtypes() {
  constexpr int kDeepest = 32;
  const auto base_of = [&](TypeRef ref) {
    for (const types::Member& member : model_[ref].members) {
      const bool is_first = member.is_base && !member.is_virtual_base && member.offset == 0;
      if (is_first && member.type < model_.types().size()) return member.type;
    }
    return types::kNoType;
  };
  for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
    if (model_[ref].shape != Shape::Struct || model_[ref].bytes.value_or(0) == 0) continue;
    TypeRef base = base_of(ref);
    for (int depth = 0; base != types::kNoType && depth < kDeepest; ++depth) {
      subtype_bytes_[base].push_back(*model_[ref].bytes);
      base = base_of(base);
    }
  }
  for (auto& [base, bytes] : subtype_bytes_) {
    std::sort(bytes.begin(), bytes.end());
    bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  }
}

std::span<const std::uint64_t> TypeRows::subtype_bytes(TypeIndex row) const {
  const auto found = subtype_bytes_.find(refs_[row]);
  return found != subtype_bytes_.end() ? std::span<const std::uint64_t>(found->second)
                                       : std::span<const std::uint64_t>();
}

const std::string& TypeRows::shown(TypeRef type) const {
  const auto found = shown_.find(type);
  return found != shown_.end() ? found->second : model_[type].name;
}

bool TypeRows::is_nim_text(TypeIndex row) const {
  return refs_[row] != types::kNoType && !shown_.empty() &&
         model_[refs_[row]].name == nim::kString && types_[row].name == nim::kShownString;
}

std::span<const crystal::BufferPointer> TypeRows::buffer_pointers(TypeIndex row) const {
  if (row >= buffer_pointers_.size()) return {};
  return buffer_pointers_[row];
}

const RowLayout& TypeRows::variable(TypeRef type) {
  const auto [at, is_new] = variables_.try_emplace(type);
  if (is_new && type < model_.types().size()) {
    Type unnamed;
    RowLayout layout;
    if (model_[type].shape == Shape::Array) {
      fill_elements(model_[type].target, 0, layout, unnamed);
    } else {
      fill_instance(type, map_of(type), layout, unnamed);
    }
    at->second = std::move(layout);
    fill_waiting();
  }
  return at->second;
}

void TypeRows::add_named(runtimes::ObjectNames names) {
  named_ = std::move(names);
  first_named_ = static_cast<TypeIndex>(types_.size());
  for (const runtimes::Shape& shape : named_.shapes()) add_row(row_of(shape), types::kNoType);
}

const runtimes::Shape* TypeRows::shape_of(TypeIndex row) const {
  const auto& shapes = named_.shapes();
  if (row < first_named_ || row - first_named_ >= shapes.size()) return nullptr;
  return &shapes[row - first_named_];
}

TypeIndex TypeRows::add_row(Type type, TypeRef ref) {
  types_.push_back(std::move(type));
  layouts_.emplace_back();
  refs_.push_back(ref);
  return static_cast<TypeIndex>(types_.size() - 1);
}

TypeIndex TypeRows::intern(const Key& key) {
  const auto found = rows_.find(key);
  if (found != rows_.end()) return found->second;
  if (rows_.size() >= kMostRows) return kNoRow;
  const auto& [kind, ref, holder] = key;
  Type type;
  type.typed_by = TypedBy::Referrer;
  type.known_from = {"referrer"};
  if (ref != types::kNoType) type.known_from = sources_of(model_[ref]);
  switch (kind) {
    case Kind::One: type.name = shown(ref); break;
    case Kind::OneOrSubtype: type.name = shown(ref) + " or a subtype"; break;
    case Kind::Many: type.name = shown(ref) + "[]"; break;
    case Kind::Closure: type.name = fmt::format("(closure of {})", holder); break;
    case Kind::Buffer:
    case Kind::Headed:
    case Kind::Unknown: type.name = fmt::format("(buffer of {})", holder); break;
    case Kind::Held: type.name = unnamed_in(holder); break;
  }
  type.holder = holder;
  const TypeIndex row = add_row(std::move(type), ref);
  rows_.emplace(key, row);
  waiting_.emplace_back(key, row);
  return row;
}

void TypeRows::fill_waiting() {
  while (!waiting_.empty()) {
    const auto [key, row] = waiting_.back();
    waiting_.pop_back();
    fill(key, row);
  }
}

void TypeRows::fill(const Key& key, TypeIndex row) {
  const auto& [kind, ref, holder] = key;
  // Work on copies, because the claims add rows, which moves the vectors.
  RowLayout layout;
  Type type = types_[row];
  if (kind == Kind::One || kind == Kind::OneOrSubtype) {
    fill_instance(ref, map_of(ref), layout, type);
    // An instance is as large as its type. The bytes after it are unknown.
    if (type.instance_bytes && layout.element_bytes == 0) {
      layout.known_to = std::min(layout.known_to, (*type.instance_bytes + 7) / 8 * 8);
    }
  } else if (kind == Kind::Many || kind == Kind::Buffer) {
    fill_elements(ref, 0, layout, type);
  } else if (kind == Kind::Headed) {
    fill_elements(ref, vlang::kHeaderBytes, layout, type);
  } else if (kind == Kind::Unknown || kind == Kind::Held) {
    // The objects that it references belong to the same holder, unless something better is known.
    Claim claim;
    claim.how = Claim::How::Start;
    claim.one = claim.many = intern({Kind::Held, types::kNoType, holder});
    layout.element_bytes = 8;
    if (claim.one != kNoRow) layout.element_claims.push_back(claim);
    has_claims_ = true;
  }
  types_[row] = std::move(type);
  layouts_[row] = std::move(layout);
  if (kind == Kind::One || kind == Kind::OneOrSubtype) add_chosen_rows(row);
}

PointerMap TypeRows::map_of(TypeRef ref) {
  PointerMap map;
  map.known_to = 0;
  if (words_ > kMostTotal) return map;
  map = flatten(model_, ref);
  words_ += map.words.size() + map.leaves.size();
  return map;
}

void TypeRows::fill_instance(TypeRef ref, PointerMap map, RowLayout& layout, Type& named) {
  layout.is_precise = model_[ref].shape != Shape::Opaque;
  layout.known_to = map.known_to;
  if (map.bytes != 0) named.instance_bytes = map.bytes;
  // To the collector, a weak reference is no pointer, because it must not keep its object alive.
  if (model_[ref].name.starts_with("WeakRef(")) map.words.clear();
  for (PointerWord& word : map.words) {
    layout.words.push_back(word.offset);
    add_claims(word, layout.claims);
    if (!word.is_named || word.path.empty()) continue;
    named.paths.push_back({word.offset, std::move(word.path)});
  }
  add_choice_claims(map, 0, 0, layout.claims);
  if (!map.leaves.empty()) named.fields.clear();
  for (Leaf& leaf : map.leaves) {
    named.fields.push_back(
        {std::move(leaf.path), field_type_name(*this, leaf.type), leaf.offset, leaf.bytes});
  }
  if (map.tail && map.tail->element < model_.types().size()) {
    named.elements.name = map.tail->path;
    fill_elements(map.tail->element, map.tail->offset, layout, named);
  }
  has_claims_ = has_claims_ || layout.has_claims();
}

void TypeRows::fill_elements(TypeRef element, std::uint64_t at, RowLayout& layout, Type& named) {
  const std::string& type_name = model_[element].name;
  PointerMap map = map_of(element);
  const bool has_words = !map.words.empty() || map.known_to < map.bytes;
  // If elements do not consist of whole words, the offsets of their pointers vary.
  const bool is_regular =
      map.bytes != 0 && map.bytes % 8 == 0 && at % 8 == 0 && map.known_to >= map.bytes && !map.tail;
  if (!is_regular && (has_words || map.bytes == 0)) {
    layout.known_to = std::min(layout.known_to, at);
    layout.is_precise = true;
    return;
  }
  layout.is_precise = true;
  layout.elements_at = at;
  layout.element_bytes = map.bytes;
  named.elements.at = at;
  named.elements.bytes = map.bytes;
  for (PointerWord& word : map.words) {
    layout.element_words.push_back(word.offset);
    add_claims(word, layout.element_claims);
    if (!word.is_named) continue;
    named.elements.paths.push_back({word.offset, element_path(type_name, std::move(word.path))});
  }
  add_choice_claims(map, 0, 0, layout.element_claims);
  has_claims_ = has_claims_ || layout.has_claims();
}

void TypeRows::fill_class(TypeIndex row) {
  const TypeRef ref = model_.find(types_[row].name);
  if (ref == types::kNoType || model_[ref].shape != Shape::Struct) return;
  const auto& by_model = model_[ref].bytes;
  const auto& by_header = types_[row].instance_bytes;
  if (by_model && by_header && *by_model != *by_header) {
    notes_.push_back(
        fmt::format("{}: instances take {} bytes, but its fields add up to {}: ignored",
                    types_[row].name, *by_header, *by_model));
    return;
  }
  Type type = types_[row];
  RowLayout layout;
  PointerMap map = map_of(ref);
  add_buffer_pointers(row, map);
  fill_instance(ref, std::move(map), layout, type);
  for (const std::string& source : model_[ref].known_from) {
    const auto& known = type.known_from;
    if (std::find(known.begin(), known.end(), source) == known.end()) {
      type.known_from.push_back(source);
    }
  }
  refs_[row] = ref;
  types_[row] = std::move(type);
  layouts_[row] = std::move(layout);
}

// Adds Crystal's pointers to buffers and closures: those in the type's fields, and those that
// Naming knows without fields.
void TypeRows::add_buffer_pointers(TypeIndex row, const PointerMap& map) {
  const auto known = naming_.buffer_pointers(row);
  std::vector<crystal::BufferPointer>& pointers = buffer_pointers_[row];
  pointers.assign(known.begin(), known.end());
  for (const PointerWord& word : map.words) {
    const bool is_buffer = word.kind == WordKind::Pointer &&
                           model_[word.type].name.starts_with("Pointer(") &&
                           model_[word.type].name != "Pointer(Void)";
    if (!is_buffer && word.kind != WordKind::Closure) continue;
    const bool is_listed =
        std::any_of(pointers.begin(), pointers.end(),
                    [&](const crystal::BufferPointer& p) { return p.offset == word.offset; });
    if (is_listed || word.offset > ~std::uint32_t{0}) continue;
    pointers.push_back({static_cast<std::uint32_t>(word.offset), false});
  }
}

// Adds claims for a row without fields. The containers of the standard library are recognised by
// their names.
void TypeRows::fall_back(TypeIndex row) {
  const auto known = naming_.buffer_pointers(row);
  buffer_pointers_[row].assign(known.begin(), known.end());
  Type& type = types_[row];
  for (const Type::Field& field : type.fields) type.paths.push_back({field.offset, field.name});
  if (type.typed_by != TypedBy::Header) return;
  has_unknown_fields_[row] = naming_.knows_code() && !naming_.is_string(row);
  const std::string holder = type.name;  // the row moves when others are added
  for (const crystal::BufferPointer& pointer : known) {
    Claim claim;
    claim.offset = pointer.offset;
    claim.how = Claim::How::Elements;
    claim.step = pointer.may_be_inside ? 1 : 0;
    claim.one = claim.many = intern({Kind::Unknown, types::kNoType, holder});
    if (claim.one != kNoRow) layouts_[row].claims.push_back(claim);
  }
  claim_the_rest(row);
  has_claims_ = has_claims_ || layouts_[row].has_claims();
}

// Adds claims for all other words of an instance. If an object does not contain its type and has no
// better claim, it is a buffer, a closure or the like, and is named after its holder.
void TypeRows::claim_the_rest(TypeIndex row) {
  constexpr std::uint64_t kLargest = 1024;  // a larger instance contains arrays
  const std::uint64_t bytes = types_[row].instance_bytes.value_or(kLargest);
  if (bytes > kLargest || naming_.is_string(row)) return;
  const std::string holder = types_[row].name;
  for (std::uint64_t offset = 8; offset + 8 <= bytes; offset += 8) {
    const auto& claims = layouts_[row].claims;
    if (std::any_of(claims.begin(), claims.end(),
                    [&](const Claim& claim) { return claim.offset == offset; })) {
      continue;
    }
    Claim claim;
    claim.offset = offset;
    claim.how = Claim::How::Start;
    claim.one = claim.many = intern({Kind::Held, types::kNoType, holder});
    if (claim.one != kNoRow) layouts_[row].claims.push_back(claim);
  }
}

}  // namespace heapattach::snapshot
