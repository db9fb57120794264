#include "symbols/crystal/type_info.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/sandbox/sandbox.h"
#include "symbols/crystal/type_list_bytes.h"

namespace heapattach::crystal {
namespace {

// The real files are a few megabytes; the largest programs known have 100,000 types.
constexpr std::size_t kLargestFile = 256U << 20U;

// What a worker may take: what it has of the text, several times, as fields of structures repeat.
constexpr std::uint64_t kMemory = 320U << 20U;
constexpr std::uint64_t kMemoryOfText = 8;

Result<std::string> read_bounded(const Fd& file) {
  constexpr std::size_t kStep = 1U << 20U;
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kStep);
    const ssize_t got = ::read(file.get(), text.data() + before, kStep);
    const int error = errno;
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return os_error("read", error);
    if (got == 0) return text;
    if (text.size() > kLargestFile) {
      return Error{ErrorKind::Malformed,
                   fmt::format("larger than {} MiB: no type information", kLargestFile >> 20U)};
    }
  }
}

Result<std::vector<TypeList>> read_open(const Fd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  if (S_ISREG(status.st_mode) && status.st_size > off_t{kLargestFile}) {
    return Error{ErrorKind::Malformed,
                 fmt::format("{} MiB large: no type information", status.st_size >> 20U)};
  }
  const std::string text = HA_TRY(read_bounded(file));
  if (has_no_rights()) return parse_type_lists(text);
  SandboxLimits limits;
  limits.memory_bytes = kMemory + kMemoryOfText * text.size();
  limits.output_bytes = limits.memory_bytes;
  const SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) { out.write(to_bytes(parse_type_lists(text))); }, limits));
  return type_lists_from_bytes(result.output);
}

}  // namespace

Result<std::vector<TypeList>> read_type_info(const std::string& path) {
  auto read = [&]() -> Result<std::vector<TypeList>> {
    const Fd file = HA_TRY(Fd::open(path, O_RDONLY));
    return read_open(file);
  }();
  if (!read)
    return std::move(read).error().context(fmt::format("reading type information {}", path));
  return read;
}

Result<std::vector<TypeList>> parse_type_lists(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Error{ErrorKind::Malformed, "it is empty"};
  if (text[first] != '{') return parse_type_info_text(text);
  std::vector<TypeList> lists;
  lists.push_back(HA_TRY(parse_type_info_json(text.substr(first))));
  return lists;
}

Result<TypeList> parse_type_info(std::string_view text) {
  std::vector<TypeList> lists = HA_TRY(parse_type_lists(text));
  return std::move(lists.back());
}

}  // namespace heapattach::crystal
