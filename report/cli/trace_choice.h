#pragma once

#include <string>
#include <vector>

#include "report/cli/options.h"
#include "report/trace/sites.h"

// Translates the options into a choice of a trace's events.
namespace heapattach {

[[nodiscard]] trace::FrameChoice frames_of(const Options& options);

// The full names of the types that --type means. One that names none is in `problems`, and chooses
// no rows.
[[nodiscard]] std::vector<std::string> types_meant(const Options& options,
                                                   const trace::Trace& trace,
                                                   std::vector<std::string>& problems);

[[nodiscard]] trace::SiteChoice choice_of(const Options& options,
                                          const trace::Trace& trace,
                                          std::vector<std::string>& problems);

}  // namespace heapattach
