#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "symbols/ecl/facts.h"

// ECL's types in order, and the fields of their objects (ecl/object.h of 21.2.1).
namespace heapattach::ecl {

// The meaning of a word of an object.
enum class FieldKind : std::uint8_t { None, Value, Part, Raw };

struct Field {
  FieldKind kind = FieldKind::None;
  const char* name = nullptr;
};

struct KnownType {
  const char* name;
  std::uint32_t bytes;           // the size of an object; if it differs, so do the fields
  bool is_atomic;                // objects are in memory that the collector does not scan
  bool is_compact;               // some objects are atomic, with their contents after them
  std::array<Field, 13> fields;  // from the second word on
};

constexpr Field value(const char* name) {
  return {FieldKind::Value, name};
}
constexpr Field part(const char* name) {
  return {FieldKind::Part, name};
}
constexpr Field raw() {
  return {FieldKind::Raw, nullptr};
}

// The types from symbols on, in order. The types before them are numbers, listed below.
enum Later : std::uint8_t {
  kSymbol,
  kPackage,
  kHashTable,
  kArray,
  kVector,
  kString,
  kBaseString,
  kBitVector,
  kStream,
  kRandomState,
  kReadtable,
  kPathname,
  kBytecodes,
  kBclosure,
  kCfun,
  kCfunFixed,
  kCclosure,
  kInstance,
  kProcess,
  kLock,
  kRwlock,
  kConditionVariable,
  kSemaphore,
  kBarrier,
  kMailbox,
  kCodeblock,
  kForeign,
  kFrame,
  kWeakPointer,
  kLaterTypes,
};

inline constexpr std::array<KnownType, kLaterTypes> kLater = {{
    {"symbol",
     64,
     false,
     false,
     {value("value"), value("function"), value("plist"), value("name"), value("cname"),
      value("package"), raw()}},
    {"package",
     80,
     false,
     false,
     {value("name"), value("nicknames"), value("local-nicknames"), value("nicknamed-by"),
      value("shadowings"), value("uses"), value("used-by"), value("internal"), value("external")}},
    {"hash-table",
     136,
     false,
     false,
     {part("entries"), value("lock"), value("test"), value("hash"), raw(), raw(), raw(),
      value("rehash-size"), value("threshold")}},
    {"array", 48, false, false, {value("displaced"), raw(), part("dimensions"), part("elements")}},
    {"vector", 48, false, true, {value("displaced"), raw(), raw(), part("elements")}},
    {"string", 40, false, true, {value("displaced"), raw(), raw(), part("text")}},
    {"base-string", 40, false, true, {value("displaced"), raw(), raw(), part("text")}},
    {"bit-vector", 48, false, true, {value("displaced"), raw(), raw(), part("bits")}},
    {"stream",
     160,
     false,
     false,
     {raw(), raw(), value("object0"), value("object1"), value("unread bytes"), raw(), raw(), raw(),
      raw(), raw(), raw(), raw(), raw()}},
    {"random-state", 16, false, false, {value("value")}},
    {"readtable", 24, false, false, {part("entries"), value("hash")}},
    {"pathname",
     56,
     false,
     false,
     {value("host"), value("device"), value("directory"), value("name"), value("type"),
      value("version")}},
    {"bytecodes",
     72,
     false,
     false,
     {value("name"), value("definition"), raw(), raw(), part("code"), value("data"), value("file"),
      value("file-position")}},
    {"bclosure", 32, false, false, {value("code"), value("environment"), raw()}},
    {"cfun",
     48,
     false,
     false,
     {value("name"), value("block"), raw(), value("file"), value("file-position")}},
    {"cfunfixed",
     56,
     false,
     false,
     {value("name"), value("block"), raw(), raw(), value("file"), value("file-position")}},
    {"cclosure",
     48,
     false,
     false,
     {value("environment"), value("block"), raw(), value("file"), value("file-position")}},
    {"instance",
     64,
     false,
     false,
     {raw(), value("class"), raw(), value("slot-definitions"), part("slots"), raw(), raw()}},
    {"process",
     128,
     false,
     false,
     {value("name"), value("function"), value("arguments"), raw(), value("interrupt"),
      value("initial-bindings"), value("parent"), value("exit-barrier"), value("exit-values"),
      value("woken-up"), value("queue-record"), value("spinlock"), raw()}},
    {"lock",
     48,
     false,
     false,
     {value("queue"), value("spinlock"), value("owner"), value("name"), raw()}},
    {"rwlock", 72, false, false, {value("name")}},
    {"condition-variable", 32, false, false, {value("queue"), value("spinlock"), value("lock")}},
    {"semaphore", 40, false, false, {value("queue"), value("spinlock"), value("name"), raw()}},
    {"barrier", 48, false, false, {value("queue"), value("spinlock"), value("name"), raw(), raw()}},
    {"mailbox",
     64,
     false,
     false,
     {value("name"), value("data"), value("reader-semaphore"), value("writer-semaphore"), raw(),
      raw(), raw()}},
    {"codeblock",
     128,
     false,
     false,
     {raw(), raw(), part("constants"), raw(), part("constants"), raw(), raw(), value("next"),
      value("name"), value("links"), raw(), raw(), value("source")}},
    {"foreign", 32, false, false, {value("tag"), raw(), part("data")}},
    {"frame", 40, false, false, {raw(), raw(), raw(), raw()}},
    {"weak-pointer", 16, true, false, {}},
}};

// The types of numbers. Those of complex numbers with machine floats may be missing.
inline constexpr std::uint8_t kBignum = 4;
inline constexpr std::uint8_t kSingleFloat = 6;
inline constexpr std::array<KnownType, 9> kNumbers = {{
    {"bignum", 24, false, true, {raw(), part("digits")}},
    {"ratio", 24, false, false, {value("denominator"), value("numerator")}},
    {"single-float", 8, true, false, {}},
    {"double-float", 16, true, false, {}},
    {"long-float", 32, true, false, {}},
    {"complex", 24, false, false, {value("real"), value("imaginary")}},
    {"complex-single-float", 12, true, false, {}},
    {"complex-double-float", 24, true, false, {}},
    {"complex-long-float", 48, true, false, {}},
}};

// The type with this number; null if no object has it.
[[nodiscard]] inline const KnownType* type_of(const Facts& facts, std::uint8_t number) {
  if (number >= facts.symbol) {
    const std::size_t later = static_cast<std::size_t>(number) - facts.symbol;
    return later < kLater.size() ? &kLater.at(later) : nullptr;
  }
  if (number < kBignum || number - kBignum >= static_cast<int>(kNumbers.size())) return nullptr;
  return &kNumbers.at(static_cast<std::size_t>(number) - kBignum);
}

}  // namespace heapattach::ecl
