#pragma once

#include "report/cli/options.h"
#include "report/format/write/table.h"

namespace heapattach {

// The environment variables that affect human-readable output.
struct Surroundings {
  const char* term = nullptr;
  // The first of these that is set and not empty names the locale.
  const char* lc_all = nullptr;
  const char* lc_ctype = nullptr;
  const char* lang = nullptr;
};
[[nodiscard]] Surroundings surroundings();

// Whether to print only ASCII: on a terminal with TERM=dumb, and anywhere if the locale is set and
// is not UTF-8, such as LC_ALL=C.
[[nodiscard]] bool wants_ascii(const Surroundings& around, bool is_terminal);
[[nodiscard]] bool is_dumb(const Surroundings& around);

// How to print a report: with the terminal's width on a terminal, and with colour there or as set
// by --color.
[[nodiscard]] TextStyle style_of(const Options& options);

}  // namespace heapattach
