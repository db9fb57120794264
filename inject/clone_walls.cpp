#include "inject/clone_walls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attach/sandbox/open_file.h"
#include "inject/call_filter.h"
#include "inject/call_rights.h"
#include "inject/pass_files.h"

namespace heapattach {

namespace {

using Arguments = std::vector<std::uint64_t>;

Error refused(std::string_view what, std::int64_t result) {
  Error error = os_error(fmt::format("{} in the clone", what), static_cast<int>(-result));
  error.kind = ErrorKind::Impossible;
  return error;
}

// Numbers and structures of Landlock, as in <linux/landlock.h>. We do not include that header,
// because its version differs between systems.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
struct RulesetAttributes {
  std::uint64_t files = 0;    // rights that are denied unless a rule allows them
  std::uint64_t network = 0;  // since version 4
  std::uint64_t scoped = 0;   // since version 6
};
struct __attribute__((packed)) BeneathRule {
  std::uint64_t allowed = 0;
  std::int32_t directory = 0;
};
constexpr std::uint64_t kRead = 1U << 2 | 1U << 3;  // to read files, and directories

// The arguments of capget(2) and capset(2): a header, and the three sets of capabilities, each in
// two parts.
struct Rights {
  std::uint32_t version = _LINUX_CAPABILITY_VERSION_3;
  std::int32_t pid = 0;
  struct Sets {
    std::uint32_t effective = 0;
    std::uint32_t permitted = 0;
    std::uint32_t inheritable = 0;
  } low, high;
};
constexpr std::uint32_t kReadFiles = 1U << CAP_DAC_READ_SEARCH;

// The file rights that this version of Landlock knows.
std::uint64_t all_about_files(std::int64_t version) {
  std::uint64_t all = (1U << 13) - 1;
  if (version >= 2) all |= 1U << 13;  // to move between directories
  if (version >= 3) all |= 1U << 14;  // to truncate
  if (version >= 5) all |= 1U << 15;  // to use ioctl on devices
  return all;
}

std::size_t size_of_attributes(std::int64_t version) {
  if (version < 4) return offsetof(RulesetAttributes, network);
  if (version < 6) return offsetof(RulesetAttributes, scoped);
  return sizeof(RulesetAttributes);
}

class Closing {
 public:
  Closing(OwnProcess& own, std::vector<int> beyond, std::size_t most_written, bool uses_landlock)
      : own_(own), most_written_(most_written), uses_landlock_(uses_landlock) {
    walls_.rules.beyond = std::move(beyond);
  }

  Result<CloneWalls> run() {
    HA_TRY(limit(RLIMIT_CORE, 0));
    HA_TRY(limit(RLIMIT_FSIZE, most_written_));
    // In a session of its own, a signal to its process group reaches only the clone.
    static_cast<void>(HA_TRY(must("setsid", SYS_setsid, {})));
    HA_TRY(unshare_memory());
    static_cast<void>(
        HA_TRY(must("PR_SET_NO_NEW_PRIVS", SYS_prctl, {PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0})));
    walls_.rules.has_landlock = HA_TRY(restrict_files());
    HA_TRY(drop_rights());
    walls_.rules.self = static_cast<pid_t>(HA_TRY(must("getpid", SYS_getpid, {})));
    HA_TRY(filter_calls());
    return std::move(walls_);
  }

 private:
  Result<std::int64_t> call(long number, const Arguments& arguments) {
    return own_.system_call(number, arguments);
  }
  Result<std::int64_t> must(std::string_view what, long number, const Arguments& arguments) {
    const std::int64_t done = HA_TRY(call(number, arguments));
    if (done < 0) return refused(what, done);
    return done;
  }
  template <class T>
  Result<std::uint64_t> put(const T& value) {
    HA_TRY(own_.write(own_.scratch(), std::as_bytes(std::span(&value, 1))));
    return own_.scratch().value;
  }
  Result<void> close(std::int64_t descriptor) {
    static_cast<void>(HA_TRY(call(SYS_close, {static_cast<std::uint64_t>(descriptor)})));
    return {};
  }

  // Lowers a limit, unless it is lower already. The clone makes the call, because we would need
  // CAP_SYS_RESOURCE to change a limit of another user's process.
  Result<void> limit(__rlimit_resource what, rlim_t most) {
    const std::uint64_t at = HA_TRY(put(rlimit{}));
    const auto number = static_cast<std::uint64_t>(what);
    static_cast<void>(HA_TRY(must("prlimit", SYS_prlimit64, {0, number, 0, at})));
    const auto present = HA_TRY(own_.memory().read_as<rlimit>(own_.scratch()));
    const rlim_t bytes = std::min(present.rlim_max, most);
    static_cast<void>(HA_TRY(put(rlimit{bytes, bytes})));
    static_cast<void>(HA_TRY(must("prlimit", SYS_prlimit64, {0, number, at, 0})));
    return {};
  }

  // Makes shared memory private or, if that fails, read-only for good. Read-only mappings are
  // included, because the clone could make them writable.
  Result<void> unshare_memory() {
    const MemoryMap map = HA_TRY(own_.process().maps());
    std::optional<FilePassage> passage;
    bool is_tried = false;
    for (const Mapping& mapping : map.mappings()) {
      if (mapping.is_private) continue;
      if (!std::exchange(is_tried, true)) {
        auto opened = FilePassage::open(own_);
        if (opened) passage.emplace(std::move(*opened));
      }
      if (passage && replace(mapping, *passage)) continue;
      HA_TRY(protect(mapping));
      walls_.rules.shared.push_back(mapping.range);
    }
    return {};
  }

  // Opens the file of a mapping. Refuses all but regular files: opening a device may have effects.
  [[nodiscard]] Result<Fd> file_of(const Mapping& mapping) const {
    const std::string name =
        fmt::format("map_files/{:x}-{:x}", mapping.range.start.value, mapping.range.end().value);
    return reopen_if_regular(HA_TRY(own_.process().open_file(name, O_PATH)), name);
  }

  // Replaces shared memory by a private mapping of the same file. Returns false if that failed.
  bool replace(const Mapping& mapping, FilePassage& passage) {
    const auto file = file_of(mapping);
    if (!file) return false;
    const auto descriptor = passage.pass(*file);
    if (!descriptor) return false;
    const int protection = (mapping.readable ? PROT_READ : 0) |
                           (mapping.writable ? PROT_WRITE : 0) |
                           (mapping.executable ? PROT_EXEC : 0);
    const auto mapped = call(
        SYS_mmap, {mapping.range.start.value, mapping.range.bytes,
                   static_cast<std::uint64_t>(protection), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                   static_cast<std::uint64_t>(*descriptor), mapping.file_offset});
    const auto closed = close(*descriptor);
    return mapped && *mapped >= 0 && closed;
  }

  Result<void> protect(const Mapping& mapping) {
    const int protection =
        (mapping.readable ? PROT_READ : PROT_NONE) | (mapping.executable ? PROT_EXEC : 0);
    if (!mapping.writable) return {};
    static_cast<void>(HA_TRY(must(
        fmt::format("protecting the shared memory at {}", mapping.range.start), SYS_mprotect,
        {mapping.range.start.value, mapping.range.bytes, static_cast<std::uint64_t>(protection)})));
    return {};
  }

  // Returns false if the kernel does not have Landlock. A process under Landlock cannot trace other
  // processes either, nor open the files in their /proc directories that only a tracer may open.
  Result<bool> restrict_files() {
    constexpr std::uint64_t kVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
    if (!uses_landlock_) return false;
    const std::int64_t version = HA_TRY(call(kCreateRuleset, {0, 0, kVersion}));
    if (version < 1) return false;
    const LandlockRights needed = rights_for(walls_.rules.beyond);
    walls_.may_change_files = needed.files != 0;
    const std::uint64_t known = all_about_files(version);
    constexpr std::uint64_t kBoth = 3;
    const RulesetAttributes attributes{
        .files = known, .network = kBoth & ~needed.network, .scoped = kBoth & ~needed.scoped};
    const std::uint64_t at = HA_TRY(put(attributes));
    const std::int64_t rules = HA_TRY(call(kCreateRuleset, {at, size_of_attributes(version), 0}));
    if (rules < 0) return false;
    HA_TRY(allow_everywhere(rules, kRead | (needed.files & known)));
    static_cast<void>(HA_TRY(
        must("restricting it by Landlock", kRestrictSelf, {static_cast<std::uint64_t>(rules), 0})));
    HA_TRY(close(rules));
    return true;
  }
  Result<void> allow_everywhere(std::int64_t rules, std::uint64_t rights) {
    constexpr std::array kRoot{'/', '\0'};
    const std::uint64_t path = HA_TRY(put(kRoot));
    const std::int64_t root = HA_TRY(must(
        "opening /", SYS_openat, {static_cast<std::uint64_t>(AT_FDCWD), path, O_PATH | O_CLOEXEC}));
    const BeneathRule rule{.allowed = rights, .directory = static_cast<std::int32_t>(root)};
    const std::uint64_t at = HA_TRY(put(rule));
    static_cast<void>(HA_TRY(
        must("allowing it to use files", kAddRule, {static_cast<std::uint64_t>(rules), 1, at, 0})));
    return close(root);
  }

  // Drops all capabilities but one, to read files whoever owns them. CAP_PERFMON, for example,
  // would show the memory of other processes.
  Result<void> drop_rights() {
    Rights rights;
    const std::uint64_t at = HA_TRY(put(rights));
    const std::uint64_t data = at + offsetof(Rights, low);
    static_cast<void>(HA_TRY(must("capget", SYS_capget, {at, data})));
    rights = HA_TRY(own_.memory().read_as<Rights>(own_.scratch()));
    rights.version = _LINUX_CAPABILITY_VERSION_3;
    rights.low.effective &= kReadFiles;
    rights.low.permitted &= kReadFiles;
    rights.low.inheritable = 0;
    rights.high = {};
    static_cast<void>(HA_TRY(put(rights)));
    static_cast<void>(HA_TRY(must("capset", SYS_capset, {at, data})));
    return {};
  }

  Result<void> filter_calls() {
    const FilterProgram judging = call_filter(walls_.rules);
    const std::vector<sock_filter>& filter = judging.code();
    const std::uint64_t at = own_.scratch().value;
    // This is a struct sock_fprog: the number of instructions, and their address.
    const std::array<std::uint64_t, 2> program{filter.size(), at + sizeof program};
    std::vector<std::byte> bytes(sizeof program + filter.size() * sizeof(sock_filter));
    if (bytes.size() > OwnProcess::kScratchBytes) {
      return Error{ErrorKind::Impossible, "the filter is too long"};
    }
    std::memcpy(bytes.data(), program.data(), sizeof program);
    std::memcpy(bytes.data() + sizeof program, filter.data(), filter.size() * sizeof(sock_filter));
    HA_TRY(own_.write(own_.scratch(), bytes));
    static_cast<void>(HA_TRY(must("seccomp", SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0, at})));
    return {};
  }

  OwnProcess& own_;
  const std::size_t most_written_;
  const bool uses_landlock_;
  CloneWalls walls_;
};

}  // namespace

Result<CloneWalls> close_off(OwnProcess& own,
                             std::vector<int> beyond,
                             std::size_t most_written,
                             bool uses_landlock) {
  return Closing(own, std::move(beyond), most_written, uses_landlock).run();
}

}  // namespace heapattach
