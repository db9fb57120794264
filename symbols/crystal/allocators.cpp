// The functions to follow are chosen by what they call, not by their names: all direct calls in the
// program are found by their first byte, and those of an allocator count (allocator_entries.h).
// Functions without symbols have unknown bounds; their code is followed from the instruction that
// sets the size.

#include "symbols/crystal/allocators.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "symbols/crystal/allocator_entries.h"
#include "symbols/crystal/arch/allocation_sites.h"
#include "symbols/crystal/arch/calls.h"
#include "symbols/crystal/type_names.h"

namespace heapattach::crystal {
namespace {

// Ids are dense; a larger number is the first word of something else ("\x7fELF").
constexpr std::uint32_t kLargestId = 1U << 20U;

// The number of bytes after a call in which the id is stored. It leaves room for the stores of
// fields' initial values.
constexpr std::size_t kWindow = 160;

std::vector<Code> code_of(const Module& program) {
  std::vector<Code> code;
  for (const Segment& segment : program.segments()) {
    if (!segment.executable) continue;
    const auto bytes = program.file_bytes(segment.range.start);
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), segment.range.bytes);
    code.push_back({segment.range.start, bytes.first(size), program.machine()});
  }
  return code;
}

class Guess {
 public:
  Guess(const std::vector<Code>& code, const Disassembler& disassembler, const ConstantAt& constant)
      : disassembler_(disassembler), constant_(constant) {
    for (const Code& piece : code) {
      each_call(piece, [&](std::size_t at) { note_call(piece, at); });
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
                      code.bytes.subspan(from, std::min(kWindow, code.bytes.size() - from)),
                      code.machine};
    if (!stores_constant(window)) return;
    auto& windows = calls_[target_of_call(code, at)];
    if (windows.size() < kMostWindows) windows.push_back(window);
  }

  [[nodiscard]] Judgement judge(std::uint64_t callee, const std::vector<Code>& windows) const {
    const CallTarget target = [&](RemoteAddr at) {
      return at.value == callee ? std::optional(Allocator::Either) : std::nullopt;
    };
    std::set<std::uint32_t> ids;
    Judgement judgement;
    for (const Code& window : windows) {
      const auto sites =
          find_allocation_sites(disassembler_, window.bytes, window.start, target, constant_);
      if (sites.empty() || sites.front().id > kLargestId) continue;
      ids.insert(sites.front().id);
      ++judgement.sites;
    }
    judgement.ids = ids.size();
    return judgement;
  }

  const Disassembler& disassembler_;
  const ConstantAt& constant_;
  std::unordered_map<std::uint64_t, std::vector<Code>> calls_;
};

// Guesses the allocators of a stripped program without any symbols, not even the collector's. A
// function counts as an allocator if many callers pass it a constant and then store an id in the
// first bytes of the result, with many different ids.
AllocatorEntries guess_allocators(const std::vector<Code>& code,
                                  const Disassembler& disassembler,
                                  const ConstantAt& constant) {
  return Guess(code, disassembler, constant).find();
}

// The constants that code loads: from the file if it is read-only, and from the target if the
// loader relocates it.
class LoadedConstants {
 public:
  LoadedConstants(const Module& program, const MemoryReader& memory)
      : program_(program), memory_(memory), relro_(program.relro().value_or(Range{})) {}

  [[nodiscard]] std::optional<std::uint64_t> at(RemoteAddr address, unsigned bytes) const {
    std::uint64_t number = 0;
    if (relro_.contains(address)) {
      const auto into = std::as_writable_bytes(std::span(&number, 1)).first(bytes);
      return memory_.read(address, into) ? std::optional(number) : std::nullopt;
    }
    for (const Segment& segment : program_.segments()) {
      if (!segment.range.contains(address) || segment.writable) continue;
      const auto in_file = program_.file_bytes(address);
      if (in_file.size() < bytes) return std::nullopt;
      std::memcpy(&number, in_file.data(), bytes);
      return number;
    }
    return std::nullopt;
  }

 private:
  const Module& program_;
  const MemoryReader& memory_;
  Range relro_;
};

// The evidence about one id.
struct Evidence {
  std::set<std::uint64_t> calls;  // of allocators
  std::set<std::string> names;
  std::set<std::pair<std::uint64_t, Allocator>> named;  // size and kind, from functions with a name
  std::set<std::pair<std::uint64_t, Allocator>> unnamed;
};

class Scan {
 public:
  Scan(const Module& program,
       AllocatorEntries entries,
       const Disassembler& disassembler,
       const ConstantAt& constant)
      : program_(program),
        entries_(std::move(entries)),
        disassembler_(disassembler),
        constant_(constant) {
    for (const Symbol& wrapper : program.symbols_with_prefix("__crystal_malloc")) {
      wrappers_.insert(wrapper.address.value);
    }
  }
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  void read(const Code& code) {
    each_call(code, [&](std::size_t at) {
      if (!entries_.contains(target_of_call(code, at))) return;
      follow(code, at);
    });
  }

  [[nodiscard]] std::vector<Type> types(const ProgramNames& names) const;
  [[nodiscard]] std::size_t functions() const { return functions_.size(); }

 private:
  void follow(const Code& code, std::size_t call);
  void note(const AllocationSite& site, std::string_view symbol);

  const Module& program_;
  AllocatorEntries entries_;
  const Disassembler& disassembler_;
  const ConstantAt& constant_;
  std::set<std::uint64_t> functions_;
  std::set<std::uint64_t> wrappers_;  // the runtime's, of the collector's allocators
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
  const bool tells_class =
      symbol && symbol->is_function && symbol->bytes > 0 &&
      !(class_returned_by(symbol->name).empty() && class_of_cut(symbol->name).empty());
  if (tells_class) {
    from = symbol->address - code.start;
    bytes = symbol->bytes;
    name = symbol->name;
  }
  if (from > code.bytes.size() || bytes > code.bytes.size() - from) return;
  const auto body = code.bytes.subspan(from, bytes);
  if (!stores_constant({code.start + from, body, code.machine}) || !functions_.insert(from).second)
    return;
  const RemoteAddr at = code.start + from;
  for (const AllocationSite& site :
       find_allocation_sites(disassembler_, body, at, target_, constant_)) {
    note(site, name);
  }
}

void Scan::note(const AllocationSite& site, std::string_view symbol) {
  Evidence& evidence = evidence_[site.id];
  evidence.calls.insert(site.made_at.value);
  std::string_view name = site.is_returned ? class_returned_by(symbol) : std::string_view{};
  // A method makes instances of other classes itself only if their functions were inlined, and then
  // so was the runtime's wrapper of the allocator.
  const bool is_inlined = !wrappers_.contains(site.allocator_at.value);
  if (name.empty() && site.is_returned && !is_inlined) name = class_of_cut(symbol);
  if (name.empty()) {
    evidence.unnamed.emplace(site.bytes, site.allocator);
    return;
  }
  evidence.names.insert(canonical_name(name));
  evidence.named.emplace(site.bytes, site.allocator);
}

// The name that the functions give, if they agree and give it to no other id.
std::string name_by_functions(const Evidence& evidence,
                              const std::map<std::string, int>& ids_of_name) {
  if (evidence.names.size() != 1) return {};
  const std::string& name = *evidence.names.begin();
  return ids_of_name.at(name) == 1 ? name : std::string();
}

void add_size(const Evidence& evidence, Type& type) {
  // A buffer may begin with a constant too: named functions take precedence.
  const auto& sizes = evidence.named.empty() ? evidence.unnamed : evidence.named;
  if (sizes.size() != 1) return;
  type.instance_bytes = sizes.begin()->first;
  const Allocator allocator = sizes.begin()->second;
  if (allocator != Allocator::Either) type.is_atomic = allocator == Allocator::Atomic;
}

std::vector<Type> Scan::types(const ProgramNames& names) const {
  std::map<std::string, int> ids_of_name;
  for (const auto& [id, evidence] : evidence_) {
    for (const std::string& name : evidence.names) ++ids_of_name[name];
  }
  std::vector<Type> types;
  for (const auto& [id, evidence] : evidence_) {
    if (id > kLargestId || names.is_no_class(id)) continue;
    Type type;
    type.id = id;
    type.known_from = {KnownFrom::AllocationSite};
    type.made_at.assign(evidence.calls.begin(), evidence.calls.end());
    if (const std::string* own = names.find(id)) {
      type.name = *own;
    } else {
      if (evidence.names.size() > 1) continue;
      type.name = name_by_functions(evidence, ids_of_name);
      if (type.name.empty() && !evidence.names.empty()) continue;
    }
    add_size(evidence, type);
    if (!type.name.empty() || type.instance_bytes) types.push_back(std::move(type));
  }
  return types;
}

// A class that allocates its instances itself, as WeakRef does, sets their id by a function of the
// runtime, which is instantiated for each such class:
//
//     *WeakRef(User)@Object::set_crystal_type_id<WeakRef(User)>:WeakRef(User)
//     push %rax; mov %rsi,(%rsp); mov $0xb6,%edi      (on x86-64)
void add_self_allocating(const Module& program, std::vector<Type>& types) {
  constexpr std::string_view kSetter = "@Object::set_crystal_type_id<";
  for (const Symbol& symbol : program.symbols()) {
    const std::size_t end = symbol.name.find(kSetter);
    if (!symbol.is_function || end == std::string_view::npos || symbol.name[0] != '*') continue;
    const auto id =
        first_constant({symbol.address, program.file_bytes(symbol.address), program.machine()});
    if (!id || *id == 0 || *id > kLargestId) continue;
    const bool is_known =
        std::any_of(types.begin(), types.end(), [&](const Type& other) { return other.id == *id; });
    if (is_known) continue;
    Type& type = types.emplace_back();
    type.id = *id;
    type.name = canonical_name(symbol.name.substr(1, end - 1));
    type.known_from = {KnownFrom::AllocationSite};
  }
}

// Adds the classes that have a name but no code that allocates them, and marks the names that are
// the program's own.
void add_named(const ProgramNames& names, std::vector<Type>& types) {
  std::set<std::uint32_t> known;
  for (const Type& type : types) known.insert(type.id);
  const auto add = [&](std::uint32_t id, const std::string& name) {
    if (!known.insert(id).second) return;
    Type& type = types.emplace_back();
    type.id = id;
    type.name = name;
  };
  for (const auto& [id, name] : names.from_table) add(id, name);
  for (const auto& [id, name] : names.from_symbols) {
    // Without a table, only code shows which of them are classes.
    const bool is_class =
        names.last_class != 0 ? id <= names.last_class : name.starts_with("WeakRef(");
    if (is_class) add(id, name);
  }
  for (Type& type : types) {
    const auto has = [&](const auto& source) { return source.contains(type.id); };
    if (has(names.from_table)) type.known_from.push_back(KnownFrom::ClassNameTable);
    if (has(names.from_symbols)) type.known_from.push_back(KnownFrom::TypeIdSymbol);
    std::sort(type.known_from.begin(), type.known_from.end());
  }
}

// No single function makes Strings. It is the first type that the compiler numbers (Crystal::LLVMId
// counts Object, Reference and then their subclasses from String on).
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

Result<AllocatorScan> scan_allocators(const Modules& modules, const MemoryReader& memory) {
  const Module* program = modules.main_program();
  if (program == nullptr) return AllocatorScan();
  return scan_program(modules, *program, memory);
}

Result<AllocatorScan> scan_program(const Modules& modules,
                                   const Module& program,
                                   const MemoryReader& memory) {
  AllocatorScan result;
  if (!has_runtime(program)) return result;
  result.is_crystal = true;
  if (!knows_calls(program.machine())) {
    result.names = read_program_names(program, memory);
    add_named(result.names, result.types);
    add_string(result.types);
    return result;
  }
  const std::vector<Code> code = code_of(program);
  const Disassembler disassembler = HA_TRY(Disassembler::open(program.machine()));
  const LoadedConstants constants(program, memory);
  const ConstantAt constant = [&](RemoteAddr at, unsigned bytes) {
    return constants.at(at, bytes);
  };
  AllocatorEntries entries = find_allocators(modules, program, code, memory);
  if (entries.empty()) entries = guess_allocators(code, disassembler, constant);
  Scan scan(program, std::move(entries), disassembler, constant);
  for (const Code& piece : code) scan.read(piece);
  result.names = read_program_names(program, memory);
  result.types = scan.types(result.names);
  result.functions = scan.functions();
  if (result.names.empty()) add_self_allocating(program, result.types);
  add_named(result.names, result.types);
  add_string(result.types);
  return result;
}

}  // namespace heapattach::crystal
