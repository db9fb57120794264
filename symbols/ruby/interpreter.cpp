#include "symbols/ruby/interpreter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace heapattach::ruby {

namespace {

// Reads a constant string of Ruby's; empty if it cannot be read.
std::string text_at(const Modules& modules, const MemoryReader& memory, std::string_view name) {
  const auto symbol = modules.find_symbol(name);
  if (!symbol) return {};
  std::array<std::byte, 200> bytes{};
  const auto got = memory.read_some(symbol->address, bytes);
  if (!got) return {};
  std::string text;
  for (std::size_t i = 0; i < *got && bytes[i] != std::byte{0}; ++i) {
    text += static_cast<char>(bytes[i]);
  }
  return text;
}

}  // namespace

std::optional<Interpreter> find_interpreter(const Modules& modules, const MemoryReader& memory) {
  Interpreter found;
  for (const auto& [name, address] : {std::pair("rb_eval_string", &found.eval_string),
                                      std::pair("rb_thread_call_with_gvl", &found.call_with_lock),
                                      std::pair("ruby_thread_has_gvl_p", &found.has_lock),
                                      std::pair("ruby_native_thread_p", &found.is_ruby_thread),
                                      std::pair("rb_during_gc", &found.is_collecting)}) {
    const auto symbol = modules.find_symbol(name);
    if (!symbol) return std::nullopt;
    *address = symbol->address;
  }
  // A program may have loaded Ruby without starting it.
  if (const auto vm = modules.find_symbol("ruby_current_vm_ptr")) {
    const auto started = memory.read_as<std::uint64_t>(vm->address);
    if (!started || *started == 0) return std::nullopt;
  }
  found.version = text_at(modules, memory, "ruby_version");
  found.description = text_at(modules, memory, "ruby_description");
  if (found.version.empty()) return std::nullopt;
  if (const Module* module = modules.find(found.eval_string)) found.module = module->name();
  return found;
}

}  // namespace heapattach::ruby
