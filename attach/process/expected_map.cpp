#include "attach/process/expected_map.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace heapattach {

namespace {

constexpr std::size_t kLongestTextBytes = std::size_t{512} << 20U;  // as Process reads

}  // namespace

Result<ExpectedMap> ExpectedMap::read(const Process& process, MemoryMap& map) {
  std::string text;
  const auto read_text = [&]() -> Result<std::string> {
    text = HA_TRY(process.read_file("maps"));
    return text;
  };
  map = HA_TRY(read_maps(read_text, process.pid()));
  return ExpectedMap(std::move(text));
}

Result<std::optional<MemoryMap>> ExpectedMap::changed(const Process& process) const {
  const Fd file = HA_TRY(process.open_file("maps", O_RDONLY));
  const auto text = HA_TRY(read_if_other(file, text_));
  if (!text) return std::optional<MemoryMap>();
  auto map = parse_maps(*text);
  if (map && !map->mappings().empty()) return std::optional(std::move(*map));
  return std::optional(HA_TRY(process.maps()));  // reads again, or knows why not
}

Result<std::optional<std::string>> read_if_other(const Fd& file, std::string_view expected) {
  std::array<char, 16384> step;  // NOLINT(*-member-init): read() fills it
  std::string_view rest = expected;
  while (true) {
    const ssize_t got = ::read(file.get(), step.data(), step.size());
    const int failure = errno;
    if (got < 0 && failure == EINTR) continue;
    if (got < 0) return os_error("read", failure);
    const std::string_view piece(step.data(), static_cast<std::size_t>(got));
    if (piece.empty() && rest.empty()) return std::optional<std::string>();
    if (piece.empty() || !rest.starts_with(piece)) {
      std::string text(expected.substr(0, expected.size() - rest.size()));
      text += piece;
      if (!piece.empty()) text += HA_TRY(read_all(file, kLongestTextBytes));
      return std::optional(std::move(text));
    }
    rest.remove_prefix(piece.size());
  }
}

}  // namespace heapattach
