#pragma once

#include <string>

#include "attach/base/result.h"
#include "report/cli/options.h"

namespace heapattach {

// Whether `name` is a regular file that starts like an ELF file: a core file, or something mistaken
// for one. Never reads from a pipe.
[[nodiscard]] bool is_elf_file(const std::string& name);

// For a file that is not a core file, a usage error if one of the options does not apply to it.
// Unlike parse_options(), it reads the files.
[[nodiscard]] Result<void> refuse_for_file_kind(const Options& options);

}  // namespace heapattach
