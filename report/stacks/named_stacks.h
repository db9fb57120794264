#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "report/stacks/crystal_library.h"
#include "report/stacks/stack_report.h"
#include "symbols/elf/module.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::stacks {

// The origin of code: a library, or the program's own.
struct CodeSources {
  const Modules& modules;
  const CrystalLibrary& crystal;
};

// Whether a function of the program itself is its own code: in a Crystal program, any function
// outside the standard library; in another, any function that was not linked from a library.
[[nodiscard]] bool is_own_code(std::string_view function,
                               std::string_view file,
                               const CrystalLibrary& library);

// Adds stacks to a report, with the names of their functions and modules. They share places.
class StackAdder {
 public:
  StackAdder(const unwind::Stacks& from, const CodeSources& sources, StackReport& report)
      : from_(from), sources_(sources), report_(report) {}

  // The number of the stack in the report.
  std::uint32_t add(const unwind::StackRecord& record);

 private:
  std::uint32_t place_at(RemoteAddr pc);

  const unwind::Stacks& from_;
  CodeSources sources_;
  StackReport& report_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // by instruction
};

// The innermost function on a stack that is the program's own.
[[nodiscard]] std::optional<unwind::Place> own_place(const unwind::StackRecord& record,
                                                     const unwind::Stacks& stacks,
                                                     const CodeSources& sources);

// "Blog::publish"; "-> in Blog::publish" for a proc.
[[nodiscard]] std::string function_text(const unwind::Place& place);

// "Blog::publish (blog.cr:34)"; without the line if that belongs to another function.
[[nodiscard]] std::string place_text(const unwind::Place& place);

// Groups fibers whose stacks are at the same instructions. `records` are the fibers' stacks, null
// if there is none; such fibers are in a group without frames. Those on threads are in no group.
[[nodiscard]] std::vector<FiberGroup> group_fibers(
    const std::vector<FiberSeen>& fibers,
    const std::vector<const unwind::StackRecord*>& records,
    StackAdder& stacks);

// The largest first, the runtime's own last.
void sort_groups(const std::vector<FiberSeen>& fibers, std::vector<FiberGroup>& groups);

}  // namespace heapattach::stacks
