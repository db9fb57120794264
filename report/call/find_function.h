#pragma once

#include <optional>
#include <string>

#include "attach/process/memory_map.h"
#include "report/call/function_call.h"
#include "symbols/elf/module.h"

namespace heapattach {

// The addresses of the functions that load a library.
struct Loader {
  RemoteAddr open;  // dlopen, and so on
  RemoteAddr symbol;
  RemoteAddr error;
};

// The addresses that a call needs.
struct Functions {
  std::string name;
  RemoteAddr called;
  bool is_resolver = false;  // an indirect function (IFUNC), which returns the function to call
  std::optional<RemoteAddr> flush;           // fflush
  std::optional<RemoteAddr> errno_location;  // __errno_location
  std::optional<Loader> loader;              // set if the function must be loaded first
};

// The names of the acceptable functions, for a message.
[[nodiscard]] std::string names_of(const CallOptions& options);

// Finds the function named in `options`. Fails if there is no such function, or if it is not code.
Result<Functions> find_functions(const CallOptions& options,
                                 const Modules& modules,
                                 const MemoryMap& map);

}  // namespace heapattach
