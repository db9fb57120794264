#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace heapattach {

// "heapattach 0.1.0": printed by --version and stored in the header of a snapshot.
[[nodiscard]] std::string_view version_text();
// The text of --version --json. (Both are in version.cpp.)
[[nodiscard]] std::string version_json();

// The text of `help TOPIC`: the most important options on one screen (no topic), everything
// ("all"), one report or option, the option list of the man page ("man"), or a shell's completions
// ("bash", "zsh", "fish"). Fails with Usage if there is no such topic. (help.cpp)
Result<std::string> help_text(std::string_view topic);

// The topics with their own source files.
[[nodiscard]] std::string man_options();                        // (man_options.cpp)
[[nodiscard]] std::string completions(std::string_view shell);  // (completions.cpp)

// The list of values for -f: "for a snapshot: jsonl, …; for counts: table, …".
[[nodiscard]] std::string format_list();

// "-o, --output FILE".
struct OptionRow;
[[nodiscard]] std::string option_synopsis(const OptionRow& row);

}  // namespace heapattach
