#include "report/cli/take_heap.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "report/cli/dumped_heaps.h"
#include "report/cli/option_table.h"
#include "report/cli/read_values.h"
#include "report/cli/sources.h"
#include "report/collect/take.h"
#include "report/stacks/join_waits.h"

namespace heapattach {

namespace {

// Steps and warnings contain names.
Request without_names(Request request, Console& console) {
  console.step("no steps are shown with --redact");
  request.on_step = {};
  request.on_warning = [&console](std::string_view) {
    console.say("a warning is hidden; run without --redact to see it");
  };
  return request;
}

// How much of each text a report needs that compares texts; none if it does not. A diagnosis only
// compares short ones, of which there are many.
std::optional<std::size_t> compared_text_bytes(const Options& options) {
  constexpr std::size_t kShortText = 64;
  if (options.report == Report::Strings) return std::string::npos;
  if (options.report == Report::Diagnose) return kShortText;
  return {};
}

// How much of each value to read. --find needs values, with or without --values: where they are not
// read, a field with a number looks like none. Of Ruby's heap together with malloc's, only what
// needs no values can be answered.
std::size_t value_bytes(const Options& options) {
  if (options.value_bytes != 0 || options.report != Report::Find || options.redact) {
    return options.value_bytes;
  }
  const analyze::FindExpression& find = options.explain.find;
  const bool needs_them = options.heap.all ? find.needs_values() : !find.any_of.empty();
  return needs_them ? kDefaultValueBytes : 0;
}

// Whether no runtime shall dump its heap, which the user must say: to freeze is also the default.
bool reads_from_outside(const Options& options) {
  return options.hold == snapshot::Hold::Freeze &&
         std::any_of(options.given.begin(), options.given.end(),
                     [](const OptionRow* row) { return row->name == "snapshot"; });
}

snapshot::DumpedOptions dumped_options(const Options& options, const Request& request) {
  snapshot::DumpedOptions what{request};
  what.with_edges = needs_edges(options);
  const std::size_t of_values = value_bytes(options);
  what.with_values = of_values != 0 || needs_contents(options) ||
                     options.report == Report::Strings || options.report == Report::Summary;
  what.text_bytes = compared_text_bytes(options).value_or(of_values);
  what.by_line = options.by == snapshot::CountBy::Line;
  what.from_outside = reads_from_outside(options);
  what.while_it_runs = options.hold == snapshot::Hold::Nothing;
  return what;
}

// Whether the heap that the user wants may be this one, read without malloc's.
bool may_want(const Options& options, const snapshot::DumpedHeap& heap) {
  return options.heap.is_auto() || options.heap.key == heap.kind.key;
}

bool may_want_dump(const Options& options) {
  return std::any_of(dumped_heaps().begin(), dumped_heaps().end(),
                     [&](const auto* heap) { return may_want(options, *heap); });
}

// The heap that the process's runtime dumps. `not_found` if it has no such heap.
Result<snapshot::Snapshot> take_dumped(const Options& options,
                                       const Request& request,
                                       Error not_found) {
  for (const snapshot::DumpedHeap* const heap : dumped_heaps()) {
    if (!may_want(options, *heap)) continue;
    auto taken = HA_TRY(heap->take(dumped_options(options, request)));
    if (taken) return std::move(*taken);
  }
  return not_found;
}

bool has_dumped_heap(const Modules& modules, const MemoryReader& memory) {
  return std::any_of(dumped_heaps().begin(), dumped_heaps().end(),
                     [&](const auto* heap) { return heap->is_in(modules, memory); });
}

}  // namespace

Request request_of(const Options& options, const Deadline& deadline, Console& console) {
  Request request(static_cast<const Request&>(options));
  request.deadline = deadline;
  request.on_step = [&console](std::string_view step) { console.step(step); };
  request.on_warning = [&console](std::string_view text) { console.say(text); };
  request.on_work = [&console](std::string_view work) { console.progress(work); };
  return request;
}

Request heap_request(const Options& options, const Deadline& deadline, Console& console) {
  Request request = request_of(options, deadline, console);
  return options.redact ? without_names(std::move(request), console) : request;
}

snapshot::TakeOptions take_options(const Options& options, const Request& request) {
  snapshot::TakeOptions what{request};
  what.hold = options.hold;
  what.heap = options.heap;
  what.has_another_heap = has_dumped_heap;
  what.with_unreachable = options.all || options.report == Report::Leaks;
  what.with_objects = needs_objects(options);
  what.with_edges = needs_edges(options);
  // A page of a trace also shows what is reachable.
  what.leaked_edges = options.report == Report::Leaks && !options.with_trace.length;
  what.with_contents = needs_contents(options);
  what.value_bytes = value_bytes(options);
  if (const auto bytes = compared_text_bytes(options)) {
    what.texts_only = true;
    what.text_bytes = *bytes;
  }
  static const stacks::WaitJoiner kWaits;
  if (options.report == Report::Snapshot) what.waits = &kWaits;
  return what;
}

Result<void> examine_dumped(const Options& options,
                            const Request& request,
                            snapshot::Examination& found) {
  for (const snapshot::DumpedHeap* const heap : dumped_heaps()) {
    if (!may_want(options, *heap)) continue;
    if (HA_TRY(heap->examine(request, reads_from_outside(options), found))) break;
  }
  return {};
}

Result<snapshot::Snapshot> take_from_process(const Options& options,
                                             const snapshot::TakeOptions& what) {
  if (options.by == snapshot::CountBy::Line) {
    Error no_lines{ErrorKind::Usage,
                   "--by line is for Ruby: no other heap records where objects were allocated"};
    if (options.pid == 0) return no_lines;
    if (!may_want_dump(options)) {
      return Error{ErrorKind::Usage, "--by line needs a dump by Ruby, and --heap reads without one"}
          .advise("--by line alone");
    }
    return take_dumped(options, what.request, std::move(no_lines));
  }
  auto taken = snapshot::take_snapshot(what);
  if (taken || taken.error().kind != ErrorKind::Unsupported) return taken;
  return take_dumped(options, what.request, std::move(taken).error());
}

}  // namespace heapattach
