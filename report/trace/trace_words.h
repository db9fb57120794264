#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "report/trace/trace.h"

namespace heapattach::trace {

// The words for owners of a frame's code in records.
inline constexpr std::array<std::pair<std::string_view, Whose>, 4> kWhoseWords{{
    {"own", Whose::Own},
    {"library", Whose::Library},
    {"runtime", Whose::Runtime},
    {"collector", Whose::Collector},
}};

// A warning of a trace in which only the program itself ended objects.
inline constexpr std::string_view kNoCollection =
    "no collection ran meanwhile: everything allocated and not freed counts as in use";

// The start of the reason of a trace that --timeout cut short.
inline constexpr std::string_view kDeadlinePassed = "the deadline passed";

// The reason of a table for which --timeout was too short.
inline constexpr std::string_view kTableCut =
    "the deadline passed: the table has only a part of the trace; try a longer --timeout";

}  // namespace heapattach::trace
