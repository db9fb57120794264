#include "symbols/ruby/kinds.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "symbols/ruby/heap_pages.h"

namespace heapattach::ruby {

namespace {

constexpr std::array<std::string_view, 16> kInternalWords{
    "env",    "cref", "svar",           "throw_data", "ifunc",     "memo",       "ment", "iseq",
    "tmpbuf", "ast",  "parser_strterm", "callinfo",   "callcache", "constcache", "14",   "15"};

constexpr std::array<std::string_view, 16> kInternalWordsSince40{
    "env",        "cref",   "svar",       "throw_data", "ifunc",    "memo",
    "ment",       "iseq",   "tmpbuf",     "cvar_entry", "callinfo", "callcache",
    "constcache", "fields", "subclasses", "cdhash"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kClasses{{
    {"ARRAY", "Array"},
    {"BIGNUM", "Integer"},
    {"CLASS", "Class"},
    {"COMPLEX", "Complex"},
    {"FILE", "File"},
    {"FLOAT", "Float"},
    {"HASH", "Hash"},
    {"MATCH", "MatchData"},
    {"MODULE", "Module"},
    {"OBJECT", "Object"},
    {"RATIONAL", "Rational"},
    {"REGEXP", "Regexp"},
    {"STRING", "String"},
    {"STRUCT", "Struct"},
    {"SYMBOL", "Symbol"},
}};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& letter : small) letter = static_cast<char>(letter | 0x20);
  return small;
}

}  // namespace

std::string_view dump_word(Kind kind) {
  switch (kind) {
    case Kind::Object: return "OBJECT";
    case Kind::Class: return "CLASS";
    case Kind::Module: return "MODULE";
    case Kind::Float: return "FLOAT";
    case Kind::String: return "STRING";
    case Kind::Regexp: return "REGEXP";
    case Kind::Array: return "ARRAY";
    case Kind::Hash: return "HASH";
    case Kind::Struct: return "STRUCT";
    case Kind::Bignum: return "BIGNUM";
    case Kind::File: return "FILE";
    case Kind::Data: return "DATA";
    case Kind::Match: return "MATCH";
    case Kind::Complex: return "COMPLEX";
    case Kind::Rational: return "RATIONAL";
    case Kind::Symbol: return "SYMBOL";
    case Kind::Imemo: return "IMEMO";
    case Kind::Node: return "NODE";
    case Kind::Iclass: return "ICLASS";
    case Kind::Zombie:
    case Kind::Moved: return "ZOMBIE";
    case Kind::None: break;
  }
  return "NONE";
}

std::string_view internal_word(const Slot& slot, bool have_fields) {
  const auto& words = have_fields ? kInternalWordsSince40 : kInternalWords;
  return words[slot.flags() >> 12 & 0xf];
}

std::string kind_in_words(std::string_view kind) {
  for (const auto& [word, of_class] : kClasses) {
    if (word == kind) return std::string(of_class);
  }
  // A DATA is named by its structure: "VM/thread".
  return std::string(kind.starts_with("DATA ") ? kind.substr(5) : kind);
}

bool is_of_the_machine(std::string_view word) {
  return word == "IMEMO" || word == "NODE" || word == "ICLASS" || word == "ZOMBIE" ||
         word == "SHAPE";
}

std::string machine_words(std::string_view kind) {
  const std::string_view word = kind.substr(0, kind.find(' '));
  if (word == kind) return in_small_letters(word);
  return fmt::format("{}({})", in_small_letters(word), kind.substr(word.size() + 1));
}

std::string type_name(const HeapCopy& heap, const Slot& slot) {
  const Kind kind = slot.kind();
  std::string word(dump_word(kind));
  const bool is_machines = is_of_the_machine(word);
  if (kind == Kind::Imemo) word += fmt::format(" {}", internal_word(slot, heap.has_fields()));
  if (is_machines) return machine_words(word);
  if (slot.of_class() == 0) {
    const std::string data = heap.data_name(slot);
    return fmt::format("internal({})", data.empty() ? kind_in_words(word) : data);
  }
  const auto of_class = heap.class_name(slot.of_class());
  if (!of_class) return fmt::format("({} of class {:#x})", kind_in_words(word), slot.of_class());
  return heap.is_singleton_class(slot) ? *of_class + " (singleton)" : *of_class;
}

}  // namespace heapattach::ruby
