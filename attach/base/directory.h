#pragma once

#include <memory>

#include <dirent.h>

namespace heapattach {

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

}  // namespace heapattach
