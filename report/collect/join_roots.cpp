#include "report/collect/join_roots.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "attach/arch/register_names.h"
#include "report/model/collector_variable.h"
#include "symbols/cxx/demangle.h"
#include "symbols/elf/machine.h"
#include "symbols/heap/roots.h"
#include "symbols/types/member_path.h"

namespace heapattach::snapshot {

namespace {

RootKind kind_of(heap::RootKind kind) {
  switch (kind) {
    case heap::RootKind::Global: return RootKind::Global;
    case heap::RootKind::Stack: return RootKind::Stack;
    case heap::RootKind::Register: return RootKind::Register;
    case heap::RootKind::Fiber: return RootKind::Fiber;
    case heap::RootKind::Uncollectable: return RootKind::Uncollectable;
    case heap::RootKind::Finalizer: return RootKind::Finalizer;
    case heap::RootKind::Kept: break;
  }
  return RootKind::Global;
}

// Names words in global variables.
class GlobalNames {
 public:
  explicit GlobalNames(const Target& target)
      : modules_(target.modules),
        types_(target.types),
        of_owner_(target.heaps.front()->variables(target.modules)) {
    for (const types::Variable& variable : types_.globals) {
      type_at_.try_emplace(variable.address.value, variable.type);
    }
  }

  void name(RemoteAddr at, Root& root) const {
    const Module* module = modules_.find(at);
    if (module == nullptr) return;
    root.module = module->name();
    const auto symbol = module->symbol_at(at);
    if (is_of_owner(at)) {
      root.symbol = collector_variable(symbol ? symbol->name : std::string_view());
      return;
    }
    if (!symbol) return;
    const bool is_mangled = symbol->name.starts_with("_Z");
    root.symbol = is_mangled ? cxx::demangled(symbol->name) : std::string(symbol->name);
    const auto type = type_at_.find(symbol->address.value);
    if (type == type_at_.end()) return;
    const std::string path =
        types::member_path(types_, type->second, at.value - symbol->address.value);
    if (!path.empty()) root.variable = root.symbol + path;
  }

 private:
  [[nodiscard]] bool is_of_owner(RemoteAddr at) const {
    const auto after = std::partition_point(of_owner_.begin(), of_owner_.end(),
                                            [&](const Range& range) { return range.start <= at; });
    return after != of_owner_.begin() && std::prev(after)->contains(at);
  }

  const Modules& modules_;
  const types::TypeModel& types_;
  std::vector<Range> of_owner_;  // the variables of the heap's owner, sorted
  // The type of the variable that starts at an address.
  std::unordered_map<std::uint64_t, types::TypeRef> type_at_;
};

void take(std::optional<FrameFinder::Found> found, Root& root) {
  if (!found) return;
  root.frame = found->frame;
  root.variable = std::move(found->variable);
  root.inlined = found->inlined;
  root.is_below_stack_pointer = found->is_below;
}

// Sets the frame and the variable of a root on a stack. If a fiber runs on a thread, its stack is
// recorded as the thread's.
void name_frame(const RootSources& from, const heap::RootRange& range, RemoteAddr at, Root& root) {
  const auto word = from.held.capture.read_as<std::uint64_t>(at);
  if (!word) return;
  if (range.thread != 0) root.thread = range.thread;
  take(from.frames.at(range.thread, range.thread != 0 ? 0 : range.fiber, at, *word), root);
}

// Adds the roots of one heap.
class RootList {
 public:
  // Adds only roots that point to one of `wanted` or, if that is null, to any listed object.
  RootList(const RootSources& from,
           const GlobalNames& globals,
           const heap::ObjectSet* wanted,
           Snapshot& snapshot)
      : from_(from),
        heap_(*from.traced.heap),
        globals_(globals),
        wanted_(wanted),
        snapshot_(snapshot) {}

  void add_words(std::span<const heap::RootRange> ranges) {
    heap::for_each_root(heap_, from_.held.capture, ranges,
                        [this](const heap::RootRange& range, RemoteAddr at, heap::ObjectRef to) {
                          add_word(range, at, to);
                        });
  }

  void add_registers(const FrozenThread& thread) {
    const std::uint16_t machine = machine_of(from_.target.modules);
    add_registers(thread, register_names(machine), thread.registers->general);
  }

  // Adds vector registers, which the collector does not scan.
  void add_vector_registers(const FrozenThread& thread) {
    for (const std::uint64_t word : thread.vector_registers) {
      const auto to = heap_.resolve(word, heap::Heap::From::Stack);
      if (to) add(in_register(thread, "(vector register)"), *to);
    }
  }

  void add_odd(const std::vector<heap::OddReference>& references) {
    for (const heap::OddReference& one : references) {
      Root root;
      root.kind = RootKind::Global;
      if (from_.held.map.find(one.at) != nullptr) root.address = one.at.value;
      root.symbol = one.form;
      add(std::move(root), one.to);
    }
  }

  void add_objects(RootKind kind, const std::vector<heap::ObjectRef>& objects) {
    for (const heap::ObjectRef ref : objects) {
      Root root;
      root.kind = kind;
      add(std::move(root), ref);
    }
  }

  // Adds as roots the words of an object that is not listed.
  void add_words_of(heap::ObjectRef garbage) {
    if (from_.order.index_of(garbage)) return;
    heap_.for_each_edge(garbage, [&](std::uint64_t offset_words, heap::ObjectRef to) {
      Root root;
      root.kind = RootKind::CollectorGarbage;
      root.address = (heap_.address(garbage) + offset_words * 8).value;
      add(std::move(root), to);
    });
  }

 private:
  void add_registers(const FrozenThread& thread,
                     std::span<const char* const> names,
                     std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < std::min(names.size(), words.size()); ++i) {
      const auto to = heap_.resolve(words[i], heap::Heap::From::Stack);
      if (!to) continue;
      Root root = in_register(thread, names[i]);
      take(from_.frames.in_register(thread.tid, words[i]), root);
      add(std::move(root), *to);
    }
  }

  static Root in_register(const FrozenThread& thread, const char* name) {
    Root root;
    root.kind = RootKind::Register;
    root.thread = thread.tid;
    root.symbol = name;
    return root;
  }

  void add_word(const heap::RootRange& range, RemoteAddr at, heap::ObjectRef to) {
    if (!is_wanted(to)) return;
    Root root;
    root.kind = kind_of(range.kind);
    if (range.kind != heap::RootKind::Kept) root.address = at.value;
    if (range.kind == heap::RootKind::Stack) root.thread = range.thread;
    if (range.kind == heap::RootKind::Fiber) root.fiber = range.fiber;
    if (range.kind == heap::RootKind::Global) globals_.name(at, root);
    // Variables of a module whose initial value is zero may be in anonymous memory.
    if (root.module.empty() && !range.name.empty()) root.symbol = range.name;
    if (root.thread || root.fiber) name_frame(from_, range, at, root);
    add(std::move(root), to);
  }

  [[nodiscard]] bool is_wanted(heap::ObjectRef to) const {
    return wanted_ == nullptr || wanted_->contains(heap_.number(to));
  }

  void add(Root root, heap::ObjectRef to) {
    const auto index = from_.order.index_of(to);
    if (!index || !is_wanted(to)) return;
    root.to = *index;
    snapshot_.roots.push_back(std::move(root));
  }

  const RootSources& from_;
  const heap::Heap& heap_;
  const GlobalNames& globals_;
  const heap::ObjectSet* wanted_;
  Snapshot& snapshot_;
};

}  // namespace

void join_roots(const RootSources& from, Snapshot& snapshot) {
  const GlobalNames globals(from.target);
  const heap::LiveSet& found = from.traced.found;
  const auto& beside = from.traced.beside;
  RootList roots(from, globals, beside ? &found.live : nullptr, snapshot);
  roots.add_words(found.ranges);
  for (const FrozenThread& thread : found.threads) {
    roots.add_registers(thread);
    if (from.target.collected() == nullptr) roots.add_vector_registers(thread);
  }
  roots.add_odd(found.odd);
  roots.add_objects(RootKind::Uncollectable, found.uncollectable);
  roots.add_objects(RootKind::CollectorTable, found.tables);
  roots.add_objects(RootKind::Finalizer, found.finalizable);
  if (const auto& stack = from.traced.signal_stack) {
    RootList(from, globals, nullptr, snapshot).add_objects(RootKind::SignalStack, {*stack});
  }
  if (!beside) return;
  RootList of_malloc(from, globals, &beside->live, snapshot);
  of_malloc.add_words(beside->ranges);
  of_malloc.add_odd(beside->odd);
  for (const FrozenThread& thread : beside->threads) {
    of_malloc.add_registers(thread);
    of_malloc.add_vector_registers(thread);
  }
  for (const heap::ObjectRef ref : from.traced.garbage()) of_malloc.add_words_of(ref);
}

}  // namespace heapattach::snapshot
