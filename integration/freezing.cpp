#include "integration/freezing.h"

#include <array>

namespace heapattach {

Result<FreezeReport> freeze_once(pid_t pid, const FreezeOptions& options, const FrozenWork& work) {
  const Process process = HA_TRY(Process::open(pid));
  return while_frozen(process, options, [&](const FrozenView& view) -> Result<void> {
    return work ? work(view) : Result<void>();
  });
}

std::string text_of(const Error& error) {
  static constexpr std::array<const char*, 11> kKinds{
      "Gone",      "Denied",      "Traced",     "Fault", "Timeout", "Interrupted",
      "Malformed", "Unsupported", "Impossible", "Usage", "Os"};
  return std::string(kKinds.at(static_cast<std::size_t>(error.kind))) + ": " + error.message();
}

}  // namespace heapattach
