#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attach/base/result.h"
#include "attach/memory/memory_reader.h"
#include "attach/process/process.h"
#include "inject/trace/hooks.h"
#include "report/request.h"

// Without symbols, the structure of a program's code shows which functions malloc's may be. Before
// any of them is patched, copies of the process call them, and malloc's own data must show that
// they do what their names mean. A wrong guess harms only the copy.
namespace heapattach::trace {

// Which functions may be malloc's.
struct Guess {
  RemoteAddr allocates;                 // malloc
  RemoteAddr frees;                     // free
  std::optional<RemoteAddr> resizes{};  // realloc
  std::optional<RemoteAddr> zeroes{};   // calloc
  std::vector<RemoteAddr> aligning{};   // memalign, posix_memalign, valloc and others, in any order
};

struct ProvedFunction {
  RemoteAddr at;
  MallocForm form = MallocForm::Size;
};

// Whether malloc's data say that at this address is an allocation of so many bytes.
using IsAllocation = std::function<bool(const MemoryReader&, RemoteAddr at, std::uint64_t bytes)>;

// The functions of the guess that is right, with their forms. Impossible, with the reason, if none
// is. A thread of the process may be inside malloc when it is copied, so this tries several copies.
Result<std::vector<ProvedFunction>> prove_malloc(const Process& process,
                                                 const Request& request,
                                                 std::span<const Guess> guesses,
                                                 const IsAllocation& is_allocation);

}  // namespace heapattach::trace
