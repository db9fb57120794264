#include "symbols/elf/module.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/processors.h"
#include "symbols/elf/module_contents.h"

namespace heapattach {

namespace {

bool wraps(std::uint64_t start, std::uint64_t bytes) {
  return start + bytes < start;
}

void add_symbols(const ElfFile& elf,
                 std::string_view prefix,
                 std::uint64_t bias,
                 std::vector<Symbol>& into) {
  for (const ElfSymbol& symbol : elf.symbols(prefix)) {
    into.push_back(
        {symbol.name, RemoteAddr{symbol.address + bias}, symbol.bytes, symbol.is_function});
  }
}

}  // namespace

void Module::Contents::adopt(ElfFile elf, std::uint64_t bias_in_target) {
  bias = bias_in_target;
  build_id = elf.build_id();
  for (const LoadSegment& segment : elf.segments()) {
    const RemoteAddr start{segment.address + bias};
    if (wraps(start.value, segment.memory_bytes)) {
      notes.push_back(fmt::format("a segment at {} does not fit the address space", start));
      continue;
    }
    segments.push_back({{start, segment.memory_bytes}, segment.writable, segment.executable});
    file_parts.push_back({{start, segment.file_bytes}, segment.file_offset, std::nullopt});
  }
  if (const auto range = elf.relro(); range && !wraps(range->address + bias, range->memory_bytes)) {
    relro = Range{RemoteAddr{range->address + bias}, range->memory_bytes};
  }
  file = std::move(elf);
}

Module::Module(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Module::~Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;

Result<Module> Module::from_file(Fd file, std::string path, std::uint64_t bias) {
  auto contents = std::make_unique<Contents>();
  contents->path = std::move(path);
  contents->name = contents->path.substr(contents->path.rfind('/') + 1);
  contents->adopt(HA_TRY(ElfFile::open(std::move(file))), bias);
  return Module(std::move(contents));
}

const std::string& Module::path() const {
  return contents_->path;
}
const std::string& Module::name() const {
  return contents_->name;
}
const std::string& Module::build_id() const {
  return contents_->build_id;
}
std::uint16_t Module::machine() const {
  return contents_->file ? contents_->file->machine() : kOwnProcessor;
}
bool Module::is_main_program() const {
  return contents_->is_main_program;
}
std::uint64_t Module::bias() const {
  return contents_->bias;
}
std::span<const Segment> Module::segments() const {
  return contents_->segments;
}
std::optional<Range> Module::relro() const {
  return contents_->relro;
}
const std::vector<std::string>& Module::notes() const {
  return contents_->notes;
}

bool Module::contains(RemoteAddr at) const {
  return std::any_of(contents_->segments.begin(), contents_->segments.end(),
                     [at](const Segment& segment) { return segment.range.contains(at); });
}

std::vector<Symbol> Module::symbols_with_prefix(std::string_view prefix) const {
  std::vector<Symbol> symbols;
  if (contents_->file) add_symbols(*contents_->file, prefix, bias(), symbols);
  if (contents_->debug_file) add_symbols(*contents_->debug_file, prefix, bias(), symbols);
  return symbols;
}

std::span<const Symbol> Module::symbols() const {
  auto& cache = contents_->symbols;
  if (!cache) {
    cache = symbols_with_prefix("");
    // A symbol may be in both .symtab and .dynsym. The one with a size is kept.
    std::sort(cache->begin(), cache->end(), [](const Symbol& a, const Symbol& b) {
      if (a.address != b.address) return a.address < b.address;
      return std::tie(a.name, b.bytes) < std::tie(b.name, a.bytes);
    });
    const auto last =
        std::unique(cache->begin(), cache->end(), [](const Symbol& a, const Symbol& b) {
          return a.address == b.address && a.name == b.name;
        });
    cache->erase(last, cache->end());
  }
  return *cache;
}

std::optional<Symbol> Module::find_symbol(std::string_view name) const {
  for (const Symbol& symbol : symbols_with_prefix(name)) {
    if (symbol.name == name) return symbol;
  }
  return std::nullopt;
}

std::optional<Symbol> Module::symbol_at(RemoteAddr at) const {
  const auto all = symbols();
  auto next = std::upper_bound(all.begin(), all.end(), at, [](RemoteAddr address, const Symbol& s) {
    return address < s.address;
  });
  // Several symbols may share an address, and short ones may be inside long ones: look back a
  // little.
  for (int tries = 0; next != all.begin() && tries < 16; ++tries) {
    const Symbol& symbol = *--next;
    if (at - symbol.address < symbol.bytes || at == symbol.address) return symbol;
  }
  return std::nullopt;
}

std::span<const std::byte> Module::file_bytes(RemoteAddr at) const {
  for (auto& part : contents_->file_parts) {
    if (!part.range.contains(at)) continue;
    if (!part.bytes) {
      const bool is_worth_it =
          is_stored(contents_->file->file(), part.file_offset, part.range.bytes) &&
          contents_->share.take(part.range.bytes);
      part.bytes.emplace(is_worth_it ? part.range.bytes : 0);
      part.bytes->resize(contents_->file->read_at(part.file_offset, *part.bytes));
    }
    const std::uint64_t offset = at - part.range.start;
    if (offset >= part.bytes->size()) return {};
    return std::span(*part.bytes).subspan(offset);
  }
  return {};
}

const Fd& Module::file() const {
  static const Fd none;
  return contents_->file ? contents_->file->file() : none;
}

std::span<const Companion> Module::companions() const {
  return contents_->companions;
}

const Fd& Module::debug_file() const {
  return contents_->debug_file ? contents_->debug_file->file() : file();
}

bool Module::Contents::has_debug_information(const Module& module) {
  const Contents& contents = *module.contents_;
  const auto& elf = contents.debug_file ? contents.debug_file : contents.file;
  return elf && elf->has_debug_information();
}

bool Module::Contents::has_all_symbols(const Module& module) {
  const Contents& contents = *module.contents_;
  const bool is_known = !contents.file || contents.file->symbols_problem().empty();
  return is_known &&
         (contents.debug_file || (contents.file && contents.file->has_section(".symtab")));
}

std::size_t Module::Contents::read_file(const Module& module,
                                        RemoteAddr at,
                                        std::span<std::byte> into) {
  const Contents& contents = *module.contents_;
  for (const SegmentBytes& part : contents.file_parts) {
    if (!contents.file || !part.range.contains(at)) continue;
    const std::uint64_t within = at - part.range.start;
    const std::uint64_t count = std::min<std::uint64_t>(into.size(), part.range.bytes - within);
    return contents.file->read_at(part.file_offset + within, into.first(count));
  }
  return 0;
}

}  // namespace heapattach
