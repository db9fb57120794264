#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attach/memory/resident.h"
#include "attach/memory/stalling.h"
#include "attach/process/memory_map.h"
#include "attach/process/process_status.h"
#include "attach/process/thread_state.h"

// Parses texts of /proc, in which the target chooses names and paths.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heapattach;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_maps(text);
  (void)parse_smaps(text);
  (void)parse_thread_state(text);
  (void)parse_process_status(text);
  (void)userfault_ranges(text);
  (void)served_devices(text);
  (void)has_userfaultfd(text);
  return 0;
}
