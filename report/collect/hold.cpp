#include "report/collect/hold.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "attach/process/observe.h"
#include "attach/process/process_end.h"

namespace heapattach::snapshot {

namespace {

void begin(Holding& holding) {
  holding.captured = std::chrono::system_clock::now();
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  holding.monotonic = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

FreezeOptions freeze_options(const Request& request, const HoldOptions& how) {
  FreezeOptions freeze = request.freeze_options();
  freeze.budget = how.budget;
  freeze.with_vector_registers = how.with_vector_registers;
  if (how.thread_deadline) freeze.thread_deadline = *how.thread_deadline;
  return freeze;
}

Error explain_timeout(Error error, const Request& request, const HoldOptions& how) {
  const bool is_short = error.kind == ErrorKind::Timeout && !request.deadline.has_passed();
  if (!is_short || how.advice.empty()) return error;
  return Error{ErrorKind::Timeout,
               fmt::format("{} (the target was held for {} ms at most, then released)",
                           error.message(), how.budget.count())}
      .advise(how.advice);
}

Error explain_death(const Clone& clone) {
  const auto given_up = clone.given_up();
  const std::string how =
      given_up ? "was given up while it was read, because " + *given_up +
                     ", and the kernel might have ended the target for lack of memory"
               : ProcessEnd(clone.process()).words() +
                     " while it was read, by another process or for lack of memory";
  return Error{ErrorKind::Impossible, fmt::format("the clone {}; the target keeps running", how)}
      .advise("--snapshot freeze");
}

Result<void> copy_core(const Opened& target,
                       const Request& request,
                       const CopyFrom& copy,
                       Holding& holding) {
  holding.captured = target.core->written();
  holding.freeze.threads = target.core->threads();
  holding.is_held = true;
  return copy({nullptr, target.memory, holding.freeze.threads, request.deadline.at});
}

Result<void> copy_clone(const Clone& clone,
                        const Request& request,
                        const CopyFrom& copy,
                        Holding& holding) {
  const LiveMemory memory(clone.process(), HA_TRY(LiveMemory::open_mem(clone.process())),
                          LiveMemory::By::MemFile);
  auto copied = copy({&clone.process(), memory, holding.freeze.threads, request.deadline.at});
  if (!clone.is_whole()) return explain_death(clone);
  return copied;
}

}  // namespace

Result<void> hold(const Opened& target,
                  const Request& request,
                  const HoldOptions& how,
                  const CopyFrom& copy,
                  Holding& holding) {
  if (target.core) return copy_core(target, request, copy, holding);
  FreezeOptions options = freeze_options(request, how);
  options.reads_only = true;
  auto frozen = while_frozen(*target.process, options, [&](const FrozenView& view) {
    begin(holding);
    const auto deadline = std::min(view.deadline, request.deadline.at);
    return copy({&*target.process, target.memory, view.threads, deadline});
  });
  if (!frozen) return explain_timeout(std::move(frozen).error(), request, how);
  holding.freeze = std::move(*frozen);
  holding.is_held = true;
  return {};
}

Result<void> hold_nothing(const Opened& target,
                          const Request& request,
                          const CopyFrom& copy,
                          Holding& holding) {
  holding.captured = std::chrono::system_clock::now();
  holding.freeze.threads.clear();
  for (ObservedThread& thread : HA_TRY(observe_threads(*target.process))) {
    holding.freeze.threads.push_back(
        {thread.tid, std::move(thread.name), thread.state, std::nullopt, thread.stack_pointer});
  }
  return copy({&*target.process, target.memory, holding.freeze.threads, request.deadline.at});
}

Result<void> hold_as_it_is(const Opened& target,
                           const Request& request,
                           const std::vector<FrozenThread>& threads,
                           const CopyFrom& copy,
                           Holding& holding) {
  begin(holding);
  holding.freeze.threads = threads;
  add_own_numbers(*target.process, holding.freeze.threads);
  holding.is_held = true;
  return copy({&*target.process, target.memory, holding.freeze.threads, request.deadline.at});
}

Result<Clone> hold_clone(const Opened& target,
                         const Request& request,
                         const HoldOptions& how,
                         const CopyFrom& copy,
                         Holding& holding) {
  CloneOptions options;
  options.freeze = freeze_options(request, how);
  options.look = [&](const FrozenView&) {
    begin(holding);
    return how.look ? how.look() : Result<void>();
  };
  auto made = Clone::make(*target.process, options);
  if (!made) return explain_timeout(std::move(made).error(), request, how);
  Clone clone = std::move(*made);
  holding.freeze = clone.freeze();
  holding.is_held = true;
  holding.is_clone = true;
  if (auto copied = copy_clone(clone, request, copy, holding); !copied) {
    if (const auto ended = clone.end(); !ended) request.note(ended.error().message());
    return std::move(copied).error();
  }
  return clone;
}

Result<void> end_clone(Clone& clone, const Request& request) {
  Result<void> read;
  if (!clone.is_whole()) read = explain_death(clone);
  if (const auto ended = clone.end(); !ended) request.note(ended.error().message());
  return read;
}

}  // namespace heapattach::snapshot
