#include "symbols/mono/classes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "symbols/mono/metadata.h"
#include "symbols/text/utf8.h"

namespace heapattach::mono {

namespace {

constexpr std::uint64_t kMostDomains = 1024;
constexpr std::uint64_t kMostSlots = 1 << 16;
constexpr std::uint64_t kMostFields = 4096;
constexpr std::uint64_t kMostArguments = 64;
constexpr std::uint64_t kMostBytes = 1U << 20;  // the largest offset of a field
constexpr int kDeepest = 8;                     // nesting of names and of embedded values
constexpr int kMostBases = 64;
constexpr std::uint64_t kDomainBytes = 0x400;  // the list of vtables is within this offset
constexpr std::uint64_t kMostVtables = 1 << 20;
constexpr std::uint64_t kMostThreadFields = 1 << 14;

constexpr std::uint64_t kVtableDomain = 0x10;
constexpr std::uint64_t kVtableFlags = 0x2f;  // a byte
constexpr std::uint64_t kHasStaticFields = 4;
constexpr std::uint64_t kStaticField = 0x10;  // attributes of a field's type
constexpr std::uint64_t kConstant = 0x40;

// Offsets in the generic class that a type of the code kGeneric references.
constexpr std::uint64_t kGenericArguments = 8;
constexpr std::uint64_t kGenericInstance = 0x20;  // the class with these arguments

using Kind = runtimes::Shape::Number::Kind;

struct Named {
  std::uint8_t code;
  std::string_view name;
  std::uint64_t bytes = 0;  // 0: it is not a number
  Kind kind = Kind::Unread;
};
constexpr std::array kNamed{Named{0x01, "System.Void"},
                            Named{0x02, "System.Boolean", 1, Kind::Boolean},
                            Named{0x03, "System.Char", 2, Kind::Character},
                            Named{0x04, "System.SByte", 1, Kind::Signed},
                            Named{0x05, "System.Byte", 1, Kind::Unsigned},
                            Named{0x06, "System.Int16", 2, Kind::Signed},
                            Named{0x07, "System.UInt16", 2, Kind::Unsigned},
                            Named{0x08, "System.Int32", 4, Kind::Signed},
                            Named{0x09, "System.UInt32", 4, Kind::Unsigned},
                            Named{0x0a, "System.Int64", 8, Kind::Signed},
                            Named{0x0b, "System.UInt64", 8, Kind::Unsigned},
                            Named{0x0c, "System.Single", 4, Kind::Float},
                            Named{0x0d, "System.Double", 8, Kind::Float},
                            Named{0x0e, "System.String"},
                            Named{0x18, "System.IntPtr", 8, Kind::Signed},
                            Named{0x19, "System.UIntPtr", 8, Kind::Unsigned},
                            Named{0x1c, "System.Object"}};

const Named* named_by(std::uint64_t code) {
  const auto* const named = std::find_if(kNamed.begin(), kNamed.end(),
                                         [&](const Named& one) { return one.code == code; });
  return named == kNamed.end() ? nullptr : named;
}

constexpr std::uint64_t kDecimalBytes = 16;

// Replaces the number of type parameters in a class's own name, "List`1", by the arguments, which
// it takes from the front of `rest`. Without arguments the name stays.
std::string with_arguments(const std::string& name, std::vector<std::string>& rest) {
  const std::size_t tick = name.rfind('`');
  if (tick == std::string::npos) return name;
  std::size_t count = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + tick + 1, end, count);
  if (parsed.ptr != end || count == 0 || count > rest.size()) return name;
  const auto after = rest.begin() + static_cast<std::ptrdiff_t>(count);
  std::string whole =
      fmt::format("{}<{}>", name.substr(0, tick), fmt::join(rest.begin(), after, ", "));
  rest.erase(rest.begin(), after);
  return whole;
}

// The C# compiler calls the field of the property Total "<Total>k__BackingField".
std::string shown_field(const std::string& name) {
  constexpr std::string_view kEnd = ">k__BackingField";
  if (!name.starts_with('<') || !name.ends_with(kEnd) || name.size() == kEnd.size() + 1)
    return name;
  return name.substr(1, name.size() - 1 - kEnd.size());
}

}  // namespace

// Which of a class's fields to add, and where.
struct ClassReader::FieldsOf {
  std::uint64_t at = 0;  // added to offsets
  std::string before;    // added to names: "key."
  bool is_static = false;
  int depth = 0;
};

void add_fields(const std::vector<Field>& fields, std::uint64_t bytes, runtimes::Shape& into) {
  for (const Field& field : fields) {
    if (field.offset > bytes || bytes - field.offset < field.bytes) continue;
    const bool is_word = field.offset % 8 == 0 && field.bytes == 8;
    if (field.is_reference && !is_word) continue;
    const bool may_refer = is_word && field.kind != Kind::Float;
    if (may_refer) into.words.push_back({field.offset, field.name, field.type});
    if (field.is_reference) continue;
    into.numbers.push_back(
        {field.offset, field.bytes, field.kind, field.name, field.type, field.names});
  }
  into.has_only_references = true;
}

const Class* ClassReader::of_first_word(std::uint64_t word) {
  if (word == 0 || word % 8 != 0) return nullptr;
  const auto [at, is_new] = classes_.try_emplace(word);
  if (is_new) {
    steps_ = 0;
    at->second = read(word);
  }
  return at->second.get();
}

// A class has a vtable for each domain, and lists them.
bool ClassReader::is_vtable(std::uint64_t vtable, std::uint64_t of) const {
  const std::uint64_t info = word(of + kRuntimeInfo);
  if (info == 0 || info % 8 != 0) return false;
  const std::uint64_t domains = std::min(number(info, 2), kMostDomains);
  for (std::uint64_t domain = 0; domain <= domains; ++domain) {
    const auto one = read_(info + 8 + domain * 8);
    if (!one) return false;
    if (*one == vtable) return true;
  }
  return false;
}

std::unique_ptr<Class> ClassReader::read(std::uint64_t vtable) {
  const std::uint64_t at = word(vtable);
  if (at == 0 || at % 8 != 0 || !is_vtable(vtable, at)) return nullptr;
  const auto [common, is_new] = common_.try_emplace(at);
  if (is_new) common->second = read_common(at);
  if (!common->second) return nullptr;
  auto found = std::make_unique<Class>(*common->second);
  found->domain = word(vtable + kVtableDomain);
  const std::uint64_t slots = number(at + kVtableSlots, 4);
  const bool has_statics = (number(vtable + kVtableFlags, 1) & kHasStaticFields) != 0;
  if (!found->is_array && has_statics && slots <= kMostSlots) {
    found->static_fields_at = word(vtable + facts_.methods_at + slots * 8);
    found->static_bytes = number(at + kElementBytes, 4);
  }
  return found;
}

std::optional<Class> ClassReader::read_common(std::uint64_t at) const {
  Class found;
  found.at = at;
  found.name = name_of(at, 0);
  found.instance_bytes = number(at + kInstanceBytes, 4);
  if (found.name.empty() || found.instance_bytes < kObjectHeader) return std::nullopt;
  found.is_string = number(at + kType + kTypeCode, 1) == kString;
  found.is_array = number(at + kRank, 1) != 0;
  if (found.is_array) {
    read_array(found);
    return found;
  }
  std::uint64_t base = at;
  for (int i = 0; i < kMostBases && base != 0; ++i, base = word(base + kParent)) {
    add_fields(base, {}, found.fields);
  }
  std::sort(found.fields.begin(), found.fields.end(),
            [](const Field& a, const Field& b) { return a.offset < b.offset; });
  if (found.fields.size() == 1 && is_enumeration(at)) {
    found.fields.front().names = names_of_values(at);
  }
  read_delegate(found);
  return found;
}

void ClassReader::read_delegate(Class& into) const {
  const std::uint64_t base = word(into.at + kParent);
  if (base == 0 || text(word(base + kName)) != "MulticastDelegate") return;
  for (const Field& field : into.fields) {
    if (field.name == "method") into.delegate_method = field.offset;
    if (field.name == "delegates") into.delegate_list = field.offset;
  }
}

void ClassReader::read_array(Class& into) const {
  const std::uint64_t element = word(into.at + kElementClass);
  into.element_bytes = number(into.at + kElementBytes, 4);
  if ((number(element + kClassFlags, 1) & kIsValueType) != 0) {
    add_fields(element, {.at = 0 - kObjectHeader, .before = {}, .is_static = false, .depth = 0},
               into.fields);
  } else {
    Field itself;
    itself.is_reference = true;
    into.fields.push_back(itself);
  }
}

// A domain has a list of its vtables: the address of an array, and how many vtables are in it. The
// list is recognised by the first and the last of them, which belong to the domain.
std::optional<ClassReader::VtableList> ClassReader::vtable_list(std::uint64_t domain) {
  const auto is_its = [&](std::uint64_t vtable) {
    const Class* const found = of_first_word(vtable);
    return found != nullptr && found->domain == domain;
  };
  for (std::uint64_t at = 0; at < kDomainBytes && domain % 8 == 0; at += 8) {
    const std::uint64_t list = word(domain + at);
    const std::uint64_t array = list != 0 && list % 8 == 0 ? word(list) : 0;
    const std::uint64_t count = array != 0 ? number(list + 8, 4) : 0;
    if (array % 8 != 0 || count == 0 || count > kMostVtables) continue;
    if (!is_its(word(array)) || !is_its(word(array + (count - 1) * 8))) continue;
    return VtableList{at, array, count};
  }
  return std::nullopt;
}

std::vector<std::uint64_t> ClassReader::vtables_of(std::uint64_t domain) {
  std::vector<std::uint64_t> vtables;
  const VtableList list = vtable_list(domain).value_or(VtableList{});
  for (std::uint64_t i = 0; i < list.count; ++i) vtables.push_back(word(list.array + i * 8));
  return vtables;
}

std::vector<std::uint64_t> ClassReader::domains() const {
  std::vector<std::uint64_t> domains;
  const std::uint64_t info = word(facts_.string_class + kRuntimeInfo);
  if (facts_.string_class == 0 || info == 0 || info % 8 != 0) return domains;
  const std::uint64_t last = std::min(number(info, 2), kMostDomains);
  for (std::uint64_t i = 0; i <= last; ++i) {
    const std::uint64_t vtable = word(info + 8 + i * 8);
    if (vtable == 0 || vtable % 8 != 0 || word(vtable) != facts_.string_class) continue;
    domains.push_back(word(vtable + kVtableDomain));
  }
  return domains;
}

// The pointer to a domain's name is in the word before its list of vtables.
std::string ClassReader::domain_name(std::uint64_t domain) {
  const auto list = vtable_list(domain);
  return list && list->at >= 8 ? text(word(domain + list->at - 8)) : std::string();
}

const Class* ClassReader::find(std::uint64_t domain,
                               std::string_view space,
                               std::string_view name,
                               std::uint64_t& vtable) {
  for (const std::uint64_t one : vtables_of(domain)) {
    const std::uint64_t at = word(one);
    if (at == 0 || text(word(at + kName)) != name || text(word(at + kNamespace)) != space) continue;
    if (changed_image(at) != nullptr) continue;
    vtable = one;
    return of_first_word(one);
  }
  return nullptr;
}

std::vector<Field> ClassReader::static_fields(const Class& of) {
  steps_ = 0;
  std::vector<Field> fields;
  add_fields(of.at, {.at = 0, .before = {}, .is_static = true, .depth = 0}, fields);
  return fields;
}

bool ClassReader::is_thread_field(std::uint64_t at) const {
  if (at == 0 || at % 8 != 0 || number(at + kFieldOffset, 4) != kOfThread) return false;
  const std::uint64_t of = word(at + kFieldParent);
  const std::uint64_t first = of == 0 || of % 8 != 0 ? 0 : word(of + kFields);
  const std::uint64_t type = word(at);
  return first != 0 && first <= at && (at - first) % kFieldBytes == 0 &&
         (at - first) / kFieldBytes < kMostFields && type != 0 && type % 8 == 0 &&
         (number(type + kTypeAttributes, 2) & kStaticField) != 0;
}

// Reads a hash table of Mono: two functions, the slots, the number of slots, and the number of
// entries. An entry has a field, the field's place in the chunks of a thread, and the next entry of
// the slot. Empty if it is not a table of such fields.
std::vector<std::pair<std::uint64_t, std::uint64_t>> ClassReader::thread_field_table(
    std::uint64_t table) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
  if (table == 0 || table % 8 != 0) return {};
  const std::uint64_t slots = word(table + 0x10);
  const std::uint64_t size = number(table + 0x18, 4);
  const std::uint64_t used = number(table + 0x1c, 4);
  const bool fits = slots != 0 && slots % 8 == 0 && size != 0 && size <= kMostThreadFields &&
                    used != 0 && used <= kMostThreadFields;
  for (std::uint64_t i = 0; fits && i < size; ++i) {
    for (std::uint64_t entry = word(slots + i * 8); entry != 0; entry = word(entry + 0x10)) {
      const std::uint64_t field = entry % 8 == 0 ? word(entry) : 0;
      if (entries.size() == used || !is_thread_field(field)) return {};
      entries.emplace_back(field, word(entry + 8));
    }
  }
  return entries.size() == used ? entries : decltype(entries){};
}

// A domain has a table of its [ThreadStatic] fields. A field's place is one number: six bits for
// the chunk, and 25 for the offset in it. The highest bit is set if each context has a copy.
std::vector<ThreadField> ClassReader::thread_fields(std::uint64_t domain) {
  constexpr std::uint64_t kOfContext = 1U << 31U;
  std::vector<ThreadField> found;
  for (std::uint64_t at = 0; at < kDomainBytes && domain % 8 == 0 && found.empty(); at += 8) {
    for (const auto& [field, place] : thread_field_table(word(domain + at))) {
      if ((place & kOfContext) != 0) continue;
      steps_ = 0;
      const std::uint64_t offset = place >> 6 & 0x1ffffff;
      const std::string of = name_of(word(field + kFieldParent), 0);
      const std::string name = field_name(word(field + kFieldParent), field, offset);
      if (of.empty() || name.empty()) continue;
      std::vector<Field> fields;
      add_field(word(field), offset, of + "." + name, 0, fields);
      for (Field& one : fields) found.push_back({place & 0x3f, std::move(one)});
    }
  }
  return found;
}

// A method begins with its attributes and its token, which names the table of methods.
bool ClassReader::is_method(std::uint64_t at) const {
  return at != 0 && at % 8 == 0 && number(at + kMethodToken, 4) >> 24 == kMethodTable;
}

std::string ClassReader::method_name(std::uint64_t at) const {
  const std::uint64_t of = word(at + kMethodClass);
  if (const Image* const image = changed_image(of)) {
    if (!is_method(at)) return fmt::format("(wrapper of {})", image->file());
    return fmt::format("(method {:#x} of {})", number(at + kMethodToken, 4), image->file());
  }
  steps_ = 0;
  const std::string name = name_of(of, 0);
  const std::string own = name.empty() ? std::string() : text(word(at + kMethodName));
  return own.empty() ? std::string() : name + "." + own;
}

const Image* ClassReader::changed_image(std::uint64_t of) const {
  const std::uint64_t at = facts_.knows_images ? word(of + kImage) : 0;
  if (at == 0) return nullptr;
  const Image& image = images_.at(at);
  return image.is_as_loaded ? nullptr : &image;
}

std::string ClassReader::field_name(std::uint64_t of,
                                    std::uint64_t field,
                                    std::uint64_t offset) const {
  if (changed_image(of) != nullptr) return fmt::format("+{}", offset);
  return shown_field(text(word(field + kFieldName)));
}

std::vector<std::string> ClassReader::warnings() const {
  if (facts_.knows_images) return images_.warnings();
  return {
      "this release of Mono does not show whether a program's file was changed after Mono had "
      "loaded it; if so, names are wrong"};
}

std::uint64_t ClassReader::embedded_class(std::uint64_t type) const {
  const std::uint64_t code = number(type + kTypeCode, 1);
  std::uint64_t found = 0;
  if (code == kValueType) found = word(type);
  if (code == kGeneric) found = word(word(type) + kGenericInstance);
  if (found == 0 || found % 8 != 0) return 0;
  return (number(found + kClassFlags, 1) & kIsValueType) != 0 ? found : 0;
}

bool ClassReader::is_enumeration(std::uint64_t of) const {
  const std::uint64_t parent = word(of + kParent);
  return parent != 0 && text(word(parent + kName)) == "Enum" &&
         text(word(parent + kNamespace)) == "System";
}

bool ClassReader::is_decimal(std::uint64_t of) const {
  if (text(word(of + kName)) != "Decimal" || text(word(of + kNamespace)) != "System") return false;
  constexpr std::array<std::string_view, 4> kParts = {"flags", "hi", "lo", "mid"};
  const std::uint64_t first = word(of + kFields);
  std::size_t found = 0;
  for (std::uint64_t i = 0; first != 0 && i < kMostFields && found < kParts.size(); ++i) {
    const std::uint64_t field = first + i * kFieldBytes;
    if (word(field + kFieldParent) != of) return false;
    if (text(word(field + kFieldName)) != kParts[found]) continue;
    if (number(field + kFieldOffset, 4) != kObjectHeader + found * 4) return false;
    ++found;
  }
  return found == kParts.size();
}

// The type of an enumeration's values is its element class, or the type of its only field that is
// not static. Mono may not have read the fields yet.
std::uint64_t ClassReader::type_of_values(std::uint64_t enumeration) const {
  const std::uint64_t element = word(enumeration + kElementClass);
  const bool is_other = element != 0 && element % 8 == 0 && element != enumeration;
  if (is_other && word(element + kType) == element &&
      text(word(element + kNamespace)) == "System") {
    return element + kType;
  }
  const std::uint64_t first = word(enumeration + kFields);
  for (std::uint64_t i = 0; first != 0 && i < kMostFields; ++i) {
    const std::uint64_t field = first + i * kFieldBytes;
    const std::uint64_t type = word(field);
    if (type == 0 || type % 8 != 0 || word(field + kFieldParent) != enumeration) return 0;
    if ((number(type + kTypeAttributes, 2) & kStaticField) == 0) return type;
  }
  return 0;
}

const std::vector<runtimes::Shape::Named>& ClassReader::names_of_values(
    std::uint64_t enumeration) const {
  const auto [at, is_new] = names_of_values_.try_emplace(enumeration);
  const std::uint64_t image = is_new ? word(enumeration + kImage) : 0;
  if (image == 0 || image % 8 != 0 || changed_image(enumeration) != nullptr) return at->second;
  const auto metadata = Metadata::at(word(image + kMetadata), read_);
  if (metadata) {
    at->second = metadata->values_of(static_cast<std::uint32_t>(number(enumeration + kToken, 4)));
  }
  return at->second;
}

Field ClassReader::field_of(std::uint64_t type, std::uint64_t offset, std::string name) const {
  Field field{.offset = offset, .name = std::move(name), .type = name_of_type(type, 0)};
  const std::uint64_t embedded = embedded_class(type);
  if (embedded != 0 && is_decimal(embedded)) {
    field.bytes = kDecimalBytes;
    field.kind = Kind::Decimal;
    return field;
  }
  if (embedded != 0) {
    type = type_of_values(embedded);
    field.names = names_of_values(embedded);
  }
  const std::uint64_t code = type == 0 ? 0 : number(type + kTypeCode, 1);
  if (const Named* const named = named_by(code); named != nullptr && named->bytes != 0) {
    field.bytes = named->bytes;
    field.kind = named->kind;
    return field;
  }
  // A pointer is a number that may reference an object.
  if (code == kPointer || code == kFunction) field.kind = Kind::Unsigned;
  constexpr std::array kReferences{kString, kClass, kArray, kGeneric, kObject, kVector};
  field.is_reference = std::find(kReferences.begin(), kReferences.end(), code) != kReferences.end();
  return field;
}

void ClassReader::add_fields(std::uint64_t of,
                             const FieldsOf& how,
                             std::vector<Field>& into) const {
  const std::uint64_t first = word(of + kFields);
  if (first == 0 || first % 8 != 0 || how.depth > kDeepest) return;
  for (std::uint64_t i = 0; i < kMostFields && may_go_on(); ++i) {
    const std::uint64_t field = first + i * kFieldBytes;
    const std::uint64_t type = word(field);
    if (type == 0 || type % 8 != 0 || word(field + kFieldParent) != of) return;
    const std::uint64_t attributes = number(type + kTypeAttributes, 2);
    const std::uint64_t offset = how.at + number(field + kFieldOffset, 4);
    const bool is_wanted =
        ((attributes & kStaticField) != 0) == how.is_static && (attributes & kConstant) == 0;
    if (!is_wanted || offset > kMostBytes) continue;
    const std::string name = field_name(of, field, offset);
    if (name.empty()) return;
    add_field(type, offset, how.before + name, how.depth, into);
  }
}

void ClassReader::add_field(std::uint64_t type,
                            std::uint64_t offset,
                            const std::string& name,
                            int depth,
                            std::vector<Field>& into) const {
  const std::uint64_t embedded = embedded_class(type);
  const bool is_whole = embedded == 0 || is_enumeration(embedded) || is_decimal(embedded);
  if (is_whole) {
    into.push_back(field_of(type, offset, name));
  } else {
    add_fields(embedded,
               {.at = offset - kObjectHeader,
                .before = name + ".",
                .is_static = false,
                .depth = depth + 1},
               into);
  }
}

std::vector<std::string> ClassReader::arguments_of(std::uint64_t at, int depth) const {
  std::vector<std::string> names;
  const std::uint64_t type = at + kType;
  if (number(type + kTypeCode, 1) != kGeneric) return names;
  const std::uint64_t instance = word(word(type) + kGenericArguments);
  const std::uint64_t count = number(instance + 4, 4) & 0x3fffff;
  if (instance == 0 || count > kMostArguments) return names;
  for (std::uint64_t i = 0; i < count; ++i) {
    names.push_back(name_of_type(word(instance + 8 + i * 8), depth + 1));
    if (names.back().empty()) return {};
  }
  return names;
}

std::string ClassReader::name_of(std::uint64_t at, int depth) const {
  if (at == 0 || at % 8 != 0 || depth > kDeepest || !may_go_on()) return {};
  if (const std::uint64_t rank = number(at + kRank, 1)) {
    const std::string element = name_of(word(at + kElementClass), depth + 1);
    if (element.empty()) return {};
    return fmt::format("{}[{}]", element, std::string(rank - 1, ','));
  }
  std::vector<std::string> arguments = arguments_of(at, depth);
  if (const Image* const image = changed_image(at)) {
    const std::string name =
        fmt::format("(type {:#x} of {})", number(at + kToken, 4), image->file());
    return arguments.empty() ? name : fmt::format("{}<{}>", name, fmt::join(arguments, ", "));
  }
  std::vector<std::string> pieces;
  std::string space;
  for (std::uint64_t one = at; one != 0; one = word(one + kNestedIn)) {
    pieces.push_back(text(word(one + kName)));
    if (pieces.back().empty() || pieces.size() > kDeepest) return {};
    space = text(word(one + kNamespace));
  }
  std::string name = space;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (!name.empty()) name += '.';
    name += with_arguments(*piece, arguments);
  }
  return name.size() <= kMaxNameBytes ? name : std::string();
}

std::string ClassReader::name_of_type(std::uint64_t type, int depth) const {
  if (type == 0 || type % 8 != 0 || depth > kDeepest) return {};
  const std::uint64_t code = number(type + kTypeCode, 1);
  if (const Named* const named = named_by(code)) return std::string(named->name);
  const std::uint64_t data = word(type);
  std::string inner;
  switch (code) {
    case kValueType:
    case kClass: return name_of(data, depth + 1);
    case kGeneric: return name_of(word(data + kGenericInstance), depth + 1);
    case kVector: inner = name_of(data, depth + 1); break;
    case kPointer: inner = name_of_type(data, depth + 1); break;
    case kArray: inner = name_of(word(data), depth + 1); break;
    default: break;
  }
  if (inner.empty()) return {};
  if (code == kPointer) return inner + "*";
  const std::uint64_t rank = code == kArray ? number(data + 8, 1) : 1;
  return fmt::format("{}[{}]", inner, std::string(std::max<std::uint64_t>(rank, 1) - 1, ','));
}

}  // namespace heapattach::mono
