#pragma once

#include <optional>
#include <string>

#include "report/cli/options.h"

namespace heapattach {

// Whether `name` is a regular file that begins as an ELF file does: a core file, or what is taken
// for one. A pipe is none, and nothing is taken out of it.
[[nodiscard]] bool is_elf_file(const std::string& name);

// Of a file that is no core file, what of the options is not for it, as a message for the user. It
// takes a look at the files, which parse_options() does not.
[[nodiscard]] std::optional<std::string> refuse_for_file_kind(const Options& options);

}  // namespace heapattach
