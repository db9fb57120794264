#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbols/mono/facts.h"
#include "symbols/mono/names.h"
#include "tests/support/typed_heap.h"

namespace heapattach {

// A heap of Mono 6.8 and the runtime's data about its classes, built by hand.
class MonoHeap {
 public:
  static constexpr RemoteAddr kRuntime{0x5670'0000'0000};
  static constexpr std::uint64_t kRuntimeBytes = 0x10000;
  static constexpr std::uint64_t kMethods = 0x48;

  struct ClassSpec {
    std::string name;
    std::string space = "System";
    std::uint64_t parent = 0;
    std::uint8_t code = mono::kClass;
    std::uint32_t instance_bytes = 16;
    bool is_value_type = false;
    std::uint64_t nested_in = 0;
    std::uint64_t element = 0;  // of an array with one dimension
    std::uint32_t element_bytes = 0;
  };

  MonoHeap() {
    heap.fake.add_memory(kRuntime, kRuntimeBytes);
    domain = room(0x400);
    object = add_class({.name = "Object", .code = mono::kObject});
    string = add_class({.name = "String", .parent = object, .code = mono::kString});
    value_type = add_class({.name = "ValueType", .parent = object});
    boolean = add_class(
        {.name = "Boolean", .parent = value_type, .code = mono::kBoolean, .is_value_type = true});
    exception = add_class({.name = "Exception", .parent = object});
    enumeration = add_class({.name = "Enum", .parent = value_type});
    add_vtable(object);
    const std::uint64_t statics = add_vtable(string, 8);
    const std::uint64_t empty = instance(string, 32, heap::kAtomic);
    heap.fake.put(RemoteAddr{statics}, empty);
    heap.namer = [this](const runtimes::HeapView& view) {
      runtimes::ObjectNames names(view.heap().slots());
      mono::Facts known = facts().value();
      known.domain = first_domain;
      known.threads = threads;
      mono::name_objects(known, view, names);
      return names;
    };
  }

  [[nodiscard]] std::optional<mono::Facts> facts() {
    return mono::facts_from(
        [this](std::string_view function) -> std::uint64_t {
          if (function == "mono_get_object_class") return object;
          if (function == "mono_get_string_class") return string;
          if (function == "mono_get_boolean_class") return boolean;
          if (function == "mono_get_exception_class") return exception;
          return function == "mono_get_enum_class" ? enumeration : 0;
        },
        heap.fake.memory());
  }

  // Memory of the runtime's own.
  std::uint64_t room(std::uint64_t bytes) {
    const std::uint64_t at = (kRuntime + used_).value;
    used_ += (bytes + 7) / 8 * 8;
    return at;
  }
  void put(std::uint64_t at, std::uint64_t word) { heap.fake.put(RemoteAddr{at}, word); }
  std::uint64_t text(const std::string& text) {
    const std::uint64_t at = room(text.size() + 1);
    for (std::size_t i = 0; i < text.size(); ++i) heap.fake.put(RemoteAddr{at + i}, text[i]);
    return at;
  }

  std::uint64_t add_class(const ClassSpec& spec) {
    const std::uint64_t at = room(0x100);
    put(at, spec.element != 0 ? spec.element : at);
    const std::uint64_t rank = spec.element != 0 ? 1 : 0;
    put(at + 0x18, rank << 16 | std::uint64_t{spec.instance_bytes} << 32);
    put(at + mono::kClassFlags, spec.is_value_type ? mono::kIsValueType : 0);
    put(at + mono::kParent, spec.parent);
    put(at + mono::kNestedIn, spec.nested_in);
    put(at + mono::kName, text(spec.name));
    put(at + mono::kNamespace, text(spec.space));
    put(at + mono::kElementBytes, spec.element_bytes);
    put(at + mono::kType, at);
    put(at + mono::kType + 8, std::uint64_t{spec.code} << 16);
    return at;
  }

  // A type of a field: of a class, with the code of its own type if `code` is 0.
  std::uint64_t type_of(std::uint64_t of, std::uint8_t code, std::uint64_t attributes = 0) {
    const std::uint64_t at = room(16);
    put(at, of);
    put(at + 8, std::uint64_t{code} << 16 | attributes);
    return at;
  }
  struct FieldSpec {
    std::string name;
    std::uint64_t offset;
    std::uint64_t type;
  };
  void set_fields(std::uint64_t of, const std::vector<FieldSpec>& fields) {
    const std::uint64_t at = room((fields.size() + 1) * mono::kFieldBytes);
    put(of + mono::kFields, at);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::uint64_t field = at + i * mono::kFieldBytes;
      put(field, fields[i].type);
      put(field + 8, text(fields[i].name));
      put(field + 16, of);
      put(field + 24, fields[i].offset);
    }
  }

  // Gives a class a vtable without methods. Returns the address of its static fields.
  std::uint64_t add_vtable(std::uint64_t of, std::uint64_t static_bytes = 0) {
    const std::uint64_t vtable = room(kMethods + 8);
    vtables[of] = vtable;
    put(vtable, of);
    put(vtable + 0x10, domain);
    std::uint64_t statics = 0;
    if (static_bytes != 0) {
      put(of + mono::kElementBytes, static_bytes);
      statics = heap.object(64, heap::kUncollectable).value;
      put(vtable + 0x28, std::uint64_t{4} << 56);
    }
    put(vtable + kMethods, statics);
    const std::uint64_t info = room(24);
    put(info, 1);
    put(info + 16, vtable);
    put(of + mono::kRuntimeInfo, info);
    return statics;
  }
  // The list of a domain's vtables. Call it when all have been made.
  void list_vtables() {
    const std::uint64_t array = room(vtables.size() * 8);
    const std::uint64_t list = room(16);
    put(domain + 0x100, list);
    put(list, array);
    put(list + 8, vtables.size());
    std::uint64_t at = array;
    for (const auto& [of, vtable] : vtables) {
      put(at, vtable);
      at += 8;
    }
  }

  std::uint64_t instance(std::uint64_t of, std::uint64_t bytes, std::uint8_t kind = heap::kNormal) {
    const RemoteAddr at = heap.object(bytes, kind);
    heap.fake.put(at, vtables.at(of));
    return at.value;
  }
  [[nodiscard]] std::string type_at(std::uint64_t at) { return heap.type_at(RemoteAddr{at}); }
  [[nodiscard]] std::string keys_at(std::uint64_t at) { return heap.keys_at(RemoteAddr{at}); }

  TypedHeap heap;
  std::uint64_t domain = 0;  // of new vtables
  std::uint64_t first_domain = 0;
  std::optional<mono::ThreadClass> threads;
  std::uint64_t object = 0;
  std::uint64_t string = 0;
  std::uint64_t value_type = 0;
  std::uint64_t boolean = 0;
  std::uint64_t exception = 0;
  std::uint64_t enumeration = 0;
  std::map<std::uint64_t, std::uint64_t> vtables;  // by class

 private:
  std::uint64_t used_ = 0;
};

}  // namespace heapattach
