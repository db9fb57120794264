#pragma once

#include <functional>
#include <memory>
#include <string>

#include "attach/base/fd.h"
#include "report/cli/console.h"
#include "report/cli/options.h"
#include "symbols/elf/debug_server.h"

// Where debug files come from that are not on this machine.
namespace heapattach {

// The servers in DEBUGINFOD_URLS; null if there are none, or --no-debuginfod. `console` must
// outlive it.
[[nodiscard]] std::shared_ptr<DebugServer> debug_server(const Options& options, Console& console);

// For a process that is about to be confined: the duty of its broker to ask the servers
// (attach/sandbox/confined.h), and the server to use from then on.
using FindDebugFile = std::function<Result<Fd>(const std::string& build_id)>;
[[nodiscard]] FindDebugFile duty_to_ask_servers(const Options& options, const Deadline& deadline);
[[nodiscard]] std::shared_ptr<DebugServer> brokered_debug_server(Console& console);

}  // namespace heapattach
