#pragma once

#include <string_view>

namespace heapattach {

// The state of a thread in /proc, in words.
[[nodiscard]] std::string_view words_for_state(char state);

}  // namespace heapattach
