#pragma once

#include <string_view>
#include <vector>

#include "symbols/heap/heap.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/source.h"

namespace heapattach::glibc {

// The allocations that the C and C++ libraries make for themselves in almost every process, as far
// as the libraries' own data prove what they are: libstdc++'s emergency pool, the buffers and FILEs
// of stdio, the thread-local data of threads, the loader's records of libraries that were loaded
// later, the environment, and the results of getaddrinfo(). Objects of any other use are left out.
[[nodiscard]] std::vector<heap::OwnObject> find_library_objects(const heap::Heap& heap,
                                                                const heap::Copied& copied);

// Whether a type's name is one that such allocations get: "(emergency pool of libstdc++)".
[[nodiscard]] bool is_library_object(std::string_view type_name);

}  // namespace heapattach::glibc
