#include "attach/process/descriptors.h"

#include <array>
#include <climits>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/base/directory.h"
#include "attach/process/kernel_text.h"

namespace heapattach {

std::vector<Descriptor> open_descriptors(const Process& process) {
  std::vector<Descriptor> open;
  auto directory = process.open_file("fd", O_RDONLY | O_DIRECTORY);
  if (!directory) return open;
  const int at = directory->get();
  const Directory entries(fdopendir(at));
  if (!entries) return open;
  static_cast<void>(directory->release());  // the DIR has it
  std::array<char, PATH_MAX> link{};
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe)
    std::string_view name = entry->d_name;
    const auto number = take_number(name);
    if (!number) continue;
    const ssize_t length = readlinkat(at, entry->d_name, link.data(), link.size());
    if (length > 0) open.push_back({*number, {link.data(), static_cast<std::size_t>(length)}});
  }
  return open;
}

}  // namespace heapattach
