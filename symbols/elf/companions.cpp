#include "symbols/elf/companions.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "attach/sandbox/sandbox.h"
#include "symbols/elf/file_share.h"
#include "symbols/elf/skeleton.h"

namespace heapattach {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 34;
constexpr std::size_t kMostNamed = 200'000;  // units of one module
constexpr std::size_t kMostFiles = 20'000;   // of one module: each takes a mapping
constexpr std::size_t kLongestPath = 4096;
constexpr std::chrono::milliseconds kTime{20'000};

struct EndDwarf {
  void operator()(Dwarf* dwarf) const noexcept { dwarf_end(dwarf); }
};

// The names in the debug information.
struct Named {
  struct Unit {
    std::string name;
    std::string directory;
  };
  std::string supplement;           // a path; empty if there is none
  std::string supplement_build_id;  // lower-case hex
  std::vector<Unit> units;
};

// Runs in the sandbox. Its output is a list of NUL-terminated strings.
std::string list_named(int file) {
  std::string list;
  const auto add = [&list](std::string_view text) { list.append(text).push_back('\0'); };
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(dwarf_begin(file, DWARF_C_READ));
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t id_bytes =
      dwarf == nullptr ? 0 : dwelf_dwarf_gnu_debugaltlink(dwarf.get(), &name, &id);
  add(id_bytes > 0 ? name : "");
  std::string hex;
  for (ssize_t i = 0; i < id_bytes; ++i) {
    hex += fmt::format("{:02x}", static_cast<const unsigned char*>(id)[i]);
  }
  add(hex);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die root;
  std::size_t count = 0;
  while (dwarf != nullptr && count < kMostNamed &&
         dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &root, nullptr) == 0) {
    const auto skeleton = types::skeleton_of(root);
    if (!skeleton) continue;
    if (skeleton->name.size() > kLongestPath || skeleton->directory.size() > kLongestPath) continue;
    add(skeleton->name);
    add(skeleton->directory);
    ++count;
  }
  return list;
}

std::vector<std::string> strings_of(std::span<const std::byte> bytes) {
  std::vector<std::string> strings;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t at = 0;
  while (at < text.size() && strings.size() < 2 * kMostNamed + 2) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    strings.emplace_back(text.substr(at, std::min(end - at, kLongestPath)));
    at = end + 1;
  }
  return strings;
}

Result<Named> read_named(const Fd& debug_file, const Deadline& deadline) {
  SandboxLimits limits;
  limits.time = kTime;
  limits.deadline = deadline;
  limits.memory_bytes = memory_to_read(stored_bytes(debug_file));
  limits.descriptors = {debug_file.get()};
  const SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) {
        const std::string list = list_named(debug_file.get());
        out.write(std::as_bytes(std::span(list)));
      },
      limits));
  std::vector<std::string> strings = strings_of(result.output);
  Named named;
  if (strings.size() < 2) return named;
  named.supplement = std::move(strings[0]);
  named.supplement_build_id = std::move(strings[1]);
  for (std::size_t i = 2; i + 1 < strings.size(); i += 2) {
    named.units.push_back({std::move(strings[i]), std::move(strings[i + 1])});
  }
  return named;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Maps each file once, even if several units name it.
class Finder {
 public:
  Finder(const CompanionSearch& search, Companions& into) : search_(search), into_(into) {}

  void find_split(const Named& named) {
    for (const std::string& module : {search_.path, search_.debug_path}) {
      if (module.empty()) continue;
      try_target(Companion::Kind::Split, module + ".dwp");
      try_ours(Companion::Kind::Split, last_component(module) + ".dwp");
    }
    const std::string beside = directory_of(search_.path);
    for (const Named::Unit& unit : named.units) {
      if (into_.files.size() >= kMostFiles) {
        into_.notes.push_back(
            fmt::format("only the first {} files of split debug information are used", kMostFiles));
        return;
      }
      const std::string name = last_component(unit.name);
      if (name.empty() || name == "." || name == "..") continue;
      if (unit.name.starts_with('/')) {
        try_target(Companion::Kind::Split, unit.name);
      } else if (unit.directory.starts_with('/')) {
        try_target(Companion::Kind::Split, fmt::format("{}/{}", unit.directory, unit.name));
      }
      try_target(Companion::Kind::Split, fmt::format("{}/{}", beside, name));
      if (unit.name != name) {
        try_target(Companion::Kind::Split, fmt::format("{}/{}", beside, unit.name));
      }
      try_ours(Companion::Kind::Split, name);
    }
  }

  void find_supplement(const Named& named) {
    const std::string& id = named.supplement_build_id;
    if (id.size() <= 2) return;
    const std::string& path = named.supplement;
    const std::string& file = search_.debug_path.empty() ? search_.path : search_.debug_path;
    try_target(Companion::Kind::Supplement,
               path.starts_with('/') ? path : directory_of(file) + "/" + path);
    const std::string below = fmt::format("/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2));
    try_target(Companion::Kind::Supplement, "/usr/lib/debug" + below);
    try_ours(Companion::Kind::Supplement, below);
    try_ours(Companion::Kind::Supplement, last_component(path));
    const bool is_found = std::ranges::any_of(
        into_.files, [](const Companion& one) { return one.kind == Companion::Kind::Supplement; });
    if (!is_found && search_.server != nullptr) ask_server(id, last_component(path));
  }

 private:
  void try_target(Companion::Kind kind, const std::string& path) {
    if (path.size() <= kLongestPath) add(kind, path, search_.open_in_target(path));
  }
  // `below` is one of our own paths, or a plain file name.
  void try_ours(Companion::Kind kind, const std::string& below) {
    for (const std::string& directory : search_.debug_dirs) {
      const std::string path = fmt::format("{}/{}", directory, below);
      add(kind, path, Fd::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    }
  }

  void ask_server(const std::string& build_id, const std::string& name) {
    const DebugServer::Wanted wanted{build_id, name};
    for (DebugServer::Found& found :
         search_.server->find(std::span(&wanted, 1), search_.deadline)) {
      if (!found.file.empty()) {
        add(Companion::Kind::Supplement, found.path, std::move(found.file));
      }
    }
  }

  void add(Companion::Kind kind, const std::string& path, Result<Fd> file) {
    if (!file) return;
    struct stat status {};
    if (fstat(file->get(), &status) != 0) return;
    if (!seen_.insert({status.st_dev, status.st_ino}).second) return;
    auto mapped = MappedBytes::map(*file);
    if (!mapped) {
      into_.notes.push_back(fmt::format("{} not used: {}", path, mapped.error().message()));
      return;
    }
    into_.files.push_back({kind, path, std::move(mapped).value()});
  }

  const CompanionSearch& search_;
  Companions& into_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

Result<MappedBytes> MappedBytes::map(const Fd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::Malformed, "not a regular file"};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == 0 || size > kLargestFile) {
    return Error{ErrorKind::Malformed, fmt::format("a file of {} bytes", size)};
  }
  if (!is_stored(file, 0, size)) return Error{ErrorKind::Malformed, "mostly a hole"};
  // libelf changes headers in place.
  void* const at =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (at == MAP_FAILED) return os_error("mmap", errno);
  return MappedBytes({static_cast<std::byte*>(at), size});
}

MappedBytes::~MappedBytes() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

MappedBytes::MappedBytes(MappedBytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  if (this != &other) std::swap(bytes_, other.bytes_);
  return *this;
}

Companions find_companions(const Fd& debug_file, const CompanionSearch& search) {
  Companions found;
  const auto named = read_named(debug_file, search.deadline);
  if (!named) {
    found.notes.push_back("no split debug information: " + named.error().message());
    return found;
  }
  Finder finder(search, found);
  if (!named->supplement_build_id.empty()) finder.find_supplement(*named);
  if (!named->units.empty()) finder.find_split(*named);
  return found;
}

}  // namespace heapattach
