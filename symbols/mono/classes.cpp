#include "symbols/mono/classes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "symbols/text/utf8.h"

namespace heapattach::mono {

namespace {

constexpr std::size_t kMostNameBytes = 512;
constexpr std::uint64_t kMostDomains = 1024;
constexpr std::uint64_t kMostSlots = 1 << 16;
constexpr std::uint64_t kMostFields = 4096;
constexpr std::uint64_t kMostArguments = 64;
constexpr std::uint64_t kMostBytes = 1U << 20;  // of a class's fields
constexpr int kDeepest = 8;                     // of names and of embedded values
constexpr int kMostBases = 64;
constexpr std::uint64_t kDomainBytes = 0x400;  // of a domain, where its list of vtables may be
constexpr std::uint64_t kMostVtables = 1 << 20;

constexpr std::uint64_t kVtableDomain = 0x10;
constexpr std::uint64_t kVtableFlags = 0x2f;  // a byte
constexpr std::uint64_t kHasStaticFields = 4;
constexpr std::uint64_t kStaticField = 0x10;  // attributes of a field's type
constexpr std::uint64_t kConstant = 0x40;

// In a generic class, which a type of the code kGeneric references.
constexpr std::uint64_t kGenericArguments = 8;
constexpr std::uint64_t kGenericInstance = 0x20;  // the class that was made of it

struct Named {
  std::uint8_t code;
  std::string_view name;
};
constexpr std::array kNamed{
    Named{0x01, "System.Void"},    Named{0x02, "System.Boolean"}, Named{0x03, "System.Char"},
    Named{0x04, "System.SByte"},   Named{0x05, "System.Byte"},    Named{0x06, "System.Int16"},
    Named{0x07, "System.UInt16"},  Named{0x08, "System.Int32"},   Named{0x09, "System.UInt32"},
    Named{0x0a, "System.Int64"},   Named{0x0b, "System.UInt64"},  Named{0x0c, "System.Single"},
    Named{0x0d, "System.Double"},  Named{0x0e, "System.String"},  Named{0x18, "System.IntPtr"},
    Named{0x19, "System.UIntPtr"}, Named{0x1c, "System.Object"}};

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (!step.is_valid || is_unsafe_to_show(step.code)) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

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

std::uint64_t ClassReader::number(std::uint64_t at, unsigned bytes) const {
  const std::uint64_t aligned = at & ~std::uint64_t{7};
  const std::uint64_t whole = word(aligned) >> (at - aligned) * 8;
  return whole & ((std::uint64_t{1} << bytes * 8) - 1);
}

// In whole words, so that nothing after its page is read.
std::string ClassReader::text(std::uint64_t at) const {
  std::string found;
  while (at != 0 && found.size() < kMostNameBytes) {
    const auto aligned = view_.word(at & ~std::uint64_t{7});
    if (!aligned) return {};
    for (std::uint64_t i = at & 7; i < 8; ++i, ++at) {
      const char letter = static_cast<char>(*aligned >> i * 8 & 0xff);
      if (letter == '\0') return is_name(found) ? found : std::string();
      found += letter;
    }
  }
  return {};
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
    const auto one = view_.word(info + 8 + domain * 8);
    if (!one) return false;
    if (*one == vtable) return true;
  }
  return false;
}

std::unique_ptr<Class> ClassReader::read(std::uint64_t vtable) const {
  const std::uint64_t at = word(vtable);
  if (at == 0 || at % 8 != 0 || !is_vtable(vtable, at)) return nullptr;
  auto found = std::make_unique<Class>();
  found->at = at;
  found->domain = word(vtable + kVtableDomain);
  found->name = name_of(at, 0);
  found->instance_bytes = number(at + kInstanceBytes, 4);
  if (found->name.empty() || found->instance_bytes < kObjectHeader) return nullptr;
  found->is_string = number(at + kType + kTypeCode, 1) == kString;
  found->is_array = number(at + kRank, 1) != 0;
  if (found->is_array) {
    read_array(*found);
    return found;
  }
  std::uint64_t base = at;
  for (int i = 0; i < kMostBases && base != 0; ++i, base = word(base + kParent)) {
    add_fields(base, {}, found->fields);
  }
  std::sort(found->fields.begin(), found->fields.end(),
            [](const Field& a, const Field& b) { return a.offset < b.offset; });
  const std::uint64_t slots = number(at + kVtableSlots, 4);
  if ((number(vtable + kVtableFlags, 1) & kHasStaticFields) != 0 && slots <= kMostSlots) {
    found->static_fields_at = word(vtable + facts_.methods_at + slots * 8);
    found->static_bytes = number(at + kElementBytes, 4);
  }
  return found;
}

void ClassReader::read_array(Class& into) const {
  const std::uint64_t element = word(into.at + kElementClass);
  into.element_bytes = number(into.at + kElementBytes, 4);
  if ((number(element + kClassFlags, 1) & kIsValueType) != 0) {
    add_fields(element, {.at = 0 - kObjectHeader, .before = {}, .is_static = false, .depth = 0},
               into.fields);
  } else {
    into.fields.push_back({0, {}});
  }
}

// A domain has a list of its vtables: an array, and how many are in it. The list is recognised by
// its first and its last one, which belong to the domain.
std::vector<std::uint64_t> ClassReader::vtables_of(std::uint64_t domain) {
  const auto is_its = [&](std::uint64_t vtable) {
    const Class* const found = of_first_word(vtable);
    return found != nullptr && found->domain == domain;
  };
  std::vector<std::uint64_t> vtables;
  for (std::uint64_t at = 0; at < kDomainBytes && domain % 8 == 0; at += 8) {
    const std::uint64_t list = word(domain + at);
    const std::uint64_t array = list != 0 && list % 8 == 0 ? word(list) : 0;
    const std::uint64_t count = array != 0 ? number(list + 8, 4) : 0;
    if (array % 8 != 0 || count == 0 || count > kMostVtables) continue;
    if (!is_its(word(array)) || !is_its(word(array + (count - 1) * 8))) continue;
    for (std::uint64_t i = 0; i < count; ++i) vtables.push_back(word(array + i * 8));
    return vtables;
  }
  return vtables;
}

std::vector<Field> ClassReader::static_fields(const Class& of) {
  steps_ = 0;
  std::vector<Field> fields;
  add_fields(of.at, {.at = 0, .before = {}, .is_static = true, .depth = 0}, fields);
  return fields;
}

std::uint64_t ClassReader::embedded_class(std::uint64_t type) const {
  const std::uint64_t code = number(type + kTypeCode, 1);
  std::uint64_t found = 0;
  if (code == kValueType) found = word(type);
  if (code == kGeneric) found = word(word(type) + kGenericInstance);
  if (found == 0 || found % 8 != 0) return 0;
  return (number(found + kClassFlags, 1) & kIsValueType) != 0 ? found : 0;
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
    const std::string name = text(word(field + kFieldName));
    if (name.empty()) return;
    if (const std::uint64_t embedded = embedded_class(type)) {
      add_fields(embedded,
                 {.at = offset - kObjectHeader,
                  .before = fmt::format("{}{}.", how.before, shown_field(name)),
                  .is_static = false,
                  .depth = how.depth + 1},
                 into);
    } else if (offset % 8 == 0) {
      into.push_back({offset, how.before + shown_field(name)});
    }
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
  std::vector<std::string> pieces;
  std::string space;
  for (std::uint64_t one = at; one != 0; one = word(one + kNestedIn)) {
    pieces.push_back(text(word(one + kName)));
    if (pieces.back().empty() || pieces.size() > kDeepest) return {};
    space = text(word(one + kNamespace));
  }
  std::vector<std::string> arguments = arguments_of(at, depth);
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
  const auto* const named = std::find_if(kNamed.begin(), kNamed.end(),
                                         [&](const Named& one) { return one.code == code; });
  if (named != kNamed.end()) return std::string(named->name);
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
