#pragma once

#include <functional>
#include <string>

#include "report/cli/console.h"
#include "report/cli/exit_status.h"
#include "report/cli/options.h"

// What main() needs of the process that we are: its descriptors, its terminal, its last handler.
namespace heapattach {

// Started with one of them closed, the next file opened would take its number, and the report or
// an error message would land in it. Opened for the wrong direction each still fails as if closed.
void occupy_standard_descriptors();

// Runs `work` with a last handler. It is load-bearing: where no handler exists, C++ may end the
// process without unwinding, and it is unwinding that lets a frozen target go.
int caught(const std::function<ExitStatus()>& work);

// As the options and the environment want it; without options, as the environment does.
[[nodiscard]] Console::Settings console_settings(const Options* options);

// Writes what --help and --version print: data, for which a full disk is an error like any other.
[[nodiscard]] ExitStatus show(const ShowText& shown, Console& console);

// Says what is wrong with the arguments.
[[nodiscard]] ExitStatus refuse(const std::string& message, Console& console);

}  // namespace heapattach
