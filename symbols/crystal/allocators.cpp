// Which functions to follow is decided by what they call, not by their names: all direct calls
// (E8 rel32) in the program are looked at, a matter of memchr, and those that lead to an allocator
// count (allocator_entries.h). Where functions have no names their bounds are unknown too: the code
// from where the size is set is followed.

#include "symbols/crystal/allocators.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "symbols/crystal/allocation_sites.h"
#include "symbols/crystal/allocator_entries.h"
#include "symbols/crystal/machine_code.h"
#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

// Ids are dense; a larger number is the first word of something else ("\x7fELF").
constexpr std::uint32_t kLargestId = 1U << 20U;

// Enough from a call to the store of the id, initial values of fields between them included.
constexpr std::size_t kWindow = 160;

// Where the size of the call at `at` is set, in one of the compiler's two ways.
std::size_t begin_of_size(const Code& code, std::size_t at) {
  const auto is = [&](std::size_t back, std::uint8_t value) {
    return back <= at && byte_at(code.bytes, at - back) == value;
  };
  if (is(8, 0x31) && is(6, 0x89) && is(4, 0x48) && is(3, 0x83) && is(2, 0xc7)) return at - 8;
  if (is(11, 0x31) && is(9, 0x89) && is(7, 0x48) && is(6, 0x81) && is(5, 0xc7)) return at - 11;
  if (is(5, 0xbf)) return at - 5;
  return at;
}

// Whether there is a "movl $n,(register)" (c7 /0), the store of an id. Most functions that allocate
// have none, and decoding them would take most of the time.
bool stores_constant(std::span<const std::byte> body) {
  for (std::size_t i = 0; i + 6 <= body.size(); ++i) {
    if (byte_at(body, i) != 0xc7) continue;
    const std::uint8_t operand = byte_at(body, i + 1);
    const bool is_register = operand < 8 && operand != 5;
    const bool is_register_and_0 = operand >= 0x40 && operand < 0x48 && byte_at(body, i + 2) == 0;
    if (is_register || is_register_and_0) return true;
  }
  return false;
}

// What was seen of one id.
struct Evidence {
  std::set<std::string> names;
  std::set<std::pair<std::uint64_t, Allocator>> named;  // size and kind, from functions with a name
  std::set<std::pair<std::uint64_t, Allocator>> unnamed;
};

// Where nothing has a name, not even the collector, because all is in one stripped program: a
// function is taken for an allocator if what it returns, after a call with a constant, gets an id
// in its first bytes, in many places with many ids.
class AllocatorGuess {
 public:
  AllocatorGuess(const std::vector<Code>& code, const Disassembler& disassembler)
      : disassembler_(disassembler) {
    for (const Code& piece : code) {
      each_opcode(piece, 0xe8, [&](std::size_t at) { note_call(piece, at); });
    }
  }

  [[nodiscard]] AllocatorEntries find() const {
    AllocatorEntries surely;
    AllocatorEntries likely;
    for (const auto& [callee, windows] : calls_) {
      if (windows.size() < kFewIds) continue;
      const Judgement judgement = judge(callee, windows);
      const bool is_likely = judgement.ids >= kFewIds && judgement.sites == windows.size();
      const bool is_sure = judgement.ids >= kManyIds && judgement.sites * 2 >= windows.size();
      if (is_likely || is_sure) likely.emplace(callee, Allocator::Either);
      if (is_sure) surely.emplace(callee, Allocator::Either);
    }
    return surely.empty() ? surely : likely;
  }

 private:
  static constexpr std::size_t kManyIds = 8;
  static constexpr std::size_t kFewIds = 3;        // of a second one, for classes without pointers
  static constexpr std::size_t kMostWindows = 48;  // of one function: enough to judge it

  struct Judgement {
    std::size_t ids = 0;    // different ones
    std::size_t sites = 0;  // windows with an id
  };

  void note_call(const Code& code, std::size_t at) {
    const std::size_t from = begin_of_size(code, at);
    if (from == at) return;
    const Code window{code.start + from,
                      code.bytes.subspan(from, std::min(kWindow, code.bytes.size() - from))};
    if (!stores_constant(window.bytes)) return;
    auto& windows = calls_[target_of_jump(code, at)];
    if (windows.size() < kMostWindows) windows.push_back(window);
  }

  [[nodiscard]] Judgement judge(std::uint64_t callee, const std::vector<Code>& windows) const {
    const CallTarget target = [&](RemoteAddr at) {
      return at.value == callee ? std::optional(Allocator::Either) : std::nullopt;
    };
    std::set<std::uint32_t> ids;
    Judgement judgement;
    for (const Code& window : windows) {
      const auto sites = find_allocation_sites(disassembler_, window.bytes, window.start, target);
      if (sites.empty() || sites.front().id > kLargestId) continue;
      ids.insert(sites.front().id);
      ++judgement.sites;
    }
    judgement.ids = ids.size();
    return judgement;
  }

  const Disassembler& disassembler_;
  std::unordered_map<std::uint64_t, std::vector<Code>> calls_;
};

class Scan {
 public:
  Scan(const Module& program, AllocatorEntries entries, Disassembler disassembler)
      : program_(program), entries_(std::move(entries)), disassembler_(std::move(disassembler)) {}
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  void read(const Code& code) {
    each_opcode(code, 0xe8, [&](std::size_t at) {
      if (!entries_.contains(target_of_jump(code, at))) return;
      follow(code, at);
    });
  }

  [[nodiscard]] std::vector<Type> types() const;
  [[nodiscard]] std::size_t functions() const { return functions_.size(); }

 private:
  void follow(const Code& code, std::size_t call);
  void note(const AllocationSite& site, std::string_view symbol);

  const Module& program_;
  AllocatorEntries entries_;
  Disassembler disassembler_;
  std::set<std::uint64_t> functions_;
  std::map<std::uint32_t, Evidence> evidence_;
  CallTarget target_ = [this](RemoteAddr at) -> std::optional<Allocator> {
    const auto entry = entries_.find(at.value);
    if (entry == entries_.end()) return std::nullopt;
    return entry->second;
  };
};

void Scan::follow(const Code& code, std::size_t call) {
  std::size_t from = begin_of_size(code, call);
  std::size_t bytes = std::min(kWindow, code.bytes.size() - from);
  std::string_view name;
  const auto symbol = program_.symbol_at(code.start + call);
  const bool tells_class = symbol && symbol->is_function && symbol->bytes > 0 &&
                           !class_returned_by(symbol->name).empty();
  if (tells_class) {
    from = symbol->address - code.start;
    bytes = symbol->bytes;
    name = symbol->name;
  }
  if (from > code.bytes.size() || bytes > code.bytes.size() - from) return;
  const auto body = code.bytes.subspan(from, bytes);
  if (!stores_constant(body) || !functions_.insert(from).second) return;
  const RemoteAddr at = code.start + from;
  for (const AllocationSite& site : find_allocation_sites(disassembler_, body, at, target_)) {
    note(site, name);
  }
}

void Scan::note(const AllocationSite& site, std::string_view symbol) {
  Evidence& evidence = evidence_[site.id];
  const std::string_view name = site.is_returned ? class_returned_by(symbol) : std::string_view{};
  if (name.empty()) {
    evidence.unnamed.emplace(site.bytes, site.allocator);
    return;
  }
  evidence.names.insert(canonical_name(name));
  evidence.named.emplace(site.bytes, site.allocator);
}

std::vector<Type> Scan::types() const {
  std::map<std::string, int> ids_of_name;
  for (const auto& [id, evidence] : evidence_) {
    for (const std::string& name : evidence.names) ++ids_of_name[name];
  }
  std::vector<Type> types;
  for (const auto& [id, evidence] : evidence_) {
    if (evidence.names.size() > 1 || id > kLargestId) continue;
    Type type;
    type.id = id;
    type.known_from = {KnownFrom::AllocationSite};
    if (!evidence.names.empty()) {
      if (ids_of_name[*evidence.names.begin()] > 1) continue;
      type.name = *evidence.names.begin();
    }
    // A buffer may begin with a constant too: what a named function says goes before.
    const auto& sizes = evidence.names.empty() ? evidence.unnamed : evidence.named;
    if (sizes.size() == 1) {
      type.instance_bytes = sizes.begin()->first;
      const Allocator allocator = sizes.begin()->second;
      if (allocator != Allocator::Either) type.is_atomic = allocator == Allocator::Atomic;
    }
    if (!type.name.empty() || type.instance_bytes) types.push_back(std::move(type));
  }
  return types;
}

// Programs of Crystal mention one of its own environment variables, stripped or not.
bool has_runtime(const Module& program) {
  if (program.find_symbol("__crystal_main") || program.find_symbol("__crystal_malloc64")) {
    return true;
  }
  constexpr std::string_view kMark = "CRYSTAL_LOAD_DEBUG_INFO";
  return std::any_of(
      program.segments().begin(), program.segments().end(), [&](const Segment& segment) {
        const auto bytes = program.file_bytes(segment.range.start);
        return memmem(bytes.data(), bytes.size(), kMark.data(), kMark.size()) != nullptr;
      });
}

// String is not made by a function of its own. It is the first type that the compiler numbers
// (Crystal::LLVMId counts Object, Reference and then their subclasses from String on).
void add_string(std::vector<Type>& types) {
  constexpr std::uint32_t kStringId = 1;
  std::erase_if(types, [](const Type& type) { return type.id == kStringId; });
  Type string;
  string.id = kStringId;
  string.name = "String";
  string.is_atomic = true;
  string.known_from = {KnownFrom::AllocationSite};
  types.insert(types.begin(), std::move(string));
}

}  // namespace

Result<AllocatorScan> scan_allocators(const Modules& modules, const MemoryReader& memory) {
  AllocatorScan result;
  const Module* program = modules.main_program();
  if (program == nullptr || !has_runtime(*program)) return result;
  result.is_crystal = true;
  const std::vector<Code> code = code_of(*program);
  Disassembler disassembler = HA_TRY(Disassembler::open());
  AllocatorEntries entries = find_allocators(modules, *program, code, memory);
  if (entries.empty()) entries = AllocatorGuess(code, disassembler).find();
  Scan scan(*program, std::move(entries), std::move(disassembler));
  for (const Code& piece : code) scan.read(piece);
  result.types = scan.types();
  result.functions = scan.functions();
  add_string(result.types);
  return result;
}

}  // namespace heapattach::crystal
