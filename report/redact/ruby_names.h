#pragma once

#include <string_view>

// The names of library_names.h that are Ruby's.
namespace heapattach {

// A class or module, or a word for internal objects: "Thread::Mutex", "Errno::EPIPE", "imemo".
[[nodiscard]] bool is_ruby_type(std::string_view path);

// A kind of root, or a global variable of Ruby's own: "machine_context", "$stdout".
[[nodiscard]] bool is_ruby_symbol(std::string_view name);

}  // namespace heapattach
