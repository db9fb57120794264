#include "report/collect/join_roots.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "symbols/cxx/demangle.h"
#include "symbols/types/member_path.h"

namespace heapattach::snapshot {

namespace {

// In the order of Registers::general.
constexpr std::array<const char*, 15> kRegisterNames = {"rax", "rbx", "rcx", "rdx", "rsi",
                                                        "rdi", "rbp", "r8",  "r9",  "r10",
                                                        "r11", "r12", "r13", "r14", "r15"};

RootKind kind_of(boehm::RootKind kind) {
  switch (kind) {
    case boehm::RootKind::Global: return RootKind::Global;
    case boehm::RootKind::Stack: return RootKind::Stack;
    case boehm::RootKind::Register: return RootKind::Register;
    case boehm::RootKind::Fiber: return RootKind::Fiber;
    case boehm::RootKind::Uncollectable: return RootKind::Uncollectable;
    case boehm::RootKind::Finalizer: return RootKind::Finalizer;
  }
  return RootKind::Global;
}

// Names words in global variables.
class GlobalNames {
 public:
  explicit GlobalNames(const Target& target) : modules_(target.modules), types_(target.types) {
    for (const types::Variable& variable : types_.globals) {
      type_at_.try_emplace(variable.address.value, variable.type);
    }
  }

  void name(RemoteAddr at, Root& root) const {
    const Module* module = modules_.find(at);
    if (module == nullptr) return;
    root.module = module->name();
    const auto symbol = module->symbol_at(at);
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
  const Modules& modules_;
  const types::TypeModel& types_;
  std::unordered_map<std::uint64_t, types::TypeRef> type_at_;  // of the variable that starts there
};

void take(std::optional<FrameFinder::Found> found, Root& root) {
  if (!found) return;
  root.frame = found->frame;
  root.variable = std::move(found->variable);
  root.inlined = found->inlined;
  root.is_below_stack_pointer = found->is_below;
}

// A fiber that runs on a thread has the thread's stack.
void name_frame(const RootSources& from, const boehm::RootRange& range, RemoteAddr at, Root& root) {
  const auto word = from.held.capture.read_as<std::uint64_t>(at);
  if (!word) return;
  if (range.thread != 0) root.thread = range.thread;
  take(from.frames.at(range.thread, range.thread != 0 ? 0 : range.fiber, at, *word), root);
}

}  // namespace

void join_roots(const RootSources& from, Snapshot& snapshot) {
  const auto add = [&](Root root, boehm::ObjectRef to) {
    const auto index = from.order.index_of(to);
    if (!index) return;
    root.to = *index;
    snapshot.roots.push_back(std::move(root));
  };
  const GlobalNames globals(from.target);
  const auto add_word = [&](const boehm::RootRange& range, RemoteAddr at, boehm::ObjectRef to) {
    Root root;
    root.kind = kind_of(range.kind);
    root.address = at.value;
    if (range.kind == boehm::RootKind::Stack) root.thread = range.thread;
    if (range.kind == boehm::RootKind::Fiber) root.fiber = range.fiber;
    if (range.kind == boehm::RootKind::Global) globals.name(at, root);
    if (!range.name.empty()) root.symbol = range.name;
    if (root.thread || root.fiber) name_frame(from, range, at, root);
    add(std::move(root), to);
  };
  boehm::for_each_root(from.heap, from.held.capture, from.found.ranges, add_word);

  for (const FrozenThread& thread : from.found.threads) {
    for (std::size_t i = 0; i < kRegisterNames.size(); ++i) {
      const auto to = from.heap.resolve(thread.registers->general[i], boehm::Heap::From::Stack);
      if (!to) continue;
      Root root;
      root.kind = RootKind::Register;
      root.thread = thread.tid;
      root.symbol = kRegisterNames[i];
      take(from.frames.in_register(thread.tid, thread.registers->general[i]), root);
      add(std::move(root), *to);
    }
    // The collector does not look at them.
    if (!from.held.malloc) continue;
    for (const std::uint64_t word : thread.vector_registers) {
      const auto to = from.heap.resolve(word, boehm::Heap::From::Stack);
      if (!to) continue;
      Root root;
      root.kind = RootKind::Register;
      root.thread = thread.tid;
      root.symbol = "(vector register)";
      add(std::move(root), *to);
    }
  }
  const auto add_objects = [&](RootKind kind, const std::vector<boehm::ObjectRef>& objects) {
    for (const boehm::ObjectRef ref : objects) {
      Root root;
      root.kind = kind;
      add(std::move(root), ref);
    }
  };
  add_objects(RootKind::Uncollectable, from.found.uncollectable);
  add_objects(RootKind::Finalizer, from.found.tables);
  add_objects(RootKind::Finalizer, from.found.finalizable);
}

}  // namespace heapattach::snapshot
