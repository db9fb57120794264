#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/process/process.h"

namespace heapattach {

// An open descriptor of a process.
struct Descriptor {
  std::uint64_t number = 0;
  std::string link;  // "pipe:[4711]", "/var/log/app.log"
};

// All of them, by number; none if they are hidden from us. Reading a link takes some microseconds,
// so those in `before`, a list of a moment ago, are taken from there.
[[nodiscard]] std::vector<Descriptor> open_descriptors(const Process& process,
                                                       std::span<const Descriptor> before = {});

}  // namespace heapattach
