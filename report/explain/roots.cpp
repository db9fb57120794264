#include "report/explain/roots.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/graph/telling_roots.h"

namespace heapattach::explain {

namespace {

using snapshot::Root;
using snapshot::RootKind;
using snapshot::Snapshot;

int rank_of(const Root& root) {
  switch (root.kind) {
    case RootKind::Global: return root.symbol.empty() ? 1 : 0;
    case RootKind::ThreadLocal: return 2;
    case RootKind::Uncollectable: return 3;
    case RootKind::Fiber: return 4;
    case RootKind::Stack: return 5;
    case RootKind::Register: return 6;
    case RootKind::Finalizer: return 7;
  }
  return 8;
}

std::string thread_in_words(const Snapshot& snapshot, const Root& root) {
  if (!root.thread) return "a thread";
  for (const snapshot::Thread& thread : snapshot.threads) {
    if (thread.tid != *root.thread || thread.name.empty()) continue;
    return fmt::format("thread {} ({})", thread.tid, thread.name);
  }
  return fmt::format("thread {}", *root.thread);
}

std::string fiber_in_words(const Snapshot& snapshot, const Root& root) {
  if (!root.fiber) return "a fiber";
  for (const snapshot::Fiber& fiber : snapshot.fibers) {
    if (fiber.address != *root.fiber || fiber.name.empty()) continue;
    return fmt::format("fiber {} ({:#x})", fiber.name, fiber.address);
  }
  return fmt::format("fiber {:#x}", *root.fiber);
}

std::string global_in_words(const Root& root) {
  std::string text = root.symbol.empty() ? "global memory" : "global " + root.symbol;
  if (!root.module.empty()) text += " of " + root.module;
  return text;
}

}  // namespace

RootOrder::RootOrder(const Snapshot& snapshot) : numbers(graph::telling_roots(snapshot)) {
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank_of(snapshot.roots[a]) < rank_of(snapshot.roots[b]);
  });
  objects = graph::objects_of(snapshot, numbers);
}

std::string root_in_words(const Snapshot& snapshot, const Root& root) {
  switch (root.kind) {
    case RootKind::Global: {
      const std::string text = global_in_words(root);
      return root.symbol.empty() ? fmt::format("{} at {:#x}", text, root.address) : text;
    }
    case RootKind::ThreadLocal: return "a thread's own variable";
    case RootKind::Uncollectable: return "allocated as uncollectable";
    case RootKind::Finalizer: return "kept for a finalizer";
    case RootKind::Register:
      return fmt::format("register {} of {}", root.symbol, thread_in_words(snapshot, root));
    case RootKind::Stack:
      return fmt::format("stack of {}{} at {:#x}", thread_in_words(snapshot, root),
                         root.fiber ? ", " + fiber_in_words(snapshot, root) : "", root.address);
    case RootKind::Fiber:
      return fmt::format("stack of {} at {:#x}", fiber_in_words(snapshot, root), root.address);
  }
  return "a root";
}

std::string root_kind_in_words(const Root& root) {
  switch (root.kind) {
    case RootKind::Global: return global_in_words(root);
    case RootKind::ThreadLocal: return "threads' own variables";
    case RootKind::Uncollectable: return "uncollectable objects";
    case RootKind::Finalizer: return "finalizers";
    case RootKind::Register: return "registers of threads";
    case RootKind::Stack: return "stacks of threads";
    case RootKind::Fiber: return "stacks of fibers";
  }
  return "roots";
}

}  // namespace heapattach::explain
