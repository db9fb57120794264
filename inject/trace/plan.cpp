#include "inject/trace/plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/arch/processors.h"
#include "attach/base/page.h"
#include "attach/process/stat_field.h"
#include "inject/trace/arch/jump.h"
#include "inject/trace/arch/move_entry.h"
#include "inject/trace/blob.h"
#include "inject/trace/find_room.h"
#include "inject/trace/reader.h"

namespace heapattach::trace {

namespace {

constexpr const char* kAdvice = "--count and --watch, which do not change the code of the process";

// The address of an instruction of the collector that only returns, and that the trace does not
// change; 0 if there is none.
RemoteAddr return_instruction(const Hooks& hooks) {
  constexpr std::size_t kUnchanged = 64;
  for (const Entry& entry : hooks.allocations) {
    if (const auto found = find_return(entry.code, kUnchanged)) return entry.at + *found;
  }
  return {};
}

// The hooks for malloc's functions of one form.
struct FormHooks {
  MallocForm form;
  std::size_t first;
  std::size_t count;
};
constexpr FormHooks kFormHooks[] = {
    {MallocForm::Size, kMallocHook, 1},
    {MallocForm::Count, kCallocHook, 1},
    {MallocForm::Resize, kReallocHook, 1},
    {MallocForm::Aligned, kAlignedHook, kAlignedHooks},
    {MallocForm::Storing, kStoringHook, 1},
    {MallocForm::WholePages, kWholePagesHook, kWholePagesHooks},
    {MallocForm::Free, kMallocFreeHook, 1},
};

class Planner {
 public:
  Planner(const Process& target, const MemoryReader& memory, const Hooks& hooks)
      : target_(target), memory_(memory), hooks_(hooks) {}

  Result<Plan> run(std::uint64_t ring_bytes) {
    plan_.head = blob_head();
    plan_.head.ring_bytes = ring_bytes;
    plan_.head.tool = static_cast<std::uint64_t>(getpid());
    plan_.head.tool_start = start_of(plan_.head.tool);
    // Above the address that the kernel reports are the first function's return address and the
    // words of its arguments.
    constexpr std::uint64_t kAboveFirst = 64;
    constexpr int kStartStack = 28;  // the field with the start of the first thread's stack
    const auto main_stack = stat_field(HA_TRY(target_.read_file("stat")), kStartStack);
    if (main_stack && *main_stack != 0) plan_.head.main_stack = *main_stack + kAboveFirst;
    plan_.head.clock = hooks_.clock.value;
    plan_.head.stack_bottom = hooks_.stack_bottom.value;
    HA_TRY(place());
    HA_TRY(plan_events());
    const auto code = blob_code();
    plan_.image.assign(code.begin(), code.end());
    plan_.image.resize(kBlobCodeBytes);
    HA_TRY(plan_jumps());
    std::memcpy(plan_.image.data(), &plan_.head, sizeof plan_.head);
    return std::move(plan_);
  }

 private:
  Result<void> place() {
    const MemoryMap map = HA_TRY(target_.maps());
    std::vector<RemoteAddr> near;
    for (const Entry& entry : hooks_.allocations) near.push_back(entry.at);
    if (hooks_.release) near.push_back(hooks_.release->at);
    for (const MallocEntry& one : hooks_.of_malloc) near.push_back(one.entry.at);
    const auto room = find_room(map, blob_bytes(), near);
    if (!room) {
      return impossible(
          fmt::format("there is no room within {} of the code that allocates", kReachName));
    }
    plan_.head.base = room->value;
    // The ring must not take the room that the code takes.
    std::vector<Mapping> mappings = map.mappings();
    Mapping ours;
    ours.range = plan_.code();
    mappings.push_back(std::move(ours));
    std::ranges::sort(mappings, {}, [](const Mapping& mapping) { return mapping.range.start; });
    const auto ring = find_room(MemoryMap(std::move(mappings)), plan_.ring().bytes, {});
    if (!ring) return impossible("there is no room for the buffer of the trace");
    plan_.head.ring = ring->value;
    return {};
  }

  Result<void> plan_events() {
    if (!hooks_.follows_ends()) return {};
    BlobHead& head = plan_.head;
    head.event_variable = hooks_.event_variable.value;
    head.is_marked = hooks_.is_marked.value;
    head.object_base = hooks_.object_base.value;
    head.collections = hooks_.collections.value;
    plan_.handler = HA_TRY(event_handler(hooks_, memory_));
    head.program_handler = plan_.handler;
    if (plan_.handler != 0) return {};
    // The collector tests the variable once and calls through it twice, so it must not become 0
    // again while a thread may be in between, which nobody can rule out. So the program's handler
    // becomes an instruction that only returns.
    head.program_handler = return_instruction(hooks_).value;
    if (head.program_handler == 0) head.event_variable = 0;
    return {};
  }

  Result<void> plan_jumps() {
    const Disassembler disassembler = HA_TRY(Disassembler::open(kOwnProcessor));
    std::size_t next = 0;
    std::size_t leading = kLeadingHook + kLeadingHooks;
    // An entry to which another entry jumps gets an ordinary hook first: a leading hook cannot know
    // that it was reached by a jump.
    std::vector<const Entry*> entries;
    for (const Entry& entry : hooks_.allocations) entries.push_back(&entry);
    std::stable_partition(entries.begin(), entries.end(),
                          [](const Entry* entry) { return entry->is_led; });
    for (const Entry* const entry : entries) {
      const std::size_t number = entry->size_is_second ? std::size_t{kSecondHook}
                                 : entry->leads_on     ? --leading
                                                       : next++;
      if (next > leading) {
        return impossible("the collector has more allocation functions than a trace can follow");
      }
      if (entry->is_led && !entry->leads_on) plan_.head.led |= std::uint64_t{1} << number;
      HA_TRY(plan_jump(disassembler, *entry, number));
    }
    if (hooks_.release) HA_TRY(plan_jump(disassembler, *hooks_.release, kCollectorFreeHook));
    return plan_malloc(disassembler);
  }

  Result<void> plan_malloc(const Disassembler& disassembler) {
    std::array<std::size_t, std::size(kFormHooks)> used{};
    for (const auto& [entry, form] : hooks_.of_malloc) {
      const auto* const own = std::ranges::find(kFormHooks, form, &FormHooks::form);
      std::size_t& taken = used[static_cast<std::size_t>(own - kFormHooks)];
      if (taken == own->count) return impossible("malloc has more functions than expected");
      const std::size_t number = own->first + taken++;
      if (entry.is_led) plan_.head.led |= std::uint64_t{1} << number;
      HA_TRY(plan_jump(disassembler, entry, number));
    }
    return {};
  }

  Result<void> plan_jump(const Disassembler& disassembler, const Entry& entry, std::size_t number) {
    BlobHead& head = plan_.head;
    const RemoteAddr base{head.base};
    auto moved = move_entry(disassembler, entry.code, entry.at, base + head.trampoline[number]);
    if (!moved) return std::move(moved).error().context(entry.name).advise(kAdvice);
    const RemoteAddr at = entry.at + moved->kept;
    if (at.value % page_bytes() > page_bytes() - kJumpBytes) {
      return impossible(
          fmt::format("{}: its first instructions cross a page boundary", entry.name));
    }
    std::copy(moved->code.begin(), moved->code.end(),
              plan_.image.begin() + static_cast<std::ptrdiff_t>(head.trampoline[number]));
    std::copy(moved->undo.begin(), moved->undo.end(),
              plan_.image.begin() + static_cast<std::ptrdiff_t>(head.hook[number]));
    head.entry[number] = at.value;
    head.entry_bytes[number] = moved->bytes;
    head.inner_begin[number] = entry.inner.start.value;
    head.inner_end[number] = entry.inner.end().value;
    const auto original = std::span(entry.code).subspan(moved->kept, moved->bytes);
    std::memcpy(head.original[number], original.data(), original.size());
    plan_.jumps.push_back({.name = entry.name,
                           .at = at,
                           .original = {original.begin(), original.end()},
                           .jump = jump(at.value, head.base + head.hook[number])});
    return {};
  }

  const Process& target_;
  const MemoryReader& memory_;
  const Hooks& hooks_;
  Plan plan_;
};

}  // namespace

Result<Plan> Plan::make(const Process& target,
                        const MemoryReader& memory,
                        const Hooks& hooks,
                        std::uint64_t ring_bytes) {
  return Planner(target, memory, hooks).run(ring_bytes);
}

Range Plan::code() const {
  return {RemoteAddr{head.base}, blob_bytes()};
}

Range Plan::control() const {
  const Range whole = code();
  return {whole.start + kBlobCodeBytes, whole.bytes - kBlobCodeBytes};
}

Range Plan::ring() const {
  return {RemoteAddr{head.ring}, kRingHeadBytes + 2 * head.ring_bytes};
}

Result<std::uint64_t> event_handler(const Hooks& hooks, const MemoryReader& memory) {
  return memory.read_as<std::uint64_t>(hooks.event_variable);
}

Error impossible(std::string why) {
  return Error{ErrorKind::Impossible, std::move(why)}.advise(kAdvice);
}

Result<void> check_entry(const Disassembler& disassembler, const Entry& entry) {
  auto moved = move_entry(disassembler, entry.code, entry.at, entry.at + kLeastPageBytes);
  if (!moved) return std::move(moved).error().context(entry.name).advise(kAdvice);
  return {};
}

}  // namespace heapattach::trace
