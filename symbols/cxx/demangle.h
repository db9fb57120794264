#pragma once

#include <string>
#include <string_view>

namespace heapattach::cxx {

// Demangles `symbol`, in the demangler's own spelling. Returns `symbol` itself if it is not
// mangled, or too complex for the demangler. At most 4 KiB.
[[nodiscard]] std::string demangled(std::string_view symbol);

}  // namespace heapattach::cxx
