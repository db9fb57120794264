#include "report/collect/take.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "report/collect/completeness.h"
#include "report/collect/generated_code.h"
#include "report/collect/header.h"
#include "report/collect/hold_heap.h"
#include "report/collect/join.h"
#include "report/collect/join_roots.h"
#include "report/collect/join_stacks.h"
#include "report/collect/join_values.h"
#include "report/collect/see_memory.h"
#include "report/collect/size_guesses.h"
#include "report/collect/target.h"
#include "report/collect/traced_heap.h"
#include "report/model/counts.h"
#include "report/text/human_bytes.h"
#include "symbols/heap/live_set.h"
#include "symbols/heap/object_allocators.h"
#include "symbols/unwind/stacks.h"

namespace heapattach::snapshot {

namespace {

constexpr std::uint64_t kMuchMemory = std::uint64_t{16} << 20;  // a lot for a process

// Adds the threads. Call this soon after the thaw, because it also asks the kernel what the threads
// wait for.
void join_threads(const Target& target,
                  const HeldHeap& held,
                  const unwind::Stacks& stacks,
                  const WaitReader* waits,
                  Snapshot& snapshot) {
  for (const FrozenThread& thread : held.freeze.threads) {
    snapshot.threads.push_back({thread.tid, thread.name, thread.state});
  }
  for (const crystal::FiberStack& fiber : held.fibers) {
    // A name is a String, which never changes. A literal is outside the captured memory, so it is
    // read from the target.
    std::string name = crystal::fiber_name(fiber, held.capture);
    if (name.empty()) name = crystal::fiber_name(fiber, target.memory);
    snapshot.fibers.push_back({fiber.object.value, std::move(name)});
  }
  if (waits != nullptr) waits->join(target, held, stacks, snapshot);
}

// Finds the frames on the program's stacks and their variables, in a worker. If the worker fails,
// only these are missing. Counts need only the variables.
unwind::Stacks find_stacks(const TakeOptions& options, Target& target, const HeldHeap& held) {
  unwind::StackLimits limits;
  limits.with_locals = !target.types.empty();
  limits.with_places = options.with_edges;
  limits.with_library_lines = false;
  if (!limits.with_locals && !limits.with_places) return {};
  limits.deadline = options.request.deadline;
  std::vector<unwind::GeneratedFunction> generated;
  if (target.runtimes.mono) {
    generated = generated_code(*target.runtimes.mono, held.freeze.threads, held.capture,
                               target.memory, held.map)
                    .functions;
  }
  auto found =
      unwind::walk_stacks(target.modules, target.types, held.capture,
                          {held.freeze.threads, held.fibers, &held.map, generated}, limits);
  if (!found) {
    options.request.note("no frames and no variables: " + found.error().message());
    return {};
  }
  for (const std::string& text : found->notes) options.request.note(text);
  return std::move(*found);
}

void note_copy(const Request& request, const HeldHeap& held) {
  request.note(fmt::format("copied {} blocks; {} threads were held for {:.1f} ms",
                           held.index().blocks.size(), held.freeze.threads.size(),
                           std::chrono::duration<double, std::milli>(held.freeze.pause).count()));
}

void add_guesses(const TracedHeap& traced, Header& header) {
  const heap::MarkedConservatively guessed = traced.found.guessed;
  if (guessed.objects > 0) header.marked_conservatively = {guessed.objects, guessed.bytes};
}

std::vector<types::Variable> variables_of(const Target& target, const unwind::Stacks& stacks) {
  std::vector<types::Variable> variables = target.types.globals;
  variables.insert(variables.end(), stacks.locals.begin(), stacks.locals.end());
  return variables;
}

// Adds rows for the objects whose types the data of a runtime show.
void name_objects(const HeldHeap& held,
                  const TracedHeap& traced,
                  const heap::ObjectSet& listed,
                  const Request& request,
                  Target& target) {
  const heap::ObjectSet of_collector = traced.of_collector(listed);
  runtimes::ObjectNames names = runtimes::name_objects(
      target.runtimes, *target.heaps.front(), traced.found.own,
      runtimes::HeapView(*traced.heap, of_collector, held.map, held.capture, target.memory));
  for (const std::string& text : names.warnings()) request.warn("warning: " + text);
  target.rows.add_named(std::move(names));
}

// The objects to list. Also finds how much has leaked, which reports show even if they list only
// live objects.
heap::ObjectSet find_listed(const TracedHeap& traced,
                            const heap::ObjectSet& live,
                            const TakeOptions& options,
                            Snapshot& snapshot) {
  if (are_collected(snapshot.heaps) && !options.with_unreachable) return live;
  heap::ObjectSet in_use = objects_in_use(*traced.heap, traced.found);
  join_leaked(*traced.heap, in_use, live, snapshot);
  if (options.with_unreachable) return in_use;
  return live;
}

// Lists the objects, or counts those that are alike, and adds the values that are wanted.
void join_contents(const JoinSources& sources,
                   const heap::ObjectSet& live,
                   const TakeOptions& options,
                   HeldHeap& held,
                   Snapshot& snapshot) {
  if (options.with_objects) {
    options.request.begin("listing objects and references");
    // Without references and texts, contents are no longer needed, and the list can use the copy's
    // memory.
    const bool needs_contents = options.with_edges || options.texts_only || options.with_contents;
    if (!needs_contents) held.capture.release();
    join_objects(sources, live, snapshot);
  } else {
    options.request.begin("counting objects");
    join_counts(sources, live, snapshot);
  }
  if (const std::uint64_t conflicts = sources.typing.conflicts(); conflicts > 0) {
    options.request.note(
        fmt::format("{} pointers contradict the types of their objects", conflicts));
  }
  if (options.texts_only) {
    join_texts(sources, options.text_bytes, snapshot);
  } else if (options.with_edges && options.value_bytes != 0) {
    join_values(sources, options.value_bytes, snapshot);
  }
}

// Adds the references between the objects, and those from stacks and roots.
void join_references(const JoinSources& sources,
                     const RootSources& from,
                     const unwind::Stacks& stacks,
                     const TakeOptions& options,
                     Snapshot& snapshot) {
  join_edges(sources, snapshot, options.leaked_edges);
  snapshot.header.typed = count_objects(snapshot).typed;
  join_stacks(stacks, from.target.modules, snapshot);
  join_roots(from, snapshot);
  const WaitReader* const waits = wait_reader(options);
  if (waits != nullptr) waits->join_objects(from.target, from.held, snapshot);
}

// Says which parts of the memory are malloc's, and who else has some.
void describe_memory(const Target& target, HeldHeap& held) {
  SeenMemory& seen = *held.memory;
  seen.objects_of = heap::find_object_allocator(target.modules);
  std::vector<Range> memory;
  for (std::size_t i = 0; i < held.heaps.size(); ++i) {
    if (target.heaps[i]->kind().is_collected) continue;
    const std::vector<Range>& own = held.heaps[i].own;
    memory.insert(memory.end(), own.begin(), own.end());
  }
  if (!memory.empty()) add_malloc(*target.process, std::move(memory), seen);
}

// Warns that most of the program's objects are not in malloc's heap, if malloc has the smaller part
// of its memory. A runtime that a program contains but hardly uses is not worth a warning. There is
// no warning for a user who asked for malloc's heap by name, or for reports on all memory, which
// say this themselves.
void warn_of_other_objects(const Target& target,
                           const TakeOptions& options,
                           const Snapshot& snapshot) {
  if (!options.heap.is_auto() || options.on_memory || target.collected() != nullptr) return;
  const auto anonymous = target.process ? anonymous_bytes(*target.process) : std::nullopt;
  if (!anonymous) return;
  std::uint64_t in_heaps = 0;
  for (const Heap& heap : snapshot.heaps) in_heaps += heap.heap_bytes.value_or(0);
  if (in_heaps >= *anonymous / 2) return;
  if (const auto* const other = heap::find_object_allocator(target.modules)) {
    options.request.warn(
        fmt::format("warning: {}; this report has only what malloc allocated; try: {}",
                    other->where, other->instead));
    return;
  }
  if (*anonymous < kMuchMemory || in_heaps >= *anonymous / 4) return;
  options.request.warn(fmt::format(
      "warning: this report has only {} heap, {} of the process's {} of anonymous memory; "
      "--summary shows the rest",
      whose(target.heaps.front()->kind()), human_bytes(in_heaps), human_bytes(*anonymous)));
}

// Freezes the target after a clone has ended too early, if `options` leave the choice.
Result<Snapshot> without_clone(const TakeOptions& options, const Error& error) {
  if (options.hold != Hold::Auto) return error;
  options.request.note(error.message() + ": freezing instead");
  TakeOptions frozen = options;
  frozen.hold = Hold::Freeze;
  return take_snapshot(frozen);
}

// Keeps the copied memory as long as it has readers.
class KeptHeap final : public MemoryReader {
 public:
  explicit KeptHeap(std::unique_ptr<HeldHeap> held) : held_(std::move(held)) {}
  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    return held_->capture.read_some(from, into);
  }

 private:
  std::unique_ptr<HeldHeap> held_;
};

}  // namespace

Result<Snapshot> take_snapshot(const TakeOptions& options) {
  const Request& request = options.request;
  request.begin("reading symbols and types");
  const auto target = HA_TRY(Target::learn(options));
  HA_TRY(request.deadline.check("learning about the target"));
  request.begin("copying the heap");
  auto held = HA_TRY(hold_and_copy(*target, options));
  note_copy(request, *held);
  if (options.on_memory && held->memory) {
    describe_memory(*target, *held);
    options.on_memory(*held->memory);
  }

  request.begin("walking the stacks");
  const unwind::Stacks stacks = find_stacks(options, *target, *held);
  Snapshot snapshot;
  join_threads(*target, *held, stacks, wait_reader(options), snapshot);
  request.begin("tracing the heap");
  const TracedHeap traced = HA_TRY(trace_heap(*target, *held, request));
  HA_TRY(request.deadline.check("tracing the heap"));
  fill_header(*target, *held, options, snapshot);
  warn_of_other_objects(*target, options, snapshot);
  add_guesses(traced, snapshot.header);
  const heap::ObjectSet live = traced.live();
  const heap::ObjectSet listed = find_listed(traced, live, options, snapshot);
  const ObjectOrder order(*traced.heap, listed);
  name_objects(*held, traced, listed, request, *target);
  request.begin(fmt::format("typing {} objects", order.size()));
  const Typing typing(*traced.heap, order, held->capture, target->rows,
                      variables_of(*target, stacks));
  if (const auto read = finish_reading(*held, options); !read) {
    return without_clone(options, read.error());
  }

  mark_partial(*target, *held, traced, snapshot);
  const JoinSources sources{*traced.heap, order, target->rows, typing};
  const SizeGuesses guesses = guess_by_size(sources, snapshot);
  join_contents(sources, live, options, *held, snapshot);
  if (options.with_edges) {
    const FrameFinder frames(stacks, target->types);
    join_references(sources, {*target, *held, traced, order, frames}, stacks, options, snapshot);
  }
  name_by_size(guesses, snapshot);
  if (options.with_contents) snapshot.contents = std::make_shared<KeptHeap>(std::move(held));
  return snapshot;
}

}  // namespace heapattach::snapshot
