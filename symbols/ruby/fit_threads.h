#pragma once

#include <cstdint>
#include <span>

#include "symbols/ruby/layout.h"
#include "symbols/ruby/values.h"

// Finds how a release lays out its virtual machine, threads and code, by what references what. The
// offsets that the layout has already are tried first.
namespace heapattach::ruby {

// Whether a virtual machine is at `vm`: it references its main thread, which references it and an
// execution context, and that references the thread. Sets these offsets.
bool fit_machine(const Values& values, std::uint64_t vm, Layout& layout);

// Sets the other offsets of the machine's main thread, of its ractor and of its fiber. Returns what
// was not found, for people; empty if all was.
std::string_view fit_threads(const Values& values, std::uint64_t vm, Layout& layout);

// Sets the offsets in the code objects `iseqs`, and the size of frames by the stack of the main
// thread. Returns what was not found; empty if all was.
std::string_view fit_code(const Values& values,
                          std::uint64_t vm,
                          std::span<const Value> iseqs,
                          Layout& layout);

// Finds the offsets of names and superclasses in classes. `named` are core classes with their
// names.
struct NamedClass {
  Value value = 0;
  std::string_view name;
  Value superclass = 0;  // 0: unknown
};
bool fit_classes(const Values& values, std::span<const NamedClass> named, Layout& layout);

}  // namespace heapattach::ruby
