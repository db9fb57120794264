#include "report/collect/join_stacks.h"

#include <map>
#include <unordered_map>
#include <utility>

namespace heapattach::snapshot {

namespace {

CodeLine line_of(const unwind::Place& place) {
  return {.function = place.function, .file = place.file, .line = place.line};
}

// The locations of frames, each once.
class Places {
 public:
  Places(const unwind::Stacks& stacks, const Modules& modules, std::vector<Place>& places)
      : stacks_(stacks), modules_(modules), places_(places) {}

  std::uint32_t at(RemoteAddr pc) {
    const auto [known, is_new] =
        known_.try_emplace(pc.value, static_cast<std::uint32_t>(places_.size()));
    if (!is_new) return known->second;
    Place& place = places_.emplace_back();
    place.pc = pc.value;
    if (const Module* const module = modules_.find(pc)) {
      place.module = module->name();
      place.offset = pc.value - module->bias();
    }
    const auto found = stacks_.places_of(pc);
    for (std::size_t i = 0; i + 1 < found.size(); ++i) place.inlined.push_back(line_of(found[i]));
    if (!found.empty()) place.at = line_of(found.back());
    return known->second;
  }

 private:
  const unwind::Stacks& stacks_;
  const Modules& modules_;
  std::vector<Place>& places_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

// Identifies a stack by the parts that are stored.
using StackKey = std::pair<std::vector<std::uint64_t>, std::uint64_t>;

StackKey key_of(const unwind::StackRecord& record) {
  StackKey key;
  for (const unwind::FrameRecord& frame : record.frames) key.first.push_back(frame.pc.value);
  for (const unwind::FrameRecord& frame : record.frames) {
    key.first.push_back(static_cast<std::uint64_t>(frame.found_by));
  }
  key.first.push_back(static_cast<std::uint64_t>(record.end));
  key.second = record.left_out;
  return key;
}

Stack stack_of(const unwind::StackRecord& record, Places& places) {
  Stack stack;
  for (const unwind::FrameRecord& frame : record.frames) {
    stack.frames.push_back({.place = places.at(frame.pc), .found_by = frame.found_by});
  }
  stack.left_out = record.left_out;
  stack.left_out_behind = record.left_out_behind;
  stack.end = record.end;
  return stack;
}

}  // namespace

void join_stacks(const unwind::Stacks& stacks, const Modules& modules, Snapshot& snapshot) {
  Places places(stacks, modules, snapshot.places);
  const auto add = [&](const unwind::StackRecord& record) {
    snapshot.stacks.push_back(stack_of(record, places));
    return static_cast<std::uint32_t>(snapshot.stacks.size() - 1);
  };
  std::unordered_map<pid_t, Thread*> threads;
  for (Thread& thread : snapshot.threads) threads.emplace(thread.tid, &thread);
  std::unordered_map<std::uint64_t, Fiber*> fibers;
  for (Fiber& fiber : snapshot.fibers) fibers.emplace(fiber.address, &fiber);
  std::map<StackKey, std::uint32_t> known;  // records of fibers' stacks
  for (const unwind::StackRecord& record : stacks.stacks) {
    if (record.frames.empty()) continue;
    const auto thread = record.thread == 0 ? threads.end() : threads.find(record.thread);
    if (thread != threads.end()) thread->second->stack = add(record);
    if (record.thread != 0) continue;
    const auto fiber = fibers.find(record.fiber);
    if (fiber == fibers.end()) continue;
    const auto [at, is_new] = known.try_emplace(key_of(record), 0);
    if (is_new) at->second = add(record);
    fiber->second->stack = at->second;
  }
}

}  // namespace heapattach::snapshot
