#include "symbols/ruby/threads.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "symbols/ruby/frames.h"
#include "symbols/ruby/list.h"
#include "symbols/ruby/lock_queue.h"

namespace heapattach::ruby {

namespace {

constexpr std::size_t kMostFibers = 64;          // in a chain of fibers that resumed each other
constexpr std::uint64_t kDescriptorThread = 16;  // struct waiting_fd: a list node first
constexpr std::uint64_t kDescriptor = 24;

// rb_fiber_t.status
constexpr std::uint32_t kStatus = 3;
constexpr std::uint32_t kSuspended = 2;

Error out_of_order(const Machine& machine, std::string_view why) {
  return {ErrorKind::Malformed, cannot_read("threads", machine.release, why)};
}

class Reader {
 public:
  Reader(const Machine& machine, const MemoryReader& memory, std::span<const NativeThread> natives)
      : machine_(machine),
        form_(*machine.layout),
        natives_(natives),
        values_(memory, form_.values),
        frames_(machine, values_) {}

  Result<Threads> read(std::span<const Value> fibers,
                       std::chrono::steady_clock::time_point fibers_until) && {
    if (!machine_.no_threads.empty()) return out_of_order(machine_, machine_.no_threads);
    const auto ractors =
        HA_TRY(nodes_of(machine_.vm + form_.vm.ractors, "the list of ractors is broken"));
    if (ractors.empty()) return out_of_order(machine_, "there is no ractor");
    for (const std::uint64_t node : ractors) HA_TRY(read_ractor(node - form_.ractor.node));
    find_mutex_owners();
    HA_TRY(read_descriptors());
    Threads found;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      if (std::chrono::steady_clock::now() >= fibers_until) {
        found.unread_fibers = fibers.size() - i;
        break;
      }
      add_suspended(fibers[i]);
    }
    found.all = std::move(threads_);
    return found;
  }

 private:
  Result<std::vector<std::uint64_t>> nodes_of(std::uint64_t head, std::string_view otherwise) {
    auto nodes = list_nodes(values_, head, kMostThreads);
    if (!nodes) return out_of_order(machine_, otherwise);
    return *std::move(nodes);
  }

  Result<void> read_ractor(std::uint64_t ractor) {
    const auto nodes =
        HA_TRY(nodes_of(ractor + form_.ractor.threads, "the list of a ractor's threads is broken"));
    const auto count = values_.as<std::uint32_t>(ractor + form_.ractor.thread_count);
    if (count != nodes.size())
      return out_of_order(machine_, "a ractor's thread count differs from its list");
    const auto place = form_.ractor.lock_owner;
    const std::uint64_t owner = place == 0 ? 0 : values_.word(ractor + place).value_or(0);
    for (const std::uint64_t node : nodes) HA_TRY(read_thread(ractor, node, owner == node));
    // Without a holder, the first one is about to take the lock.
    if (owner == 0) return {};
    for (const std::uint64_t waiting : threads_in_queue(values_, ractor + place, nodes)) {
      if (const auto index = thread_at(waiting)) threads_[*index].wants_lock = waiting != owner;
    }
    return {};
  }

  Result<void> read_thread(std::uint64_t ractor, std::uint64_t address, bool has_lock) {
    const auto& form = form_.thread;
    const auto context = values_.word(address + form.context);
    if (values_.word(address + form.vm) != machine_.vm || !context || !is_reference(*context) ||
        values_.word(*context + form_.context.thread) != address) {
      return out_of_order(machine_, "a thread does not belong to this virtual machine");
    }
    Thread thread;
    thread.address = address;
    thread.ractor = ractor;
    thread.has_lock = has_lock;
    thread.object = values_.word(address + form.object).value_or(0);
    const auto native =
        form.native == 0 ? std::optional(address) : values_.word(address + form.native);
    if (native) thread.tid = values_.as<std::int32_t>(*native + form.tid).value_or(0);
    thread.native = native_of(address, native.value_or(0));
    thread.is_main = values_.word(machine_.vm + form_.vm.main_thread) == address;
    thread.is_blocking = values_.word(address + form.blocking).value_or(0) != 0;
    if (form.name != 0) {
      thread.name = values_.text(values_.word(address + form.name).value_or(0)).value_or("");
    }
    const Value mutex = values_.word(address + form.awaited_mutex).value_or(0);
    const auto slot = is_reference(mutex) ? values_.slot(mutex) : std::nullopt;
    thread.mutex = slot && slot->kind() == Kind::Data ? mutex : 0;
    const std::size_t index = threads_.size();
    std::uint64_t fiber = values_.word(*context + form_.context.fiber).value_or(0);
    std::uint64_t at = *context;
    while (thread.fibers.size() < kMostFibers) {
      // Stops at a fiber that was seen before: a corrupt chain may be a circle.
      if (is_reference(fiber) && !thread_of_fiber_.try_emplace(fiber, index).second) break;
      thread.fibers.push_back(frames_.read(at));
      thread.fibers.back().fiber = fiber;
      if (!is_reference(fiber)) break;
      fiber = values_.word(fiber + fiber_form(fiber).previous).value_or(0);
      if (!is_reference(fiber) || !is_fiber_or_none(fiber)) break;
      at = fiber + form_.fiber.context;
    }
    by_address_.emplace(address, index);
    threads_.push_back(std::move(thread));
    return {};
  }

  // The native thread that executes a thread. Its pthread_t is among the words of the thread, or of
  // the structure for its native thread.
  [[nodiscard]] std::optional<pid_t> native_of(std::uint64_t thread, std::uint64_t native) const {
    constexpr std::uint64_t kOfThread = 128;
    constexpr std::uint64_t kOfNative = 64;
    auto words = values_.words_in({RemoteAddr{thread}, kOfThread});
    if (is_reference(native) && native != thread) {
      const auto more = values_.words_in({RemoteAddr{native}, kOfNative});
      words.insert(words.end(), more.begin(), more.end());
    }
    for (const NativeThread& one : natives_) {
      if (std::find(words.begin(), words.end(), one.pointer) != words.end()) return one.tid;
    }
    return std::nullopt;
  }

  struct FiberForm {
    std::uint64_t previous = 0;
    std::uint64_t status = 0;
  };
  // A fiber that the program made references the Proc that it executes, and then the fiber that
  // resumed it, the one that it resumed, and its status. The offsets are learned from the first
  // such fiber.
  const FiberForm& fiber_form(std::uint64_t fiber) {
    constexpr std::uint64_t kLeast = 200;  // of a context
    constexpr std::uint64_t kMost = 1200;
    if (found_form_) return *found_form_;
    const auto words =
        values_.words_in({RemoteAddr{fiber + form_.fiber.context + kLeast}, kMost - kLeast});
    for (std::size_t i = 0; i + 3 < words.size(); ++i) {
      const bool may_be = is_fiber_or_none(words[i + 1]) && is_fiber_or_none(words[i + 2]) &&
                          static_cast<std::uint32_t>(words[i + 3]) < 64;
      if (!may_be || !is_proc(words[i])) continue;
      const std::uint64_t proc = form_.fiber.context + kLeast + i * 8;
      return found_form_.emplace(FiberForm{proc + 8, proc + 24});
    }
    return usual_form_;
  }
  [[nodiscard]] bool is_proc(Value value) const {
    const auto slot = values_.slot(value);
    if (!slot || slot->kind() != Kind::Data || slot->data_type(form_.values) == 0) return false;
    const auto name = values_.word(slot->data_type(form_.values));
    return name && values_.c_text(*name) == "proc";
  }
  [[nodiscard]] bool is_fiber_or_none(std::uint64_t fiber) const {
    if (fiber == 0) return true;
    if (!is_reference(fiber)) return false;
    const std::uint64_t context = fiber + form_.fiber.context;
    return values_.word(context + form_.context.fiber) == fiber;
  }

  [[nodiscard]] std::optional<std::size_t> thread_at(std::optional<std::uint64_t> address) const {
    const auto found = address ? by_address_.find(*address) : by_address_.end();
    return found == by_address_.end() ? std::nullopt : std::optional(found->second);
  }

  // A Mutex references the fiber that holds it, and a fiber references its thread. Since 4.0, a
  // Mutex has the number of that fiber, or 0, and references the thread.
  void find_mutex_owners() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      const auto mutex = thread.mutex == 0 ? std::nullopt : values_.slot(thread.mutex);
      if (!mutex || mutex->kind() != Kind::Data ||
          !is_reference(mutex->data(thread.mutex, form_.values))) {
        continue;
      }
      const std::uint64_t structure = mutex->data(thread.mutex, form_.values);
      const std::uint64_t fiber = values_.word(structure).value_or(0);
      if (fiber == 0) continue;
      thread.mutex_owner = thread_at(values_.word(structure + 8));
      if (!thread.mutex_owner && is_reference(fiber)) {
        thread.mutex_owner =
            thread_at(values_.word(fiber + form_.fiber.context + form_.context.thread));
      }
      if (thread.mutex_owner && is_reference(fiber)) thread.mutex_fiber = fiber;
      if (thread.mutex_owner == i) {  // it has just acquired the Mutex
        thread.mutex = 0;
        thread.mutex_owner.reset();
      }
    }
  }

  void add_suspended(Value object) {
    const auto& form = form_.fiber;
    const auto slot = values_.slot(object);
    if (!slot || slot->kind() != Kind::Data || !is_reference(slot->data(object, form_.values)))
      return;
    const std::uint64_t fiber = slot->data(object, form_.values);
    const auto status = values_.as<std::uint32_t>(fiber + fiber_form(fiber).status);
    const bool is_suspended = status && (*status & kStatus) == kSuspended;
    if (values_.word(fiber + form.object) != object || !is_suspended) return;
    const auto index = thread_at(values_.word(fiber + form.context + form_.context.thread));
    if (!index || !thread_of_fiber_.try_emplace(fiber, *index).second) return;
    threads_[*index].suspended.push_back(frames_.read(fiber + form.context));
    threads_[*index].suspended.back().fiber = fiber;
  }

  Result<void> read_descriptors() {
    if (form_.vm.waiting_descriptors == 0) return {};
    const auto waiting = HA_TRY(nodes_of(machine_.vm + form_.vm.waiting_descriptors,
                                         "the list of awaited descriptors is broken"));
    for (const std::uint64_t node : waiting) {
      const auto thread = thread_at(values_.word(node + kDescriptorThread));
      if (thread) threads_[*thread].descriptor = values_.as<std::int32_t>(node + kDescriptor);
    }
    return {};
  }

  const Machine& machine_;
  const Layout& form_;
  std::span<const NativeThread> natives_;
  Values values_;
  FrameReader frames_;
  std::vector<Thread> threads_;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;
  std::unordered_map<std::uint64_t, std::size_t> thread_of_fiber_;
  FiberForm usual_form_{form_.fiber.previous, form_.fiber.status};
  std::optional<FiberForm> found_form_;
};

}  // namespace

Result<Threads> read_threads(const Machine& machine,
                             const MemoryReader& memory,
                             std::span<const NativeThread> natives,
                             std::span<const Value> fibers,
                             std::chrono::steady_clock::time_point fibers_until) {
  return Reader(machine, memory, natives).read(fibers, fibers_until);
}

}  // namespace heapattach::ruby
