#include "report/stacks/named_stacks.h"

#include <algorithm>
#include <map>

namespace heapattach::stacks {

NamedStack named(const stack::StackRecord& record,
                 const stack::Stacks& stacks,
                 const Modules& modules) {
  NamedStack result;
  result.left_out = record.left_out;
  result.end = record.end;
  for (std::size_t i = 0; i < record.frames.size(); ++i) {
    if (record.left_out > 0 && i == record.left_out_behind) {
      result.left_out_behind = result.frames.size();
    }
    const stack::FrameRecord& frame = record.frames[i];
    NamedFrame line;
    line.pc = frame.pc;
    line.found_by = frame.found_by;
    if (const Module* const module = modules.find(frame.pc)) {
      line.module = module->name();
      line.offset = frame.pc.value - module->bias();
    }
    const auto places = stacks.places_of(frame.pc);
    if (places.empty()) result.frames.push_back(line);
    for (const stack::Place& place : places) {
      line.function = place.function;
      line.file = place.file;
      line.line = place.line;
      line.column = place.column;
      line.is_inlined = place.is_inlined;
      result.frames.push_back(line);
    }
  }
  return result;
}

std::vector<FiberGroup> group_fibers(const std::vector<FiberSeen>& fibers,
                                     const std::vector<const stack::StackRecord*>& records,
                                     const stack::Stacks& stacks,
                                     const Modules& modules) {
  std::map<std::vector<std::uint64_t>, std::size_t> by_stack;
  std::vector<FiberGroup> groups;
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    if (fibers[i].thread) continue;
    std::vector<std::uint64_t> key;
    if (records[i] != nullptr) {
      key.push_back(records[i]->left_out);
      for (const stack::FrameRecord& frame : records[i]->frames) key.push_back(frame.pc.value);
    }
    const auto [at, is_new] = by_stack.try_emplace(std::move(key), groups.size());
    if (is_new) {
      groups.emplace_back();
      if (records[i] != nullptr) groups.back().stack = named(*records[i], stacks, modules);
    }
    groups[at->second].fibers.push_back(i);
  }
  const auto rank = [&](const FiberGroup& group) {
    return std::pair(!fibers[group.fibers.front()].is_of_runtime, group.fibers.size());
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const FiberGroup& a, const FiberGroup& b) { return rank(a) > rank(b); });
  return groups;
}

}  // namespace heapattach::stacks
