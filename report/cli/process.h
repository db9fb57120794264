#pragma once

#include <functional>
#include <string>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

// What main() needs of our own process: its descriptors, its terminal, its last handler.
namespace heapattach {

// If we start with one of them closed, the next opened file would get its number, and the report or
// an error message would be written to it. Opened for the wrong direction, each still fails as if
// closed.
void occupy_standard_descriptors();

// Runs `work` with a last handler, which is essential: without any handler C++ may end the process
// without unwinding, and unwinding releases a frozen target.
int caught(const std::function<ExitStatus()>& work);

// The settings from options and environment; without options, from the environment.
[[nodiscard]] Console::Settings console_settings(const Options* options);

// Writes the output of --help and --version: data, for which a full disk is an error like any
// other.
[[nodiscard]] ExitStatus show(const ShowText& shown, Console& console);

// Reports what is wrong with the arguments.
[[nodiscard]] ExitStatus refuse(const std::string& message, Console& console);

}  // namespace heapattach
