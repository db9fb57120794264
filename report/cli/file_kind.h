#pragma once

#include <optional>
#include <string>

#include "report/cli/options.h"

namespace heapattach {

// Whether `name` is a regular file that begins as an ELF file does: a core file, or a mistake for
// one. A pipe is not, and nothing is read from it.
[[nodiscard]] bool is_elf_file(const std::string& name);

// For a file that is not a core file: which of the options do not apply to it, as a message for the
// user. It reads the files, which parse_options() does not.
[[nodiscard]] std::optional<std::string> refuse_for_file_kind(const Options& options);

}  // namespace heapattach
