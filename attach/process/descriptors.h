#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/process/process.h"

namespace heapattach {

// An open descriptor of a process.
struct Descriptor {
  std::uint64_t number = 0;
  std::string link;  // "pipe:[4711]", "/var/log/app.log"
};

// All of them; none if they are hidden from us.
[[nodiscard]] std::vector<Descriptor> open_descriptors(const Process& process);

}  // namespace heapattach
