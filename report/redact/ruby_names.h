#pragma once

#include <string_view>

// Ruby's part of library_names.h.
namespace heapattach {

// Whether `path` is a class, a module, or a word for internal objects: "Thread::Mutex",
// "Errno::EPIPE", "imemo".
[[nodiscard]] bool is_ruby_type(std::string_view path);

// Whether `name` is a kind of root or one of Ruby's own global variables: "machine_context",
// "$stdout".
[[nodiscard]] bool is_ruby_symbol(std::string_view name);

}  // namespace heapattach
