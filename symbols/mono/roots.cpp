#include "symbols/mono/roots.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attach/arch/addresses.h"
#include "attach/arch/thread_data.h"
#include "symbols/boehm/accessors.h"
#include "symbols/boehm/arch/code_uses.h"
#include "symbols/code/disassembler.h"

namespace heapattach::mono {

namespace {

constexpr std::size_t kCodeBytes = 256;  // of the function that adds roots, from its start
constexpr std::uint64_t kMostEntries = 1 << 20;
constexpr std::uint64_t kMostThreads = 1 << 16;
constexpr std::uint64_t kMostChunks = 1 << 16;
constexpr std::uint64_t kMostHandles = 1024;  // in a chunk
constexpr std::uint64_t kInfoBytes = 0x800;   // of a thread's information, where handles may be
constexpr std::uint64_t kFirstHandle = 0x18;  // in a chunk, which begins with a count and two links
constexpr std::uint64_t kWholeWords = ~std::uint64_t{7};
constexpr std::uint64_t kLinkTags = 3;

class Reader {
 public:
  explicit Reader(const MemoryReader& memory) : memory_(memory) {}

  // Reads a hash table of Mono: two functions, the slots, the number of slots, and the number of
  // entries. An entry has the start and the end of a range, and the next entry of the slot.
  [[nodiscard]] std::optional<std::vector<Range>> registered(RemoteAddr variable) const {
    const std::uint64_t table = word(variable.value);
    const std::uint64_t slots = table == 0 ? 0 : word(table + 0x10);
    const std::uint64_t counts = table == 0 ? 0 : word(table + 0x18);
    const std::uint64_t size = counts & 0xffffffff;
    const std::uint64_t used = counts >> 32;
    if (slots == 0 || size == 0 || size > kMostEntries || used > kMostEntries) return std::nullopt;
    std::vector<Range> ranges;
    for (std::uint64_t i = 0; i < size; ++i) {
      for (std::uint64_t entry = word(slots + i * 8); entry != 0; entry = word(entry + 0x10)) {
        const std::uint64_t start = word(entry);
        const std::uint64_t end = word(entry + 8);
        if (start >= end || end >= kUsualAddressEnd || ranges.size() == used) return std::nullopt;
        const std::uint64_t first = (start + 7) & kWholeWords;
        if ((end & kWholeWords) <= first) continue;
        ranges.push_back({RemoteAddr{first}, (end & kWholeWords) - first});
      }
    }
    if (ranges.size() != used) return std::nullopt;
    return ranges;
  }

  // Reads the chain of the threads' information. Each begins with the address of the next one,
  // whose low bits are tags; the second word is the address of glibc's data about the thread.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> threads(RemoteAddr variable) const {
    std::vector<std::uint64_t> infos;
    for (std::uint64_t at = word(variable.value) & ~kLinkTags; at != 0;
         at = word(at) & ~kLinkTags) {
      const std::uint64_t thread = word(at + 8);
      const bool is_thread = thread != 0 && word(thread + kThreadSelfAt) == thread;
      if (!is_thread || infos.size() == kMostThreads) return std::nullopt;
      infos.push_back(at);
    }
    return infos;
  }

  // Reads a stack of handles: its last chunk, and its first one. Nothing if the address has none.
  [[nodiscard]] std::optional<std::vector<Range>> handles(std::uint64_t stack) const {
    const std::uint64_t top = word(stack);
    std::uint64_t chunk = word(stack + 8);
    if (top == 0 || chunk == 0 || word(chunk + 8) != 0) return std::nullopt;
    std::vector<Range> ranges;
    for (std::uint64_t i = 0; i < kMostChunks && chunk != 0; ++i) {
      const std::uint64_t count = word(chunk) & 0xffffffff;
      if (count > kMostHandles) return std::nullopt;
      if (count != 0) ranges.push_back({RemoteAddr{chunk + kFirstHandle}, count * 8});
      if (chunk == top) return ranges;
      const std::uint64_t next = word(chunk + 0x10);
      if (word(next + 8) != chunk) return std::nullopt;
      chunk = next;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    const auto read = at == 0 || at % 8 != 0 ? Result<std::uint64_t>(Error{ErrorKind::Fault, ""})
                                             : memory_.read_as<std::uint64_t>(RemoteAddr{at});
    return read ? *read : 0;
  }

 private:
  const MemoryReader& memory_;
};

// Finds the offset of the stack of handles in the threads' information. A thread that the collector
// does not know has none.
std::optional<std::uint64_t> find_handles(const Reader& reader,
                                          std::span<const std::uint64_t> infos) {
  for (std::uint64_t at = 0x10; at < kInfoBytes; at += 8) {
    bool has_any = false;
    const bool fits = std::all_of(infos.begin(), infos.end(), [&](std::uint64_t info) {
      const std::uint64_t stack = reader.word(info + at);
      const bool is_one = stack != 0 && reader.handles(stack).has_value();
      has_any = has_any || is_one;
      return is_one || stack == 0;
    });
    if (fits && has_any) return at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RootVariables> root_variables(const std::vector<RemoteAddr>& tables,
                                            const std::vector<RemoteAddr>& lists,
                                            const MemoryReader& memory) {
  const Reader reader(memory);
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [&](RemoteAddr at) { return reader.registered(at).has_value(); });
  if (table == tables.end()) return std::nullopt;
  for (const RemoteAddr list : lists) {
    const auto infos = reader.threads(list);
    const auto handles = infos ? find_handles(reader, *infos) : std::nullopt;
    if (handles) return RootVariables{*table, list, *handles};
  }
  return std::nullopt;
}

std::optional<RootVariables> find_root_variables(const Module& module, const MemoryReader& memory) {
  const auto hook = module.find_symbol("GC_push_other_roots");
  const auto function = hook ? memory.read_as<std::uint64_t>(hook->address)
                             : Result<std::uint64_t>(Error{ErrorKind::Unsupported, ""});
  const auto disassembler = Disassembler::open(module.machine());
  if (!function || !disassembler || !module.contains(RemoteAddr{*function})) return std::nullopt;
  const RemoteAddr at{*function};
  auto code = module.file_bytes(at);
  code = code.first(std::min(code.size(), kCodeBytes));
  const boehm::CodeSource source = boehm::code_of(module, memory);
  boehm::AccessorReader reader(*disassembler, source);
  // It loads the table, and one of the functions that it calls returns the address of the list of
  // threads.
  std::vector<RemoteAddr> tables;
  std::vector<RemoteAddr> lists;
  for (std::size_t i = 0; i < code.size();) {
    const cs_insn* instruction = disassembler->decode(code.subspan(i), at + i);
    if (instruction == nullptr) break;
    i += instruction->size;
    auto& targets = boehm::jumps_or_calls(*instruction) ? lists : tables;
    boehm::each_target(*instruction, [&](RemoteAddr target) { targets.push_back(target); });
  }
  const boehm::EvaluationLimits shortest{
      .call_depth = 0, .visits = 1, .paths = 1, .instructions = 8};
  for (RemoteAddr& called : lists) {
    called = RemoteAddr{reader.read_constant(called, shortest).value_or(0)};
  }
  return root_variables(tables, lists, memory);
}

MoreRoots read_roots(const RootVariables& variables, const MemoryReader& memory) {
  const Reader reader(memory);
  MoreRoots roots;
  auto registered = reader.registered(variables.registered);
  const auto infos = reader.threads(variables.threads);
  roots.are_all = registered && infos;
  if (registered) roots.registered = *std::move(registered);
  for (const std::uint64_t info : infos.value_or(std::vector<std::uint64_t>())) {
    const std::uint64_t stack = reader.word(info + variables.handles_at);
    const auto handles = stack == 0 ? std::vector<Range>() : reader.handles(stack);
    roots.are_all = roots.are_all && handles;
    if (handles) roots.handles.insert(roots.handles.end(), handles->begin(), handles->end());
  }
  return roots;
}

}  // namespace heapattach::mono
