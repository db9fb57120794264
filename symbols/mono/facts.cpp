#include "symbols/mono/facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "symbols/boehm/accessors.h"
#include "symbols/code/disassembler.h"
#include "symbols/mono/classes.h"
#include "symbols/mono/images.h"

namespace heapattach::mono {

namespace {

// Classes that every program has, and what is known about them.
struct Sample {
  std::string_view function;  // returns it
  std::string_view name;
  std::uint8_t code = kClass;
  bool is_value_type = false;
  std::string_view parent = "Object";  // the name of its base class
};
constexpr std::array kSamples{
    Sample{"mono_get_object_class", "Object", kObject, false, ""},
    Sample{"mono_get_string_class", "String", kString},
    Sample{"mono_get_boolean_class", "Boolean", kBoolean, true, "ValueType"},
    Sample{"mono_get_exception_class", "Exception"},
    Sample{"mono_get_enum_class", "Enum", kClass, false, "ValueType"},
};

constexpr std::uint64_t kFirstMethods = 0x38;
constexpr std::uint64_t kLastMethods = 0x58;
constexpr std::uint64_t kLikelySlots = 10'000;
constexpr std::uint64_t kTriedDomains = 64;

class Prover {
 public:
  explicit Prover(const MemoryReader& memory) : memory_(memory) {}

  [[nodiscard]] bool is_class(std::uint64_t at, const Sample& sample) const {
    if (at == 0 || at % 8 != 0) return false;
    const std::uint64_t parent = word(at + kParent);
    const bool has_parent =
        sample.parent.empty() ? parent == 0 : is_text(word(parent + kName), sample.parent);
    const bool is_value_type = (word(at + kClassFlags) & kIsValueType) != 0;
    return word(at + kElementClass) == at && is_text(word(at + kName), sample.name) &&
           is_text(word(at + kNamespace), "System") && has_parent &&
           is_value_type == sample.is_value_type && word(at + kType) == at &&
           (word(at + kType + kTypeAttributes) >> 16 & 0xff) == sample.code &&
           word(at + kNestedIn) == 0 && (word(at + kRank) & 0xff) == 0;
  }

  // String.Empty is the first static field of its class, and is a string.
  [[nodiscard]] std::optional<std::uint64_t> methods_at(std::uint64_t string_class) const {
    const std::uint64_t slots = word(string_class + kVtableSlots) & 0xffffffff;
    const std::uint64_t info = word(string_class + kRuntimeInfo);
    if (slots > kLikelySlots || info == 0) return std::nullopt;
    const std::uint64_t domains = std::min(word(info) & 0xffff, kTriedDomains);
    for (std::uint64_t domain = 0; domain <= domains; ++domain) {
      const std::uint64_t vtable = word(info + 8 + domain * 8);
      if (vtable == 0 || word(vtable) != string_class) continue;
      for (std::uint64_t at = kFirstMethods; at <= kLastMethods; at += 8) {
        const std::uint64_t fields = word(vtable + at + slots * 8);
        const std::uint64_t empty = fields == 0 ? 0 : word(fields);
        if (empty != 0 && word(empty) == vtable) return at;
      }
    }
    return std::nullopt;
  }

 private:
  // 0 if it cannot be read.
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    const auto read = memory_.read_as<std::uint64_t>(RemoteAddr{at});
    return read ? *read : 0;
  }
  [[nodiscard]] bool is_text(std::uint64_t at, std::string_view text) const {
    std::string found(text.size() + 1, 'x');
    return at != 0 && memory_.read(RemoteAddr{at}, std::as_writable_bytes(std::span(found))) &&
           found.back() == '\0' && found.starts_with(text);
  }

  const MemoryReader& memory_;
};

// The fields of the class of Mono's data about threads; nothing if one of them is missing.
std::optional<ThreadClass> find_thread_class(const Facts& facts, const MemoryReader& memory) {
  ClassReader classes(facts, [&](std::uint64_t at) -> std::optional<std::uint64_t> {
    const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  });
  ThreadClass found;
  const Class* const thread =
      classes.find(facts.domain, "System.Threading", "InternalThread", found.vtable);
  if (thread == nullptr) return std::nullopt;
  const std::array<std::pair<std::string_view, std::uint64_t*>, 6> wanted{
      {{"thread_id", &found.native_id},
       {"small_id", &found.small_id},
       {"name_chars", &found.name},
       {"name_length", &found.name_length},
       {"managed_id", &found.managed_id},
       {"static_data", &found.statics}}};
  for (const auto& [name, offset] : wanted) {
    const auto field = std::find_if(thread->fields.begin(), thread->fields.end(),
                                    [name = name](const Field& one) { return one.name == name; });
    if (field == thread->fields.end()) return std::nullopt;
    *offset = field->offset;
  }
  return found;
}

}  // namespace

std::optional<Facts> facts_from(const KnownClass& known, const MemoryReader& memory) {
  const Prover prover(memory);
  for (const Sample& sample : kSamples) {
    if (!prover.is_class(known(sample.function), sample)) return std::nullopt;
  }
  const std::uint64_t string = known("mono_get_string_class");
  const auto methods = prover.methods_at(string);
  if (!methods) return std::nullopt;
  const ReadWord read = [&](std::uint64_t at) -> std::optional<std::uint64_t> {
    const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  };
  const std::uint64_t library = read(string + kImage).value_or(0);
  return Facts{.methods_at = *methods,
               .string_class = string,
               .knows_images = ImageReader(read).is_as_noted(library)};
}

std::optional<Facts> find_mono(const Modules& modules, const MemoryReader& memory) {
  const auto function = modules.find_symbol(kSamples.front().function);
  const Module* module = function ? modules.find(function->address) : nullptr;
  if (module == nullptr) return std::nullopt;
  const auto disassembler = Disassembler::open(module->machine());
  if (!disassembler) return std::nullopt;
  const boehm::CodeSource source = boehm::code_of(*module, memory);
  boehm::AccessorReader reader(*disassembler, source);
  const auto known = [&](std::string_view name) -> std::uint64_t {
    const auto symbol = module->find_symbol(name);
    const auto found = symbol ? reader.read_counter(symbol->address) : std::nullopt;
    const auto at = found ? memory.read_as<std::uint64_t>(found->variable)
                          : Result<std::uint64_t>(Error{ErrorKind::Unsupported, ""});
    return at ? *at : 0;
  };
  auto facts = facts_from(known, memory);
  if (!facts) return facts;
  facts->roots = find_root_variables(*module, memory);
  facts->domain = known("mono_get_root_domain");
  facts->threads = find_thread_class(*facts, memory);
  return facts;
}

}  // namespace heapattach::mono
