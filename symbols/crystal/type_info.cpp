#include "symbols/crystal/type_info.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/base/fd.h"
#include "attach/base/plain_bytes.h"
#include "attach/sandbox/sandbox.h"

namespace heapattach::crystal {
namespace {

constexpr std::size_t kLongestText = 1U << 20U;
constexpr std::uint64_t kLargest = 1U << 30U;  // of an instance

void write_fields(PlainWriter& out, const std::vector<Field>& fields) {
  out.list(fields, [&](const Field& field) {
    out.text(field.name);
    out.text(field.type);
    out.number(field.offset);
    out.number(field.bytes);
  });
}

void write_type(PlainWriter& out, const Type& type) {
  out.number(type.id);
  out.text(type.name);
  out.optional(type.instance_bytes);
  out.optional(type.is_atomic);
  write_fields(out, type.fields);
  write_fields(out, type.own_fields);
  out.flag(type.is_value);
  out.list(type.known_from, [&](KnownFrom source) { out.number(source); });
}

void read_fields(PlainReader& in, std::vector<Field>& fields) {
  in.list([&] {
    Field field;
    field.name = in.text(kLongestText);
    field.type = in.text(kLongestText);
    field.offset = in.number<std::uint64_t>();
    field.bytes = in.number<std::uint64_t>();
    in.fail_unless(field.offset <= kLargest && field.bytes <= kLargest);
    in.fail_unless(fields.empty() || fields.back().offset <= field.offset);
    fields.push_back(std::move(field));
  });
}

Type read_type(PlainReader& in) {
  Type type;
  type.id = in.number<std::uint32_t>();
  type.name = in.text(kLongestText);
  type.instance_bytes = in.optional<std::uint64_t>();
  in.fail_unless(type.instance_bytes.value_or(0) <= kLargest);
  if (const auto is_atomic = in.optional<std::uint8_t>()) type.is_atomic = *is_atomic != 0;
  read_fields(in, type.fields);
  read_fields(in, type.own_fields);
  type.is_value = in.flag();
  in.list([&] {
    const auto source = in.number<std::uint8_t>();
    in.fail_unless(source <= static_cast<std::uint8_t>(KnownFrom::AllocationSite));
    type.known_from.push_back(static_cast<KnownFrom>(source));
  });
  return type;
}

// Encodes a worker's result: the compiler's lists, or the error. The reader does not trust the
// bytes: anything that parse_type_lists() could not have returned is Malformed.
std::vector<std::byte> to_bytes(const Result<std::vector<TypeList>>& lists) {
  PlainWriter out;
  out.flag(lists.has_value());
  if (!lists) {
    out.text(lists.error().message());
    return out.take();
  }
  out.list(*lists, [&](const TypeList& list) {
    out.list(list, [&](const Type& type) { write_type(out, type); });
  });
  return out.take();
}

Result<std::vector<TypeList>> type_lists_from_bytes(std::span<const std::byte> bytes) {
  PlainReader in(bytes);
  if (!in.flag() && in.is_good()) {
    return Error{ErrorKind::Malformed, std::string(in.text(kLongestText))};
  }
  std::vector<TypeList> lists;
  in.list([&] {
    TypeList& list = lists.emplace_back();
    in.list([&] { list.push_back(read_type(in)); });
  });
  if (in.is_good() && in.left() == 0 && !lists.empty()) return lists;
  return Error{ErrorKind::Malformed, "its reader returned an invalid result"};
}

// The real files are a few megabytes; the largest programs known have 100,000 types.
constexpr std::size_t kLargestFile = 256U << 20U;

// The memory limit of a worker: this, and several times the text, because it repeats the fields of
// structures.
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
      return Error{
          ErrorKind::Malformed,
          fmt::format("larger than {} MiB: too large for type information", kLargestFile >> 20U)};
    }
  }
}

Result<std::vector<TypeList>> read_open(const Fd& file, const Deadline& deadline) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error("fstat", errno);
  if (S_ISREG(status.st_mode) && status.st_size > off_t{kLargestFile}) {
    return Error{ErrorKind::Malformed,
                 fmt::format("{} MiB: too large for type information", status.st_size >> 20U)};
  }
  const std::string text = HA_TRY(read_bounded(file));
  if (has_no_rights()) return parse_type_lists(text);
  SandboxLimits limits;
  limits.deadline = deadline;
  limits.memory_bytes = kMemory + kMemoryOfText * text.size();
  limits.output_bytes = limits.memory_bytes;
  const SandboxResult result = HA_TRY(run_sandboxed(
      [&](SandboxOutput& out) { out.write(to_bytes(parse_type_lists(text))); }, limits));
  return type_lists_from_bytes(result.output);
}

}  // namespace

Result<std::vector<TypeList>> read_type_info(const std::string& path, const Deadline& deadline) {
  auto read = [&]() -> Result<std::vector<TypeList>> {
    const Fd file = HA_TRY(Fd::open(path, O_RDONLY));
    return read_open(file, deadline);
  }();
  if (read) return read;
  return std::move(read).error().context(fmt::format("reading type information {}", path));
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
