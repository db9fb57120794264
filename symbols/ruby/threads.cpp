#include "symbols/ruby/threads.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "symbols/ruby/frames.h"

namespace heapattach::ruby {

namespace {

constexpr std::size_t kMostThreads = 100'000;
constexpr std::size_t kMostFibers = 64;          // that resumed each other
constexpr std::uint64_t kDescriptorThread = 16;  // struct waiting_fd: a list node first
constexpr std::uint64_t kDescriptor = 24;

// rb_fiber_t.status
constexpr std::uint32_t kStatus = 3;
constexpr std::uint32_t kSuspended = 2;

Error out_of_order(std::string_view what) {
  return {ErrorKind::Malformed, fmt::format("Ruby's threads are not in order: {}", what)};
}

class Reader {
 public:
  Reader(const Machine& machine, const MemoryReader& memory)
      : machine_(machine), form_(*machine.layout), values_(memory), frames_(machine, values_) {}

  Result<std::vector<Thread>> read(std::span<const Value> fibers) && {
    const auto ractors =
        HA_TRY(nodes_of(machine_.vm + form_.vm.ractors, "the list of ractors is broken"));
    if (ractors.empty()) return out_of_order("there is no ractor");
    for (const std::uint64_t node : ractors) HA_TRY(read_ractor(node - form_.ractor.node));
    find_mutex_owners();
    for (const Value fiber : fibers) add_suspended(fiber);
    HA_TRY(read_descriptors());
    return std::move(threads_);
  }

 private:
  // The nodes of one of Ruby's lists, from its head on.
  Result<std::vector<std::uint64_t>> nodes_of(std::uint64_t head, std::string_view otherwise) {
    std::vector<std::uint64_t> nodes;
    std::set<std::uint64_t> seen;
    for (auto node = values_.word(head); node != head; node = values_.word(*node)) {
      const bool is_good = node && is_reference(*node) && seen.insert(*node).second;
      if (!is_good || nodes.size() >= kMostThreads) return out_of_order(otherwise);
      nodes.push_back(*node);
    }
    return nodes;
  }

  Result<void> read_ractor(std::uint64_t ractor) {
    const auto nodes =
        HA_TRY(nodes_of(ractor + form_.ractor.threads, "the list of a ractor's threads is broken"));
    const auto count = values_.as<std::uint32_t>(ractor + form_.ractor.thread_count);
    if (count != nodes.size()) return out_of_order("a ractor has another number of threads");
    const auto owner = values_.word(ractor + form_.ractor.lock_owner);
    for (const std::uint64_t node : nodes) HA_TRY(read_thread(node, owner == node));
    return {};
  }

  Result<void> read_thread(std::uint64_t address, bool has_lock) {
    const auto& form = form_.thread;
    const auto context = values_.word(address + form.context);
    if (values_.word(address + form.vm) != machine_.vm || !context || !is_reference(*context) ||
        values_.word(*context + form_.context.thread) != address) {
      return out_of_order("a thread is not of its machine");
    }
    Thread thread;
    thread.address = address;
    thread.has_lock = has_lock;
    thread.object = values_.word(address + form.object).value_or(0);
    thread.tid = values_.as<std::int32_t>(address + form.tid).value_or(0);
    thread.is_main = values_.word(machine_.vm + form_.vm.main_thread) == address;
    thread.is_blocking = values_.word(address + form.blocking).value_or(0) != 0;
    thread.name = values_.text(values_.word(address + form.name).value_or(0)).value_or("");
    const Value mutex = values_.word(address + form.awaited_mutex).value_or(0);
    thread.mutex = is_reference(mutex) ? mutex : 0;
    const std::size_t index = threads_.size();
    std::uint64_t fiber = values_.word(*context + form_.context.fiber).value_or(0);
    std::uint64_t at = *context;
    while (thread.fibers.size() < kMostFibers) {
      // Each counts once: a broken chain may be a circle.
      if (is_reference(fiber) && !thread_of_fiber_.try_emplace(fiber, index).second) break;
      thread.fibers.push_back(frames_.read(at));
      thread.fibers.back().fiber = fiber;
      if (!is_reference(fiber)) break;
      fiber = values_.word(fiber + form_.fiber.previous).value_or(0);
      if (!is_reference(fiber)) break;
      at = fiber + form_.fiber.context;
    }
    threads_.push_back(std::move(thread));
    return {};
  }

  // A Mutex references the fiber that holds it, and a fiber its thread.
  void find_mutex_owners() {
    for (Thread& thread : threads_) {
      const auto mutex = thread.mutex == 0 ? std::nullopt : values_.slot(thread.mutex);
      if (!mutex || mutex->kind() != Kind::Data || !is_reference(mutex->data())) continue;
      const auto fiber = values_.word(mutex->data());
      if (!fiber || !is_reference(*fiber)) continue;
      const auto owner =
          values_.word(*fiber + form_.fiber.context + form_.context.thread).value_or(0);
      const auto found = std::find_if(threads_.begin(), threads_.end(),
                                      [&](const Thread& one) { return one.address == owner; });
      if (found == threads_.end()) continue;
      thread.mutex_owner = static_cast<std::size_t>(found - threads_.begin());
      if (&*found == &thread) {  // it has just got it
        thread.mutex = 0;
        thread.mutex_owner.reset();
      }
    }
  }

  void add_suspended(Value object) {
    const auto& form = form_.fiber;
    const auto slot = values_.slot(object);
    if (!slot || slot->kind() != Kind::Data || !is_reference(slot->data())) return;
    const std::uint64_t fiber = slot->data();
    const auto status = values_.as<std::uint32_t>(fiber + form.status);
    const bool is_suspended = status && (*status & kStatus) == kSuspended;
    if (values_.word(fiber + form.object) != object || !is_suspended) return;
    const auto owner = values_.word(fiber + form.context + form_.context.thread);
    const auto thread = std::find_if(threads_.begin(), threads_.end(),
                                     [&](const Thread& one) { return one.address == owner; });
    if (thread == threads_.end()) return;
    const auto index = static_cast<std::size_t>(thread - threads_.begin());
    if (!thread_of_fiber_.try_emplace(fiber, index).second) return;
    thread->suspended.push_back(frames_.read(fiber + form.context));
    thread->suspended.back().fiber = fiber;
  }

  Result<void> read_descriptors() {
    const auto waiting = HA_TRY(nodes_of(machine_.vm + form_.vm.waiting_descriptors,
                                         "the list of awaited descriptors is broken"));
    for (const std::uint64_t node : waiting) {
      const auto owner = values_.word(node + kDescriptorThread);
      const auto descriptor = values_.as<std::int32_t>(node + kDescriptor);
      for (Thread& thread : threads_) {
        if (owner == thread.address) thread.descriptor = descriptor;
      }
    }
    return {};
  }

  const Machine& machine_;
  const Layout& form_;
  Values values_;
  FrameReader frames_;
  std::vector<Thread> threads_;
  std::unordered_map<std::uint64_t, std::size_t> thread_of_fiber_;
};

}  // namespace

Result<std::vector<Thread>> read_threads(const Machine& machine,
                                         const MemoryReader& memory,
                                         std::span<const Value> fibers) {
  return Reader(machine, memory).read(fibers);
}

}  // namespace heapattach::ruby
