#pragma once

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/exit_status.h"

namespace heapattach {

// `heapattach serve`: reports over HTTP (report/serve/serve.h), until SIGINT or SIGTERM.
[[nodiscard]] ExitStatus run_serve(const Options& options, const Console::Settings& settings);

}  // namespace heapattach
