#include "symbols/elf/vdso.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;

// A file that exists only in memory.
std::optional<Fd> file_with(std::span<const std::byte> bytes) {
  Fd file(::memfd_create("vdso", MFD_CLOEXEC));
  if (file.get() < 0) return {};
  const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
  if (written != static_cast<ssize_t>(bytes.size())) return {};
  return file;
}

}  // namespace

std::optional<Vdso> find_vdso(const MemoryReader& memory, const MemoryMap& map) {
  const auto& mappings = map.mappings();
  const auto mapping = std::find_if(mappings.begin(), mappings.end(), [](const Mapping& one) {
    return one.is_anonymous() && one.path == "[vdso]" && one.executable;
  });
  if (mapping == mappings.end()) return {};
  std::vector<std::byte> image(std::min(mapping->range.bytes, kMostBytes));
  if (!memory.read(mapping->range.start, image)) return {};
  auto file = file_with(image);
  if (!file) return {};
  return Vdso{std::move(*file), mapping->path, mapping->range.start};
}

}  // namespace heapattach
