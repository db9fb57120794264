#pragma once

#include <string>
#include <string_view>

#include "attach/result.h"

namespace heapattach {

// "heapattach 0.1.0", as --version and the header of a snapshot have it.
[[nodiscard]] std::string_view version_text();

// What `help TOPIC` prints: on one screen what most need (no topic), all of it ("all"), about one
// report or option, the option list of the man page ("man"), or a shell's completions ("bash",
// "zsh", "fish"). Usage if there is no such topic. (help.cpp)
Result<std::string> help_text(std::string_view topic);

// The parts that are files of their own.
[[nodiscard]] std::string man_options();                        // (man_options.cpp)
[[nodiscard]] std::string completions(std::string_view shell);  // (completions.cpp)

// What -f takes: "of a snapshot: jsonl, …; of counts: table, …".
[[nodiscard]] std::string format_list();

// "-o, --output FILE".
struct OptionRow;
[[nodiscard]] std::string option_synopsis(const OptionRow& row);

}  // namespace heapattach
