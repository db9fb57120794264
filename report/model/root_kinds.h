#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "report/model/model.h"

namespace heapattach::snapshot {

// The names of the kinds of roots in records and reports.
inline constexpr std::array<std::pair<std::string_view, RootKind>, 7> kRootKinds{{
    {"stack", RootKind::Stack},
    {"register", RootKind::Register},
    {"global", RootKind::Global},
    {"thread-local", RootKind::ThreadLocal},
    {"fiber", RootKind::Fiber},
    {"uncollectable", RootKind::Uncollectable},
    {"finalizer", RootKind::Finalizer},
}};

[[nodiscard]] constexpr std::string_view root_kind_name(RootKind kind) {
  for (const auto& [name, named] : kRootKinds) {
    if (named == kind) return name;
  }
  return {};
}

}  // namespace heapattach::snapshot
