#pragma once

#include <string>
#include <string_view>

namespace heapattach::cxx {

// The meaning of the mangled name `symbol`, in the demangler's own spelling; `symbol` itself if it
// is not a mangled name, or too complex for the demangler. At most 4 KiB.
[[nodiscard]] std::string demangled(std::string_view symbol);

}  // namespace heapattach::cxx
