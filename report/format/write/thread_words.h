#pragma once

#include <string_view>

namespace heapattach {

// Words for a thread's state letter in /proc.
[[nodiscard]] std::string_view words_for_state(char state);

}  // namespace heapattach
