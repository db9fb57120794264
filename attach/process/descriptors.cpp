#include "attach/process/descriptors.h"

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "attach/base/directory.h"
#include "attach/process/kernel_text.h"

namespace heapattach {

namespace {

const Descriptor* find_number(std::span<const Descriptor> all, std::uint64_t number) {
  const auto at = std::lower_bound(
      all.begin(), all.end(), number,
      [](const Descriptor& one, std::uint64_t wanted) { return one.number < wanted; });
  return at != all.end() && at->number == number ? &*at : nullptr;
}

}  // namespace

std::vector<Descriptor> open_descriptors(const Process& process,
                                         std::span<const Descriptor> before) {
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
    if (const Descriptor* const known = find_number(before, *number)) {
      open.push_back(*known);
      continue;
    }
    const ssize_t length = readlinkat(at, entry->d_name, link.data(), link.size());
    if (length > 0) open.push_back({*number, {link.data(), static_cast<std::size_t>(length)}});
  }
  std::sort(open.begin(), open.end(),
            [](const Descriptor& a, const Descriptor& b) { return a.number < b.number; });
  return open;
}

}  // namespace heapattach
