#include "symbols/nim/type_information.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/base/word.h"
#include "symbols/nim/variants.h"
#include "symbols/types/model_checks.h"

namespace heapattach::nim {

namespace {

using types::Encoding;
using types::kNoType;
using types::Member;
using types::Shape;
using types::Type;
using types::TypeModel;
using types::TypeRef;

struct NumberKind {
  std::string_view name;
  Encoding encoding = Encoding::Signed;
};

// Numbers have their C names if Nim has a number of that C type, as in debug information.
std::optional<NumberKind> number_of(std::uint8_t kind) {
  constexpr std::array kNumbers{NumberKind{"long"},
                                NumberKind{"signed char"},
                                NumberKind{"short"},
                                NumberKind{"int"},
                                NumberKind{"int64"},
                                NumberKind{"double", Encoding::Float},
                                NumberKind{"float", Encoding::Float},
                                NumberKind{"float64", Encoding::Float},
                                NumberKind{"float128", Encoding::Float},
                                NumberKind{"unsigned long", Encoding::Unsigned},
                                NumberKind{"unsigned char", Encoding::Unsigned},
                                NumberKind{"uint16", Encoding::Unsigned},
                                NumberKind{"unsigned int", Encoding::Unsigned},
                                NumberKind{"uint64", Encoding::Unsigned}};
  if (kind == kBoolType) return NumberKind{"bool", Encoding::Boolean};
  if (kind == kCharType) return NumberKind{"char", Encoding::Character};
  if (kind < kIntType || kind > kUint64Type) return std::nullopt;
  return kNumbers.at(kind - kIntType);
}

// Whether the fields are those of a tuple without names: "Field0", "Field1" …
bool is_unnamed_tuple(const TypeRecord& record) {
  std::size_t number = 0;
  return record.kind == kTupleType && !record.fields.empty() &&
         std::all_of(record.fields.begin(), record.fields.end(), [&](const FieldRecord& field) {
           return field.name == fmt::format("Field{}", number++);
         });
}

class Description {
 public:
  Description(const std::vector<TypeRecord>& records, const Modules& modules) : modules_(modules) {
    for (const TypeRecord& record : records) records_.emplace(record.at, &record);
  }

  TypeModel run() {
    describe_strings();
    for (const auto& [at, record] : records_) of(at);
    for (TypeRef ref = 0; ref < model_.types().size(); ++ref) {
      model_[ref].known_from = {std::string(kFromRecords)};
    }
    types::make_sound(model_);
    return std::move(model_);
  }

 private:
  TypeRef add(std::string_view name, Shape shape, std::uint64_t bytes) {
    const TypeRef ref = model_.intern(name);
    model_[ref].shape = shape;
    model_[ref].bytes = bytes;
    return ref;
  }

  TypeRef number(std::string_view name, std::uint64_t bytes, Encoding encoding) {
    const TypeRef ref = add(name, Shape::Number, bytes);
    model_[ref].encoding = encoding;
    return ref;
  }

  TypeRef pointer_to(TypeRef target) {
    const std::string name =
        target == kNoType ? "void *" : fmt::format("{} *", model_[target].name);
    const TypeRef ref = add(name, Shape::Pointer, kWordBytes);
    model_[ref].target = target;
    return ref;
  }

  TypeRef array_of(TypeRef element, std::optional<std::uint64_t> count) {
    const std::string name = fmt::format("{}[{}]", model_[element].name,
                                         count ? fmt::format("{}", *count) : std::string());
    const TypeRef ref = model_.intern(name);
    model_[ref].shape = Shape::Array;
    model_[ref].target = element;
    model_[ref].count = count;
    return ref;
  }

  // Makes the type a sequence or a string: two lengths, then as many elements as fit.
  void fill_sequence(TypeRef at, TypeRef element, std::uint64_t elements_at) {
    constexpr std::uint64_t kLengths = 16;
    const TypeRef length = number("long", kWordBytes, Encoding::Signed);
    const TypeRef lengths = add("struct TGenericSeq", Shape::Struct, kLengths);
    model_[lengths].members = {{"len", 0, length}, {"reserved", kWordBytes, length}};
    const TypeRef data = array_of(element, std::nullopt);
    Member base{.name = {}, .offset = 0, .type = lengths, .is_base = true};
    model_[at].shape = Shape::Struct;
    model_[at].bytes = elements_at;
    model_[at].members = {std::move(base), {"data", elements_at, data}};
  }

  void describe_strings() {
    constexpr std::uint64_t kTextAt = 16;
    const TypeRef text = model_.intern(kString);
    fill_sequence(text, number("char", 1, Encoding::Character), kTextAt);
  }

  [[nodiscard]] const TypeRecord* record_at(std::uint64_t at) const {
    const auto found = records_.find(at);
    return found != records_.end() ? found->second : nullptr;
  }

  // The type that a record describes. A record of a reference, sequence or string gives a pointer.
  TypeRef of(std::uint64_t at, int depth = 0) {
    constexpr int kDeepest = 64;
    const TypeRecord* const record = record_at(at);
    if (record == nullptr || depth > kDeepest) return kNoType;
    if (const auto known = refs_.find(at); known != refs_.end()) return known->second;
    const TypeRef ref = describe(*record, depth);
    refs_.emplace(at, ref);
    return ref;
  }

  TypeRef describe(const TypeRecord& record, int depth) {
    if (const auto found = number_of(record.kind)) {
      return number(found->name, record.bytes, found->encoding);
    }
    switch (record.kind) {
      case kObjectType:
      case kTupleType: return describe_object(record, depth);
      case kEnumType: return describe_enum(record);
      case kSequenceType: return describe_sequence(record, depth);
      case kStringType: return pointer_to(model_.find(kString));
      case kRefType:
      case kPtrType:
      case kVarType: return pointer_to(of(record.base, depth + 1));
      case kPointerType:
      case kCstringType: return pointer_to(kNoType);
      case kProcType: return add("proc", Shape::Code, record.bytes);
      case kDistinctType:
      case kRangeType:
        if (const TypeRef base = of(record.base, depth + 1); base != kNoType) return base;
        break;
      case kArrayType:
        if (const TypeRef element = of(record.base, depth + 1); element != kNoType) {
          return array_of(element, record.bytes / bytes_of(record.base));
        }
        break;
      case kSetType:
        return number(fmt::format("set of {} bytes", record.bytes), record.bytes,
                      Encoding::Unsigned);
      default: break;
    }
    return add(fmt::format("(type at {})", place(record)), Shape::Opaque, record.bytes);
  }

  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t at) const {
    const TypeRecord* const record = record_at(at);
    return record != nullptr ? record->bytes : 1;
  }

  TypeRef describe_enum(const TypeRecord& record) {
    const auto known = info_name(record.symbol);
    const std::string name = known ? enum_name(*known) : fmt::format("(enum at {})", place(record));
    return describe_values(model_, name, record);
  }

  TypeRef describe_sequence(const TypeRecord& record, int depth) {
    const TypeRef sequence = model_.intern(fmt::format("struct tySequence__{}", key(record)));
    const TypeRef pointer = pointer_to(sequence);
    refs_.emplace(record.at, pointer);  // before the element, which may contain the sequence
    const TypeRef element = of(record.base, depth + 1);
    const TypeRecord* const base = record_at(record.base);
    if (element == kNoType || base == nullptr) return pointer;
    constexpr std::uint64_t kLengths = 16;
    fill_sequence(sequence, element, std::max(kLengths, base->align));
    return pointer;
  }

  TypeRef describe_object(const TypeRecord& record, int depth) {
    if (record.kind == kObjectType && record.base == 0) return describe_root(record);
    const TypeRef ref = add(name_of(record), Shape::Struct, record.bytes);
    refs_.emplace(record.at, ref);  // before the fields, which may refer to this type
    std::vector<Member> members;
    if (record.kind == kObjectType) {
      members.push_back(
          {.name = {}, .offset = 0, .type = of(record.base, depth + 1), .is_base = true});
    }
    const auto member_of = [&](const FieldRecord& field) {
      return std::optional<Member>({field.name, field.offset, of(field.type, depth + 1)});
    };
    for (const FieldRecord& field : record.fields) {
      if (field.branch == 0) members.push_back(*member_of(field));
    }
    model_[ref].members = std::move(members);
    add_choices(model_, ref, record, member_of);
    if (model_[ref].choice) return ref;
    for (const FieldRecord& field : record.fields) {
      if (field.branch == 0 || is_contested(field, record)) continue;
      const Member member = *member_of(field);
      model_[ref].members.push_back(member);
    }
    return ref;
  }

  TypeRef describe_root(const TypeRecord& record) {
    const TypeRef ref = add("struct RootObj", Shape::Struct, record.bytes);
    model_[ref].members = {{"m_type", 0, pointer_to(kNoType)}};
    return ref;
  }

  // Whether another branch of a variant object has another field in the same memory.
  [[nodiscard]] bool is_contested(const FieldRecord& field, const TypeRecord& record) const {
    const std::uint64_t end = field.offset + bytes_of(field.type);
    return std::any_of(record.fields.begin(), record.fields.end(), [&](const FieldRecord& other) {
      const bool is_same = other.type == field.type && other.offset == field.offset;
      return other.branch != field.branch && !is_same && other.offset < end &&
             field.offset < other.offset + bytes_of(other.type);
    });
  }

  // The record's address in its file, which is the same in all runs of a program.
  [[nodiscard]] std::string place(const TypeRecord& record) const {
    const Module* const module = modules_.find(RemoteAddr{record.at});
    return fmt::format("0x{:x}", record.at - (module != nullptr ? module->bias() : 0));
  }

  // Distinguishes types that have the same name.
  [[nodiscard]] std::string key(const TypeRecord& record) const {
    if (const auto known = info_name(record.symbol)) return known->hash;
    return hash_of_record(record.at, modules_);
  }

  std::string name_of(const TypeRecord& record) {
    if (is_unnamed_tuple(record)) return fmt::format("struct tyTuple__{}", key(record));
    const auto known = info_name(record.symbol);
    // The compiler calls types that have no name "object".
    const bool is_named = known && known->name != "object";
    std::string name = is_named ? known->name : name_by_fields(record);
    if (!is_named && !names_.insert(name).second) {
      name.insert(name.size() - 1, fmt::format("; {}", place(record)));
    }
    return fmt::format("struct tyObject_{}__{}", name, key(record));
  }

  // The object with a closure's variables is recognised by its first field, ":state".
  [[nodiscard]] std::string name_by_fields(const TypeRecord& record) const {
    constexpr std::string_view kState = ":state";
    std::vector<std::string> names;
    collect_fields(record, 0, names);
    const bool is_closure = !names.empty() && names.front() == kState;
    if (is_closure) names.erase(names.begin());
    const std::string_view what = is_closure ? "closure" : "object";
    if (names.empty()) return fmt::format("({} without fields)", what);
    constexpr std::size_t kMost = 4;
    const bool has_more = names.size() > kMost;
    names.resize(std::min(names.size(), kMost));
    return fmt::format("({} with {}{})", what, fmt::join(names, ", "), has_more ? " …" : "");
  }

  // Collects the names of the type's own fields first: they distinguish it from other types with
  // the same base.
  void collect_fields(const TypeRecord& record, int depth, std::vector<std::string>& names) const {
    constexpr int kDeepest = 32;
    for (const FieldRecord& field : record.fields) names.push_back(field.name);
    const TypeRecord* const base = record_at(record.base);
    if (record.kind == kObjectType && base != nullptr && depth < kDeepest) {
      collect_fields(*base, depth + 1, names);
    }
  }

  const Modules& modules_;
  std::map<std::uint64_t, const TypeRecord*> records_;
  std::unordered_map<std::uint64_t, TypeRef> refs_;  // by record
  std::set<std::string> names_;                      // of types that are named by their fields
  TypeModel model_;
};

}  // namespace

TypeModel describe_records(const std::vector<TypeRecord>& records, const Modules& modules) {
  if (records.empty()) return {};
  return Description(records, modules).run();
}

}  // namespace heapattach::nim
