#pragma once

#include <optional>
#include <string>

#include "attach/memory_map.h"
#include "report/call/function_call.h"
#include "symbols/elf/module.h"

namespace heapattach {

// How a library is loaded.
struct Loader {
  RemoteAddr open;  // dlopen, and the others likewise
  RemoteAddr symbol;
  RemoteAddr error;
};

// What a call comes down to.
struct Functions {
  std::string name;
  RemoteAddr called;
  bool is_resolver = false;                  // of an indirect function: it says which one to call
  std::optional<RemoteAddr> flush;           // fflush
  std::optional<RemoteAddr> errno_location;  // __errno_location
  std::optional<Loader> loader;              // if the function is yet to be loaded
};

// The functions that it may be, as a message says them.
[[nodiscard]] std::string names_of(const CallOptions& options);

// Where what `options` name is. An error if there is none of that name, or it is no code.
Result<Functions> find_functions(const CallOptions& options,
                                 const Modules& modules,
                                 const MemoryMap& map);

}  // namespace heapattach
