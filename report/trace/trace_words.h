#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "report/trace/trace.h"

namespace heapattach::trace {

// The words in records for the owner of a frame's code.
inline constexpr std::array<std::pair<std::string_view, Whose>, 4> kWhoseWords{{
    {"own", Whose::Own},
    {"library", Whose::Library},
    {"runtime", Whose::Runtime},
    {"collector", Whose::Collector},
}};

}  // namespace heapattach::trace
