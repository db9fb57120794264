#include "inject/trace/reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/process/thread_state.h"

namespace heapattach::trace {

namespace {

constexpr std::size_t kMostStat = 4096;

std::optional<ThreadState> state_of(std::uint64_t pid) {
  const auto file = Fd::open(fmt::format("/proc/{}/stat", pid), 0);
  const auto text = file ? read_all(*file, kMostStat) : Result<std::string>(file.error());
  const auto state = text ? parse_thread_state(*text) : Result<ThreadState>(text.error());
  return state ? std::optional(*state) : std::nullopt;
}

// The device and inode of the ring's shared memory.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

std::optional<FileId> ring_of(const Process& target, const MemoryMap& map, const Remains& remains) {
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.path == ring_path()) return FileId{mapping.device, mapping.inode};
  }
  for (const int file : remains.files) {
    const auto found = target.open_file(fmt::format("fd/{}", file), O_PATH);
    struct stat status {};
    if (found && fstat(found->get(), &status) == 0) return FileId{status.st_dev, status.st_ino};
  }
  return std::nullopt;
}

// Reads the maps of processes, within the limits.
class Maps {
 public:
  explicit Maps(const ReaderSearch& search)
      : search_(search), left_(search.all_bytes), until_(Clock::now() + search.time) {}

  [[nodiscard]] bool is_over() const { return left_ == 0 || Clock::now() >= until_; }

  // Reads as far as the limits allow, a few pages at a time as the kernel writes them. The last
  // line may be incomplete.
  Result<std::string> read(pid_t pid) {
    const Fd file = HA_TRY(Fd::open(fmt::format("/proc/{}/maps", pid), O_RDONLY));
    std::string text;
    std::array<char, 16384> some{};
    while (!is_over() && text.size() < search_.maps_bytes) {
      const ssize_t got = ::read(file.get(), some.data(), std::min(some.size(), left_));
      const int failure = errno;
      if (got < 0 && failure == EINTR) continue;
      if (got < 0) return os_error(fmt::format("reading the maps of {}", pid), failure);
      if (got == 0) return text;
      text.append(some.data(), static_cast<std::size_t>(got));
      left_ -= static_cast<std::size_t>(got);
    }
    text.resize(text.rfind('\n') + 1);
    return text;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const ReaderSearch& search_;
  std::size_t left_;
  Clock::time_point until_;
};

// Whether a process has mapped the ring but not the recorder's code. (A forked child of the target
// has both.) Returns nothing if we may not read its maps.
std::optional<bool> is_reader(pid_t pid, FileId ring, Maps& maps) {
  const auto text = maps.read(pid);
  if (!text) return text.error().kind == ErrorKind::Denied ? std::nullopt : std::optional(false);
  const auto map = parse_maps(*text);
  if (!map) return std::nullopt;
  bool has_ring = false;
  for (const Mapping& mapping : map->mappings()) {
    if (mapping.inode != ring.inode || mapping.device != ring.device) continue;
    if (mapping.is_private) return false;
    has_ring = true;
  }
  return has_ring;
}

}  // namespace

std::string ring_path() {
  return fmt::format("/memfd:{}", kRingName);
}

std::uint64_t start_of(std::uint64_t pid) {
  const auto state = state_of(pid);
  return state && !state->is_exiting() ? state->start_ticks : 0;
}

pid_t reader_of(const Process& target,
                const MemoryMap& map,
                const Remains& remains,
                const ReaderSearch& search) {
  const auto ring = ring_of(target, map, remains);
  if (!ring) return 0;
  Maps maps(search);
  const auto own = state_of(static_cast<std::uint64_t>(getpid()));
  const auto is_named_as_we = [&](std::uint64_t pid) {
    const auto state = state_of(pid);
    return own && state && !state->is_exiting() && state->name == own->name;
  };
  if (remains.head && start_of(remains.head->tool) != 0 &&
      start_of(remains.head->tool) == remains.head->tool_start) {
    const auto tool = static_cast<pid_t>(remains.head->tool);
    // The name may be all that we can see of another user's process.
    if (is_reader(tool, *ring, maps).value_or(is_named_as_we(remains.head->tool))) return tool;
  }
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    if (maps.is_over()) return 0;
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0 || pid == target.pid() || !is_named_as_we(static_cast<std::uint64_t>(pid))) {
      continue;
    }
    if (is_reader(pid, *ring, maps).value_or(false)) return pid;
  }
  return 0;
}

}  // namespace heapattach::trace
