#pragma once

#include <functional>
#include <string>

#include "attach/base/result.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/exit_status.h"

// Prepares our own process for main(): standard descriptors, terminal settings, a last exception
// handler.
namespace heapattach {

// Opens any closed standard descriptors. Otherwise the next opened file would get such a number,
// and the report or an error message would be written to it. They are opened for the wrong
// direction, so that using them still fails.
void occupy_standard_descriptors();

// Fails if we may open too few files. A file that cannot be opened must not pass for one that is
// not there.
Result<void> check_descriptors();

// Runs `work` and catches all exceptions. This is essential: without a handler, C++ may end the
// process without unwinding, and unwinding releases a frozen target.
int caught(const std::function<ExitStatus()>& work);

// The settings from the options, if any, and the environment.
[[nodiscard]] Console::Settings console_settings(const Options* options);

// Writes the output of --help and --version. It is data, so a full disk is an error here too.
[[nodiscard]] ExitStatus show(const ShowText& shown, Console& console);

// Reports a usage error.
[[nodiscard]] ExitStatus refuse(const UsageError& error, Console& console);

}  // namespace heapattach
