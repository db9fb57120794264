#include "report/call/find_function.h"

#include <algorithm>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "symbols/elf/elf_file.h"

namespace heapattach {

namespace {

// Whether a symbol's function is a resolver, which returns the function to call: the C library has
// several versions of some functions, for different processors.
bool is_resolver(const Modules& modules, const Symbol& found, const Deadline& deadline) {
  const Module* module = modules.find(found.address);
  if (module == nullptr || module->file().empty()) return false;
  const auto elf = ElfFile::open(Fd(fcntl(module->file().get(), F_DUPFD_CLOEXEC, 0)),
                                 ElfFile::With::Symbols, deadline);
  if (!elf) return false;
  const std::vector<ElfSymbol> symbols = elf->symbols(found.name);
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return symbol.is_resolver && symbol.name == found.name &&
           symbol.address + module->bias() == found.address.value;
  });
}

std::optional<Loader> find_loader(const Modules& modules) {
  const auto open = modules.find_symbol("dlopen");
  const auto symbol = modules.find_symbol("dlsym");
  const auto error = modules.find_symbol("dlerror");
  if (!open || !symbol || !error) return std::nullopt;
  return Loader{open->address, symbol->address, error->address};
}

}  // namespace

std::string names_of(const CallOptions& options) {
  std::string names = options.call.function;
  for (const std::string& other : options.or_else) names += " or " + other;
  return names;
}

Result<Functions> find_functions(const CallOptions& options,
                                 const Modules& modules,
                                 const MemoryMap& map) {
  std::string name = options.call.function;
  auto found = modules.find_symbol(name);
  for (const std::string& other : options.or_else) {
    if (found) break;
    found = modules.find_symbol(other);
    if (found) name = other;
  }
  if (!found && !options.routine_library.empty()) {
    if (const auto loader = find_loader(modules)) return Functions{name, {}, false, {}, {}, loader};
  }
  if (!found) {
    return Error{ErrorKind::Os,
                 fmt::format("process {} has no function {} in the symbols of its {} modules",
                             options.request.pid, names_of(options), modules.all().size())}
        .advise("the name as nm shows it, or --exe or --debug-dir");
  }
  const Mapping* mapping = map.find(found->address);
  if (mapping == nullptr || !mapping->executable) {
    return Error{ErrorKind::Os, fmt::format("{} of process {} is not a function: {} is not code",
                                            name, options.request.pid, found->address)}
        .advise("another name");
  }
  const bool is_indirect = is_resolver(modules, *found, options.request.deadline);
  Functions functions{name, found->address, is_indirect, {}, {}, {}};
  if (const auto flush = modules.find_symbol("fflush")) functions.flush = flush->address;
  if (const auto location = modules.find_symbol("__errno_location")) {
    functions.errno_location = location->address;
  }
  return functions;
}

}  // namespace heapattach
