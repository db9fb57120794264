#include "report/cli/sources.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attach/stop/exit_stop.h"
#include "report/call/in_place_call.h"
#include "report/cli/file_kind.h"
#include "report/cli/live_table.h"
#include "report/cli/option_table.h"
#include "report/cli/redaction.h"
#include "report/cli/take_diagnosis.h"
#include "report/cli/take_file.h"
#include "report/cli/take_heap.h"
#include "report/collect/examine.h"
#include "report/collect/see_memory.h"
#include "report/collect/take.h"
#include "report/format/read/trace_lines.h"
#include "report/format/write/table.h"
#include "report/ruby/take_ruby.h"
#include "report/stacks/join_waits.h"
#include "report/stacks/saved_stacks.h"
#include "report/stacks/take_stacks.h"
#include "report/text/human_bytes.h"
#include "report/trace/take_trace.h"
#include "symbols/ruby/interpreter.h"

namespace heapattach {

namespace {

Result<stacks::StackReport> take_stacks_of(const Options& options,
                                           const Deadline& deadline,
                                           Console& console) {
  if (!options.file.empty() && !is_elf_file(options.file)) {
    return stacks::saved_stacks(HA_TRY(take_from_file(options, deadline, console)));
  }
  return stacks::take_stacks(request_of(options, deadline, console));
}

// A snapshot to be saved has the stacks of Ruby's threads as well. They are read a moment after the
// objects.
void add_ruby_stacks(const Options& options,
                     const Deadline& deadline,
                     Console& console,
                     snapshot::Snapshot& snapshot) {
  if (options.report != Report::Snapshot || snapshot.header.runtime != "ruby") return;
  Request request = request_of(options, deadline, console);
  if (options.redact) request.on_step = {};  // steps contain names
  const auto report = stacks::take_stacks(request);
  if (!report) {
    console.say(options.redact ? "the snapshot has no stacks; run without --redact to see why"
                               : "the snapshot has no stacks: " + report.error().message());
    return;
  }
  for (const std::string& warning : report->warnings) {
    console.say(options.redact ? "a warning is hidden; run without --redact to see it" : warning);
  }
  stacks::save_stacks(*report, snapshot);
  if (snapshot.header.pause_ms) {
    *snapshot.header.pause_ms += std::chrono::duration<double, std::milli>(report->pause).count();
  }
}

Result<snapshot::Snapshot> take(const Options& options,
                                const Deadline& deadline,
                                Console& console) {
  if (!options.file.empty() && !is_elf_file(options.file)) {
    auto saved = HA_TRY(take_from_file(options, deadline, console));
    redact_if_asked(options, saved, console);
    return saved;
  }
  const Request request = heap_request(options, deadline, console);
  auto taken = HA_TRY(take_from_process(options, take_options(options, request)));
  add_ruby_stacks(options, deadline, console, taken);
  redact_if_asked(options, taken, console);
  return taken;
}

Result<TakenAtExit> take_at_exit(const Options& options, const Deadline&, Console& console) {
  ExitStop program = HA_TRY(ExitStop::start(options.leaks.command));
  console.step(fmt::format("process {} runs; waiting until it is about to exit", program.pid()));
  HA_TRY(program.wait());
  Request request = heap_request(options, Deadline::in(options.timeout), console);
  request.pid = program.pid();
  snapshot::TakeOptions what = take_options(options, request);
  what.held = &program.threads();
  auto taken = snapshot::take_snapshot(what);
  std::string end = program.finish();
  if (!taken) {
    console.say("the program " + end);
    return std::move(taken).error();
  }
  redact_if_asked(options, *taken, console);
  return TakenAtExit{std::move(*taken), std::move(end)};
}

// Adds the memory of a process whose heap gave none, or was refused. Fails with that refusal if
// there is nothing else to show.
Result<void> add_memory(const Request& request,
                        const Result<snapshot::Snapshot>& heap,
                        TakenSummary& taken) {
  auto seen = snapshot::see_process(request);
  if (!heap && !seen) return heap.error();
  if (!seen) return {};
  taken.memory = std::move(seen->memory);
  if (heap) return {};
  taken.refusal = heap.error();
  taken.snapshot.header = std::move(seen->header);
  return {};
}

Result<TakenSummary> take_summary(const Options& options,
                                  const Deadline& deadline,
                                  Console& console) {
  TakenSummary taken;
  if (!options.file.empty() && !is_elf_file(options.file)) {
    taken.snapshot = HA_TRY(take_from_file(options, deadline, console));
    redact_if_asked(options, taken.snapshot, console);
    return taken;
  }
  const Request request = heap_request(options, deadline, console);
  snapshot::TakeOptions what = take_options(options, request);
  what.with_unreachable = true;
  what.on_memory = [&taken](const snapshot::SeenMemory& seen) { taken.memory = seen; };
  auto snapshot = take_from_process(options, what);
  const bool is_refused = !snapshot && (snapshot.error().kind == ErrorKind::Unsupported ||
                                        snapshot.error().kind == ErrorKind::Impossible);
  if (!snapshot && !is_refused) return std::move(snapshot).error();
  if (!taken.memory) HA_TRY(add_memory(request, snapshot, taken));
  if (snapshot) taken.snapshot = std::move(*snapshot);
  redact_if_asked(options, taken.snapshot, console);
  return taken;
}

Result<snapshot::Examination> examine(const Options& options,
                                      const Deadline& deadline,
                                      Console& console) {
  const Request request = heap_request(options, deadline, console);
  auto found = HA_TRY(snapshot::examine(take_options(options, request)));
  if (!found.heap) {
    if (found.refusal == ErrorKind::Unsupported) HA_TRY(examine_dumped(options, request, found));
    return found;
  }
  auto facts = trace::trace_facts(request, options.heap);
  if (facts) {
    const std::optional<double> rate = facts->bytes_per_second;
    found.trace = {.entries = std::move(facts->entries),
                   .follows_ends = facts->follows_ends,
                   .notes = std::move(facts->notes),
                   .refusal = {},
                   .bytes_per_second = rate,
                   .cost = trace::expected_cost(rate.value_or(0), options.trace.every)};
  } else {
    found.trace.emplace().refusal = facts.error().text();
  }
  return found;
}

Result<trace::Trace> record_trace(const Options& options,
                                  const Deadline& deadline,
                                  Console& console,
                                  const std::function<void()>& before_leaving) {
  const Request request = request_of(options, deadline, console);
  trace::TraceOptions what{request};
  what.heap = options.heap;
  what.command = options.trace.command;
  what.every = options.trace.every;
  what.length = options.trace.length;
  what.before_leaving = before_leaving;
  if (options.trace.live) {
    what.on_trace = HA_TRY(live_table(options, console));
    what.live_parts = trace::parts_for(options.trace.by);
  } else {
    what.on_progress = [&console](const trace::TraceProgress& progress) {
      console.draw_progress(words_of(progress));
    };
  }
  const Console::Unwaiting unwaiting(console);
  return trace::take_trace(what);
}

Result<trace::Trace> take_trace_of(const Options& options,
                                   const Deadline& deadline,
                                   Console& console,
                                   const std::function<void()>& before_leaving) {
  if (options.file.empty()) return record_trace(options, deadline, console, before_leaving);
  if (!options.type_info.empty()) {
    return Error{ErrorKind::Usage, "--type-info: a saved trace already contains its types"};
  }
  console.progress("reading the trace");
  read::ReadTraceOptions what;
  what.deadline = deadline;
  what.on_progress = [&console](std::uint64_t events) {
    console.progress("reading the trace", events);
  };
  return read::read_trace_lines(HA_TRY(read::TextFile::open(options.file, deadline)), what);
}

// Prints warnings at once, because they are about changes to the process itself.
Request call_request(const Options& options, const Deadline& deadline, Console& console) {
  Request request = request_of(options, deadline, console);
  request.on_warning = [&console](std::string_view warning) { console.error(warning); };
  return request;
}

CallOptions call_options(const Options& options, const Request& request) {
  CallOptions what{request};
  what.call = options.call;
  what.place = options.place;
  what.returns = options.returns;
  what.thread = options.call_thread;
  what.allowed_calls = options.allowed_calls;
  return what;
}

Result<CallReport> call(const Options& options, const Deadline& deadline, Console& console) {
  const Request request = call_request(options, deadline, console);
  const CallOptions what = call_options(options, request);
  return what.place == CallPlace::Clone ? call_in_clone(what) : call_in_process(what);
}

Result<CallReport> call_routine(const Options& options,
                                const Deadline& deadline,
                                Console& console,
                                const Routine& routine) {
  const Request request = call_request(options, deadline, console);
  CallOptions what = call_options(options, request);
  what.call = routine.call;
  what.or_else = routine.or_else;
  what.routine_library = routine.routine_library;
  what.take_written = routine.take_written;
  what.patience = routine.patience;
  what.most_written_times = routine.most_written_times;
  return call_in_clone(what);
}

Result<CallReport> call_ruby(const Options& options, const Deadline& deadline, Console& console) {
  const Request request = request_of(options, deadline, console);
  return evaluate_ruby(call_options(options, request), options.ruby_code);
}

}  // namespace

const Sources& real_sources() {
  static const Sources sources{take,         take_summary,  examine,      take_stacks_of,
                               call,         call_ruby,     call_routine, take_trace_of,
                               take_at_exit, take_diagnosis};
  return sources;
}

}  // namespace heapattach
