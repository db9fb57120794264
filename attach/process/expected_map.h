#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attach/process/memory_map.h"
#include "attach/process/process.h"

namespace heapattach {

// The text of a memory map that was read before a freeze. During the freeze it is compared with the
// kernel's current text, which takes less time than parsing that, and can be done while other work
// relies on the old map: every fiber of a program may have two mappings.
class ExpectedMap {
 public:
  explicit ExpectedMap(std::string text) : text_(std::move(text)) {}
  // Reads the map of `process` into `map`.
  static Result<ExpectedMap> read(const Process& process, MemoryMap& map);

  // The current map, if it has any other text; none if it is the same. The process must be stopped.
  [[nodiscard]] Result<std::optional<MemoryMap>> changed(const Process& process) const;

 private:
  std::string text_;
};

// The whole text of `file`, if it is not `expected`.
Result<std::optional<std::string>> read_if_other(const Fd& file, std::string_view expected);

}  // namespace heapattach
