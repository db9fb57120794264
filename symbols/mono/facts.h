#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "attach/memory/memory_reader.h"
#include "symbols/elf/module.h"
#include "symbols/mono/roots.h"

// Mono's data about classes.
//
// Every object begins with the address of a vtable, and that with the address of its class
// (MonoClass). Names are C strings in the metadata of the program's files, so no debug information
// is needed; images.h knows whether they can be believed. (Sources: class-private-definition.h,
// class-internals.h, metadata.h and object.h of 6.8.)
namespace heapattach::mono {

// Offsets in a class.
inline constexpr std::uint64_t kElementClass = 0;  // of an array; the class itself in most others
inline constexpr std::uint64_t kRank = 0x1a;       // a byte: how many dimensions an array has
inline constexpr std::uint64_t kInstanceBytes = 0x1c;  // an int
inline constexpr std::uint64_t kClassFlags = 0x20;
inline constexpr std::uint64_t kParent = 0x28;
inline constexpr std::uint64_t kNestedIn = 0x30;
inline constexpr std::uint64_t kImage = 0x38;
inline constexpr std::uint64_t kName = 0x40;
inline constexpr std::uint64_t kNamespace = 0x48;
inline constexpr std::uint64_t kToken = 0x50;         // an int
inline constexpr std::uint64_t kVtableSlots = 0x54;   // an int
inline constexpr std::uint64_t kElementBytes = 0x88;  // an int; not an array: of static fields
inline constexpr std::uint64_t kFields = 0x90;
inline constexpr std::uint64_t kType = 0xb0;            // of the class, embedded
inline constexpr std::uint64_t kRuntimeInfo = 0xc8;     // has the class's vtables
inline constexpr std::uint64_t kIsValueType = 1U << 2;  // in kClassFlags

// In an image, a program's file: the address of its metadata.
inline constexpr std::uint64_t kMetadata = 0x70;

// Offsets in a type, a field, and an array.
inline constexpr std::uint64_t kTypeAttributes = 8;  // two bytes
inline constexpr std::uint64_t kTypeCode = 10;       // a byte
inline constexpr std::uint64_t kFieldBytes = 0x20;
inline constexpr std::uint64_t kFieldName = 8;
inline constexpr std::uint64_t kFieldParent = 0x10;
inline constexpr std::uint64_t kFieldOffset = 0x18;  // an int
// Stands in for the offset of a field that each thread or context has for itself.
inline constexpr std::uint64_t kOfThread = 0xffffffff;
inline constexpr std::uint64_t kObjectHeader = 0x10;
inline constexpr std::uint64_t kArrayLength = 0x18;
inline constexpr std::uint64_t kArrayElements = 0x20;
inline constexpr std::uint64_t kStringLength = 0x10;  // an int
inline constexpr std::uint64_t kStringText = 0x14;    // in UTF-16

// Offsets in a method.
inline constexpr std::uint64_t kMethodToken = 4;  // an int
inline constexpr std::uint64_t kMethodClass = 8;
inline constexpr std::uint64_t kMethodName = 24;
inline constexpr std::uint64_t kMethodTable = 6;  // the highest byte of the token

// The codes of types (ECMA-335, ELEMENT_TYPE_…).
enum TypeCode : std::uint8_t {
  kBoolean = 0x02,
  kString = 0x0e,
  kPointer = 0x0f,
  kValueType = 0x11,
  kClass = 0x12,
  kArray = 0x14,
  kGeneric = 0x15,
  kFunction = 0x1b,
  kObject = 0x1c,
  kVector = 0x1d,
};

// The class of Mono's own data about a thread, and where its fields are.
struct ThreadClass {
  std::uint64_t vtable = 0;
  std::uint64_t native_id = 0;  // its thread pointer
  std::uint64_t small_id = 0;
  std::uint64_t name = 0;  // the address of its text, in UTF-8
  std::uint64_t name_length = 0;
  std::uint64_t managed_id = 0;  // an int: Thread.ManagedThreadId
  std::uint64_t statics = 0;     // the addresses of the thread's chunks of [ThreadStatic] fields
};

struct Facts {
  // Where a vtable's list of methods begins. The address of the static fields follows the list.
  std::uint64_t methods_at = 0;
  std::optional<RootVariables> roots = std::nullopt;
  std::uint64_t domain = 0;  // the first one; 0: unknown
  std::optional<ThreadClass> threads = std::nullopt;
  std::uint64_t string_class = 0;  // which every domain uses
  bool knows_images = false;       // whether a changed file can be recognised
};

// Nothing if the target does not use Mono, if Mono has not started yet, or if the layout of its
// classes is unknown.
[[nodiscard]] std::optional<Facts> find_mono(const Modules& modules, const MemoryReader& memory);

// Reads the facts, given the class that an exported function such as mono_get_string_class returns;
// 0 if there is none.
using KnownClass = std::function<std::uint64_t(std::string_view function)>;
[[nodiscard]] std::optional<Facts> facts_from(const KnownClass& known, const MemoryReader& memory);

}  // namespace heapattach::mono
