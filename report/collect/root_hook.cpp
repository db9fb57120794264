#include "report/collect/root_hook.h"

#include <fmt/format.h>

#include "symbols/cxx/function_name.h"

namespace heapattach::snapshot {

std::string unknown_root_hook(const Target& target, const HeldHeap& held) {
  if (target.runtime == "crystal" || target.runtimes.follows_root_hook()) return {};
  const auto variable = target.modules.find_symbol("GC_push_other_roots");
  if (!variable) return {};
  const auto hook = held.capture.read_as<std::uint64_t>(variable->address);
  if (!hook || *hook == 0) return {};
  const Module* module = target.modules.find(RemoteAddr{*hook});
  if (module == nullptr || module->name().starts_with("libgc.so")) return {};
  const auto function = module->symbol_at(RemoteAddr{*hook});
  if (function && function->name.starts_with("GC_")) return {};
  return fmt::format(
      "the program makes the collector look for more roots with {} of {}, and objects that only "
      "those keep alive are missing here",
      function ? function_name(function->name) : fmt::format("the function at {:#x}", *hook),
      module->name());
}

}  // namespace heapattach::snapshot
