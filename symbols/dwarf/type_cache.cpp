#include "symbols/dwarf/type_cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "attach/base/directory.h"
#include "attach/sandbox/sandbox.h"
#include "symbols/elf/elf_parser.h"
#include "symbols/elf/file_share.h"
#include "symbols/types/model_bytes.h"

namespace heapattach::types {

namespace {

constexpr std::string_view kName = "heapattach";
constexpr std::string_view kSuffix = ".types";
// The part of a disk that must stay free, and the bytes that are always enough: fuller disks are
// left alone.
constexpr std::uint64_t kFreeShare = 16;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 30;
constexpr std::time_t kOldestLeftover = 3600;  // in s

Error not_used(std::string_view what, std::string_view why) {
  return {ErrorKind::Unsupported, fmt::format("the cache of types: {} {}", what, why)};
}

// The size of a file. Fails unless the file is of this kind, belongs to the user, and nobody else
// may write to it.
Result<std::uint64_t> size_of_own(const Fd& file, mode_t kind, std::string_view name) {
  struct stat status {};
  const int failure = ::fstat(file.get(), &status) == 0 ? 0 : errno;
  if (failure != 0) return os_error(fmt::format("fstat {}", name), failure);
  if ((status.st_mode & S_IFMT) != kind) return not_used(name, "is of another kind");
  if (status.st_uid != ::geteuid()) return not_used(name, "belongs to another user");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return not_used(name, "can be written by others");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

// Differs for any two files that exist at the same time, and after a change that write() made.
std::string identity(const struct stat& file) {
  const auto in_ns = [](const timespec& at) {
    return fmt::format("{}.{:09}", at.tv_sec, at.tv_nsec);
  };
  return fmt::format("{:x}:{}:{}:{}:{}", file.st_dev, file.st_ino, file.st_size,
                     in_ns(file.st_mtim), in_ns(file.st_ctim));
}

// Whether the kernel chooses the numbers and times of its files. The servers of FUSE and network
// file systems choose their own, and a loop device shows what any file says.
bool is_on_own_disk(const Fd& file, const struct stat& status) {
  constexpr std::uint64_t kZfs = 0x2fc12fc1;
  constexpr std::array<std::uint64_t, 7> kKinds = {EXT4_SUPER_MAGIC,
                                                   XFS_SUPER_MAGIC,
                                                   BTRFS_SUPER_MAGIC,
                                                   F2FS_SUPER_MAGIC,
                                                   TMPFS_MAGIC,
                                                   OVERLAYFS_SUPER_MAGIC,
                                                   kZfs};
  constexpr unsigned kLoop = 7;
  struct statfs disk {};
  if (::fstatfs(file.get(), &disk) != 0 || major(status.st_dev) == kLoop) return false;
  const auto kind = static_cast<std::uint64_t>(disk.f_type);
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

// After a restart, devices without hardware get new numbers.
std::string boot_id() {
  const auto file = Fd::open("/proc/sys/kernel/random/boot_id", O_RDONLY);
  std::string id(36, '\0');
  if (!file || read_file_at(*file, 0, std::as_writable_bytes(std::span(id))) != id.size())
    return {};
  return id;
}

// The build id of this program, in hexadecimal. /proc/self/exe may be the loader that started it.
std::string own_build_id() {
  std::string id;
  const auto search = [](dl_phdr_info* program, std::size_t, void* to) {
    auto& found = *static_cast<std::string*>(to);
    for (int i = 0; i < program->dlpi_phnum && found.empty(); ++i) {
      const auto& part = program->dlpi_phdr[i];
      if (part.p_type != PT_NOTE) continue;
      const auto* begin = reinterpret_cast<const std::byte*>(program->dlpi_addr + part.p_vaddr);
      found = build_id_in_notes({begin, part.p_filesz});
    }
    return 1;  // the others are libraries
  };
  ::dl_iterate_phdr(search, &id);
  return id;
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), begin, bytes.size()));
}

// The head of a file. For a given key, it always has the same length.
std::string head_of(const std::string& key, std::span<const std::byte> model) {
  return fmt::format("heapattach types 1\n{}\n{:016x} {:08x}\n", key, model.size(),
                     checksum(model));
}

Result<void> write_all(const Fd& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    const int failure = errno;
    if (count < 0 && failure == EINTR) continue;
    if (count <= 0) return os_error("write", failure);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> check_space(const Fd& directory, std::uint64_t bytes) {
  struct statvfs disk {};
  const int failure = ::fstatvfs(directory.get(), &disk) == 0 ? 0 : errno;
  if (failure != 0) return os_error("fstatvfs", failure);
  const std::uint64_t block = disk.f_frsize;
  const std::uint64_t free = disk.f_bavail * block;
  if (disk.f_blocks == 0) return {};  // unlimited, or unknown
  if (free < bytes || free - bytes < std::min(disk.f_blocks * block / kFreeShare, kFreeBytes)) {
    return not_used("the disk", "is nearly full");
  }
  return {};
}

// Writes a file that has another name until it is whole.
Result<void> publish(const Fd& directory,
                     const std::string& name,
                     std::string_view head,
                     std::span<const std::byte> model) {
  std::uint64_t number = 0;  // a pid may come again, and be left behind in a name
  const ssize_t got = ::getrandom(&number, sizeof number, 0);
  if (got != static_cast<ssize_t>(sizeof number)) return os_error("getrandom", errno);
  const std::string fresh = fmt::format("{}.{:016x}", name, number);
  const int made =
      ::openat(directory.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const int failure = errno;
  if (made < 0) return os_error(fmt::format("create {}", fresh), failure);
  const Fd file(made);
  auto written = write_all(file, std::as_bytes(std::span(head)));
  if (written) written = write_all(file, model);
  if (written && ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0) {
    const int refused = errno;
    written = os_error(fmt::format("rename {}", fresh), refused);
  }
  if (!written) ::unlinkat(directory.get(), fresh.c_str(), 0);
  return written;
}

// A name that the cache gives: "c0de-12345678.types", or with ".89abcdef" until the file is whole.
struct GivenName {
  bool is_one = false;
  bool is_whole = false;
};

GivenName given_name(std::string_view name) {
  const auto are_hexadecimal = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), [](unsigned char letter) {
      return std::isxdigit(letter) != 0 || letter == '-';
    });
  };
  const std::size_t suffix = name.find(kSuffix);
  if (suffix == std::string_view::npos || !are_hexadecimal(name.substr(0, suffix))) return {};
  const std::string_view rest = name.substr(suffix + kSuffix.size());
  if (rest.empty()) return {true, true};
  return {rest.front() == '.' && are_hexadecimal(rest.substr(1)), false};
}

struct Stored {
  timespec at;
  std::uint64_t bytes = 0;
  std::string name;
  bool is_leftover = false;
};

// The files of the cache, including those that an interrupted run left: newest first, but files
// from the future last.
std::vector<Stored> list(const Fd& directory) {
  std::vector<Stored> files;
  const std::time_t now = std::time(nullptr);
  const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Directory listing(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!listing) return files;
  while (const dirent* const entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    struct stat status {};
    const GivenName given = given_name(name);
    if (!given.is_one ||
        ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    const timespec at = status.st_mtim.tv_sec > now + 1 ? timespec{} : status.st_mtim;
    files.push_back({at, static_cast<std::uint64_t>(status.st_size), name,
                     !given.is_whole && at.tv_sec < now - kOldestLeftover});
  }
  std::sort(files.begin(), files.end(), [](const Stored& a, const Stored& b) {
    return std::pair(a.at.tv_sec, a.at.tv_nsec) > std::pair(b.at.tv_sec, b.at.tv_nsec);
  });
  return files;
}

void remove_oldest(const Fd& directory, std::uint64_t most_bytes) {
  std::uint64_t bytes = 0;
  for (const Stored& file : list(directory)) {
    bytes += file.bytes;
    if (bytes > most_bytes || file.is_leftover) {
      ::unlinkat(directory.get(), file.name.c_str(), 0);
    }
  }
}

}  // namespace

TypeCache::TypeCache(std::string base, std::vector<std::string> below, TypeCacheLimits limits)
    : base_(std::move(base)), below_(std::move(below)), limits_(limits) {}

Result<TypeCache> TypeCache::of_user() {
  if (has_no_rights()) return not_used("this process", "must not open files");
  const char* const own = ::secure_getenv("XDG_CACHE_HOME");
  const char* const home = ::secure_getenv("HOME");
  // A relative path is invalid by the XDG base directory specification.
  if (own != nullptr && own[0] == '/') return TypeCache(own, {std::string(kName)});
  if (home != nullptr && home[0] == '/') return TypeCache(home, {".cache", std::string(kName)});
  return not_used("it", "needs XDG_CACHE_HOME or HOME");
}

std::optional<TypeCache::Entry> TypeCache::entry_of(const Module& module,
                                                    std::string_view how) const {
  constexpr std::size_t kLongestId = 128;  // twice that of SHA-256
  const std::string& id = module.build_id();
  constexpr std::uint64_t kBlock = 512;
  struct stat file {};
  if (id.empty() || id.size() > kLongestId || !module.companions().empty() ||
      module.debug_file().empty() || ::fstat(module.debug_file().get(), &file) != 0 ||
      static_cast<std::uint64_t>(file.st_blocks) * kBlock < limits_.least_debug_bytes ||
      !is_on_own_disk(module.debug_file(), file)) {
    return std::nullopt;
  }
  const std::string self = own_build_id();
  const std::string boot = boot_id();
  if (self.empty() || boot.empty()) return std::nullopt;
  std::string key = fmt::format("{} {} {} {} libdw {} {}", id, identity(file), boot, self,
                                dwfl_version(nullptr), how);
  std::string name =
      fmt::format("{}-{:08x}{}", id, checksum(std::as_bytes(std::span(key))), kSuffix);
  return Entry{std::move(name), std::move(key)};
}

Result<Fd> TypeCache::open_directory(bool make) const {
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  std::string path = base_;
  Fd at = HA_TRY(Fd::open(path, kDirectory));
  static_cast<void>(HA_TRY(size_of_own(at, S_IFDIR, path)));
  for (const std::string& name : below_) {
    path += '/' + name;
    const int failure = make && ::mkdirat(at.get(), name.c_str(), 0700) != 0 ? errno : 0;
    if (failure != 0 && failure != EEXIST) return os_error(fmt::format("mkdir {}", path), failure);
    at = HA_TRY(Fd::open_at(at, name, kDirectory | O_NOFOLLOW));
    static_cast<void>(HA_TRY(size_of_own(at, S_IFDIR, path)));
  }
  return at;
}

Result<std::optional<TypeModel>> TypeCache::load(const Entry& entry) const {
  auto directory = open_directory(false);
  // Opening a FIFO must not wait for its writer.
  auto opened = directory ? Fd::open_at(*directory, entry.file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
                          : std::move(directory);
  if (!opened && opened.error().os_errno == ENOENT) return std::optional<TypeModel>();
  const Fd file = HA_TRY(std::move(opened));
  const std::uint64_t bytes = HA_TRY(size_of_own(file, S_IFREG, entry.file));
  const std::size_t head_bytes = head_of(entry.key, {}).size();
  if (bytes > limits_.most_file_bytes) return not_used(entry.file, "is too large");
  std::string all(bytes, '\0');
  all.resize(read_file_at(file, 0, std::as_writable_bytes(std::span(all))));
  const auto model = std::as_bytes(std::span(all)).subspan(std::min(head_bytes, all.size()));
  if (!all.starts_with(head_of(entry.key, model))) {
    return not_used(entry.file, "is damaged");
  }
  return std::optional(HA_TRY(model_from_bytes(model)));
}

Result<void> TypeCache::store(const Entry& entry, std::span<const std::byte> model) const {
  const std::string head = head_of(entry.key, model);
  const std::uint64_t bytes = head.size() + model.size();
  if (bytes > std::min(limits_.most_file_bytes, limits_.most_bytes)) {
    return not_used("the list of types", "is too large");
  }
  const Fd directory = HA_TRY(open_directory(true));
  HA_TRY(check_space(directory, bytes));
  auto published = publish(directory, entry.file, head, model);
  remove_oldest(directory, limits_.most_bytes);
  return published;
}

}  // namespace heapattach::types
