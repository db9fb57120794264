#include "symbols/boehm/root_function.h"

#include <algorithm>
#include <iterator>

#include "symbols/boehm/collector_code.h"

namespace heapattach::boehm {

namespace {

// Whether a function without a name belongs to a collector that is linked into the program,
// stripped but with its interface exported. The linker puts the collector's objects side by side,
// so the exported functions before and after it are the collector's too.
bool is_among_collectors(const Module& module, RemoteAddr function) {
  const auto is_its = [](const Symbol& symbol) { return symbol.name.starts_with("GC_"); };
  const auto symbols = module.symbols();
  auto after = std::partition_point(symbols.begin(), symbols.end(), [&](const Symbol& symbol) {
    return symbol.address <= function;
  });
  auto before = after;
  while (before != symbols.begin() && !std::prev(before)->is_function) --before;
  while (after != symbols.end() && !after->is_function) ++after;
  return before != symbols.begin() && is_its(*std::prev(before)) && after != symbols.end() &&
         is_its(*after);
}

// Whether a collector that is recognised only by its code has a function of the program's.
std::optional<heap::RootFunction> find_without_symbols(const Collector& collector,
                                                       const Modules& modules,
                                                       const MemoryReader& memory) {
  for (const Module& module : modules.all()) {
    const bool is_its = module.name() == collector.module || module.path() == collector.module;
    if (!is_its || !module.symbols_with_prefix("GC_").empty()) continue;
    const auto code = find_collector_code(module, collector);
    if (code && has_replaced_hook(*code, memory)) return heap::RootFunction{};
  }
  return std::nullopt;
}

}  // namespace

std::optional<heap::RootFunction> find_root_function(const Collector& collector,
                                                     const Modules& modules,
                                                     const MemoryReader& memory) {
  const auto variable = modules.find_symbol("GC_push_other_roots");
  if (!variable) return find_without_symbols(collector, modules, memory);
  const auto hook = memory.read_as<std::uint64_t>(variable->address);
  if (!hook || *hook == 0) return std::nullopt;
  const RemoteAddr at{*hook};
  const Module* module = modules.find(at);
  if (module == nullptr || module->name().starts_with("libgc.so")) return std::nullopt;
  const auto symbol = module->symbol_at(at);
  const bool is_its = symbol ? symbol->name.starts_with("GC_") : is_among_collectors(*module, at);
  if (is_its) return std::nullopt;
  return heap::RootFunction{at, symbol ? std::string(symbol->name) : std::string(), module->name()};
}

}  // namespace heapattach::boehm
