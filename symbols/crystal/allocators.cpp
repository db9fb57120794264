// Which functions to follow is decided by what they call, not by their names: all direct calls
// (E8 rel32) in the program are looked at, a matter of memchr, and those that lead to an allocator
// count. Allocators have names in a program with symbols. A stripped one reaches those of a shared
// collector through stubs (jmp *slot, the slot holds the function's address in the target) and
// through the runtime's own wrappers, which have one shape:
//
//     push %rax; [call UInt64.new; mov %rax,%rdi;] call <allocator>; pop %rcx; ret
//     jmp <allocator>                                             (in a --release build)
//
// There the bounds of functions are unknown too: the code from where the size is set is followed.
// One that is also linked statically tells its allocators only by what is done with their results.

#include "symbols/crystal/allocators.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "symbols/crystal/allocation_sites.h"
#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

constexpr std::array<std::pair<std::string_view, Allocator>, 10> kAllocators = {{
    {"__crystal_malloc", Allocator::Normal},
    {"__crystal_malloc64", Allocator::Normal},
    {"__crystal_malloc_atomic", Allocator::Atomic},
    {"__crystal_malloc_atomic64", Allocator::Atomic},
    {"GC_malloc", Allocator::Normal},
    {"GC_malloc_atomic", Allocator::Atomic},
    {"GC_malloc_ignore_off_page", Allocator::Normal},
    {"GC_malloc_atomic_ignore_off_page", Allocator::Atomic},
    {"*GC::malloc<UInt64>:Pointer(Void)", Allocator::Normal},
    {"*GC::malloc_atomic<UInt64>:Pointer(Void)", Allocator::Atomic},
}};

// Ids are dense; a larger number is the first word of something else ("\x7fELF").
constexpr std::uint32_t kLargestId = 1U << 20U;

using Entries = std::unordered_map<std::uint64_t, Allocator>;

// Enough from a call to the store of the id, initial values of fields between them included.
constexpr std::size_t kWindow = 160;

std::uint8_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

std::uint64_t displaced(std::span<const std::byte> bytes, std::size_t at, RemoteAddr next) {
  std::int32_t displacement = 0;
  std::memcpy(&displacement, bytes.data() + at, sizeof(displacement));
  return next.value + static_cast<std::uint64_t>(std::int64_t{displacement});
}

// The code of the program, in pieces.
struct Code {
  RemoteAddr start;
  std::span<const std::byte> bytes;
};

std::vector<Code> code_of(const Module& program) {
  std::vector<Code> code;
  for (const Segment& segment : program.segments()) {
    if (!segment.executable) continue;
    const auto bytes = program.file_bytes(segment.range.start);
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), segment.range.bytes);
    code.push_back({segment.range.start, bytes.first(size)});
  }
  return code;
}

// Calls `found(position)` for each place where `opcode` stands with four bytes after it.
template <class Found>
void each_opcode(const Code& code, std::uint8_t opcode, const Found& found) {
  const auto* const begin = code.bytes.data();
  const auto* const end = begin + code.bytes.size();
  for (const auto* at = begin; at < end; ++at) {
    at = static_cast<const std::byte*>(std::memchr(at, opcode, static_cast<std::size_t>(end - at)));
    if (at == nullptr || end - at < 5) return;
    found(static_cast<std::size_t>(at - begin));
  }
}

Entries named_allocators(const Modules& modules) {
  Entries entries;
  for (const auto& [name, allocator] : kAllocators) {
    if (const auto symbol = modules.find_symbol(name)) entries[symbol->address.value] = allocator;
  }
  return entries;
}

// The words of the program that hold the address of an allocator: its slots for calls.
Entries find_slots(const Module& program, const MemoryReader& memory, const Entries& entries) {
  constexpr std::uint64_t kMostBytes = 256U << 10U;
  Entries slots;
  for (const Segment& segment : program.segments()) {
    if (!segment.writable || segment.executable) continue;
    std::vector<std::uint64_t> words(std::min(segment.range.bytes, kMostBytes) / 8);
    const auto bytes = std::as_writable_bytes(std::span(words));
    if (words.empty() || !memory.read(segment.range.start, bytes).has_value()) continue;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto entry = entries.find(words[i]);
      if (entry != entries.end()) slots[segment.range.start.value + i * 8] = entry->second;
    }
  }
  return slots;
}

// Stubs are "jmp *slot(%rip)" (ff 25), with or without endbr64 or bnd before it.
void add_stubs(const Code& code, const Entries& slots, Entries& entries) {
  if (slots.empty()) return;
  each_opcode(code, 0x25, [&](std::size_t at) {
    if (at == 0 || byte_at(code.bytes, at - 1) != 0xff) return;
    const auto slot = slots.find(displaced(code.bytes, at + 1, code.start + at + 5));
    if (slot == slots.end()) return;
    for (const std::size_t prefix : {1U, 2U, 5U, 6U}) {
      if (prefix <= at) entries[code.start.value + at - prefix] = slot->second;
    }
  });
}

// How many bytes a wrapper has before the call at `at`, or none if that is no wrapper's call.
std::optional<std::size_t> wrapper_prefix(const Code& code, std::size_t at) {
  const auto is = [&](std::size_t where, std::uint8_t value) {
    return where < code.bytes.size() && byte_at(code.bytes, where) == value;
  };
  if (!is(at + 5, 0x59) || !is(at + 6, 0xc3)) return std::nullopt;
  std::optional<std::size_t> prefix;
  if (at >= 1 && is(at - 1, 0x50)) prefix = 1;
  const bool converts = at >= 9 && is(at - 9, 0x50) && is(at - 8, 0xe8) && is(at - 3, 0x48) &&
                        is(at - 2, 0x89) && is(at - 1, 0xc7);
  if (converts) prefix = 9;
  return prefix && (code.start.value + at - *prefix) % 16 == 0 ? prefix : std::nullopt;
}

bool add_wrappers(const Code& code, Entries& entries) {
  const std::size_t before = entries.size();
  const auto callee = [&](std::size_t at) {
    return entries.find(displaced(code.bytes, at + 1, code.start + at + 5));
  };
  each_opcode(code, 0xe8, [&](std::size_t at) {
    const auto allocator = callee(at);
    if (allocator == entries.end()) return;
    const auto prefix = wrapper_prefix(code, at);
    if (prefix) entries.emplace(code.start.value + at - *prefix, allocator->second);
  });
  each_opcode(code, 0xe9, [&](std::size_t at) {
    const auto allocator = callee(at);
    const std::uint64_t start = code.start.value + at;
    if (allocator != entries.end() && start % 16 == 0) entries.emplace(start, allocator->second);
  });
  return entries.size() > before;
}

Entries find_allocators(const Modules& modules,
                        const Module& program,
                        const std::vector<Code>& code,
                        const MemoryReader& memory) {
  Entries entries = named_allocators(modules);
  const Entries slots = find_slots(program, memory, entries);
  for (const Code& piece : code) add_stubs(piece, slots, entries);
  constexpr int kDeepestWrapper = 4;
  for (int depth = 0; depth < kDeepestWrapper; ++depth) {
    bool is_more = false;
    for (const Code& piece : code) is_more = add_wrappers(piece, entries) || is_more;
    if (!is_more) break;
  }
  return entries;
}

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

  [[nodiscard]] Entries find() const {
    Entries surely;
    Entries likely;
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
    auto& windows = calls_[displaced(code.bytes, at + 1, code.start + at + 5)];
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
  Scan(const Module& program, Entries entries, Disassembler disassembler)
      : program_(program), entries_(std::move(entries)), disassembler_(std::move(disassembler)) {}
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  void read(const Code& code) {
    each_opcode(code, 0xe8, [&](std::size_t at) {
      if (!entries_.contains(displaced(code.bytes, at + 1, code.start + at + 5))) return;
      follow(code, at);
    });
  }

  [[nodiscard]] std::vector<Type> types() const;
  [[nodiscard]] std::size_t functions() const { return functions_.size(); }

 private:
  void follow(const Code& code, std::size_t call);
  void note(const AllocationSite& site, std::string_view symbol);

  const Module& program_;
  Entries entries_;
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
  Entries entries = find_allocators(modules, *program, code, memory);
  if (entries.empty()) entries = AllocatorGuess(code, disassembler).find();
  Scan scan(*program, std::move(entries), std::move(disassembler));
  for (const Code& piece : code) scan.read(piece);
  result.types = scan.types();
  result.functions = scan.functions();
  add_string(result.types);
  return result;
}

}  // namespace heapattach::crystal
