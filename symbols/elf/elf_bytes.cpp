#include "symbols/elf/elf_bytes.h"

#include <string_view>
#include <utility>

#include "attach/arch/processors.h"
#include "attach/base/plain_bytes.h"

namespace heapattach {

namespace {

constexpr std::size_t kLongestText = 4096;

void write_segment(PlainWriter& out, const LoadSegment& segment) {
  out.number(segment.address);
  out.number(segment.memory_bytes);
  out.number(segment.file_offset);
  out.number(segment.file_bytes);
  out.flag(segment.writable);
  out.flag(segment.executable);
}

void write_segment(PlainWriter& out, const std::optional<LoadSegment>& segment) {
  out.flag(segment.has_value());
  if (segment) write_segment(out, *segment);
}

LoadSegment read_segment(PlainReader& in, std::uint64_t file_bytes) {
  LoadSegment segment;
  segment.address = in.number<std::uint64_t>();
  segment.memory_bytes = in.number<std::uint64_t>();
  segment.file_offset = in.number<std::uint64_t>();
  segment.file_bytes = in.number<std::uint64_t>();
  segment.writable = in.flag();
  segment.executable = in.flag();
  in.fail_unless(segment.file_bytes == 0 ||
                 (segment.file_offset <= file_bytes &&
                  segment.file_bytes <= file_bytes - segment.file_offset));
  in.fail_unless(segment.file_bytes <= segment.memory_bytes &&
                 segment.address + segment.memory_bytes >= segment.address);
  return segment;
}

std::optional<LoadSegment> read_optional_segment(PlainReader& in, std::uint64_t file_bytes) {
  if (!in.flag()) return std::nullopt;
  return read_segment(in, file_bytes);
}

// It becomes part of paths.
bool is_build_id(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The compiler warns if a kind is missing here.
bool is_kind(std::uint8_t number) {
  switch (static_cast<ErrorKind>(number)) {
    case ErrorKind::Gone:
    case ErrorKind::Denied:
    case ErrorKind::Traced:
    case ErrorKind::Fault:
    case ErrorKind::Timeout:
    case ErrorKind::Interrupted:
    case ErrorKind::Malformed:
    case ErrorKind::Unsupported:
    case ErrorKind::Impossible:
    case ErrorKind::Usage:
    case ErrorKind::Os: return true;
  }
  return false;
}

Error read_error(PlainReader& in) {
  const auto kind = in.number<std::uint8_t>();
  const auto os_errno = in.number<std::int32_t>();
  return {is_kind(kind) ? static_cast<ErrorKind>(kind) : ErrorKind::Malformed,
          std::string(in.text(kLongestText)), os_errno};
}

void write_facts(PlainWriter& out, const ElfFacts& facts) {
  out.number(facts.machine);
  out.list(facts.segments, [&](const LoadSegment& segment) { write_segment(out, segment); });
  write_segment(out, facts.relro);
  write_segment(out, facts.notes);
  out.text(facts.build_id);
  out.list(facts.sections, [&](const std::string& name) { out.text(name); });
  out.flag(facts.debug_link.has_value());
  if (facts.debug_link) {
    out.text(facts.debug_link->file);
    out.number(facts.debug_link->crc);
  }
  out.text(facts.symbols_problem);
  out.number(facts.symbol_cost);
  out.raw(facts.symbols.bytes());
}

// Everything except the symbols.
ElfFacts read_facts(PlainReader& in, std::uint64_t file_bytes) {
  ElfFacts facts;
  facts.machine = in.number<std::uint16_t>();
  in.fail_unless(is_known_processor(facts.machine));
  in.list([&] { facts.segments.push_back(read_segment(in, file_bytes)); });
  facts.relro = read_optional_segment(in, file_bytes);
  facts.notes = read_optional_segment(in, file_bytes);
  facts.build_id = in.text(kLongestText);
  in.fail_unless(is_build_id(facts.build_id));
  in.list([&] { facts.sections.emplace_back(in.text(kLongestText)); });
  if (in.flag()) {
    DebugLink& link = facts.debug_link.emplace();
    link.file = in.text(kLongestText);
    link.crc = in.number<std::uint32_t>();
  }
  facts.symbols_problem = in.text(kLongestText);
  facts.symbol_cost = in.number<std::uint64_t>();
  return facts;
}

}  // namespace

std::vector<std::byte> to_bytes(const Result<ElfFacts>& facts) {
  PlainWriter out;
  out.flag(facts.has_value());
  if (facts) {
    write_facts(out, *facts);
  } else {
    out.number(static_cast<std::uint8_t>(facts.error().kind));
    out.number(static_cast<std::int32_t>(facts.error().os_errno));
    out.text(facts.error().message());
  }
  return out.take();
}

Result<ElfFacts> elf_facts_from_bytes(std::vector<std::byte> bytes, std::uint64_t file_bytes) {
  PlainReader in(bytes);
  if (!in.flag() && in.is_good()) return read_error(in);
  ElfFacts facts = read_facts(in, file_bytes);
  if (!in.is_good()) return Error{ErrorKind::Malformed, "its reader returned an invalid result"};
  const std::size_t before = bytes.size() - in.left();
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(before));
  facts.symbols = PackedSymbols(std::move(bytes));
  return facts;
}

}  // namespace heapattach
