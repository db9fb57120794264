#pragma once

#include <string>
#include <string_view>

namespace heapattach::cxx {

// What the mangled name `symbol` stands for, in the demangler's own spelling; `symbol` itself if it
// is none, or one that would take the demangler too far. At most 4 KiB.
[[nodiscard]] std::string demangled(std::string_view symbol);

}  // namespace heapattach::cxx
