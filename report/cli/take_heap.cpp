#include "report/cli/take_heap.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "report/cli/option_table.h"
#include "report/cli/sources.h"
#include "report/collect/take.h"
#include "report/ruby/take_ruby.h"
#include "report/stacks/join_waits.h"
#include "symbols/ruby/heap_kind.h"
#include "symbols/ruby/interpreter.h"

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

RubyOptions ruby_options(const Options& options, const Request& request) {
  RubyOptions what{request};
  what.with_edges = needs_edges(options);
  what.with_values = options.value_bytes != 0 || needs_contents(options) ||
                     options.report == Report::Strings || options.report == Report::Summary;
  what.text_bytes = compared_text_bytes(options).value_or(options.value_bytes);
  what.by_line = options.by == snapshot::CountBy::Line;
  what.from_outside = reads_ruby_from_outside(options);
  what.while_it_runs = options.hold == snapshot::Hold::Nothing;
  return what;
}

}  // namespace

bool reads_ruby_from_outside(const Options& options) {
  // Freeze is also the default.
  return options.hold == snapshot::Hold::Freeze &&
         std::any_of(options.given.begin(), options.given.end(),
                     [](const OptionRow* row) { return row->name == "snapshot"; });
}

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
  what.has_another_heap = [](const Modules& modules, const MemoryReader& memory) {
    return ruby::find_interpreter(modules, memory).has_value();
  };
  what.with_unreachable = options.all || options.report == Report::Leaks;
  what.with_objects = needs_objects(options);
  what.with_edges = needs_edges(options);
  what.with_contents = needs_contents(options);
  what.value_bytes = options.value_bytes;
  if (const auto bytes = compared_text_bytes(options)) {
    what.texts_only = true;
    what.text_bytes = *bytes;
  }
  static const stacks::WaitJoiner kWaits;
  if (options.report == Report::Snapshot) what.waits = &kWaits;
  return what;
}

bool may_be_ruby_heap(const Options& options) {
  return options.heap.is_auto() || options.heap.key == ruby::kHeapKind.key;
}

Result<snapshot::Snapshot> take_from_process(const Options& options,
                                             const snapshot::TakeOptions& what) {
  const bool may_be_rubys = may_be_ruby_heap(options);
  if (options.by == snapshot::CountBy::Line) {
    Error no_lines{ErrorKind::Usage,
                   "--by line is for Ruby: no other heap records where objects were allocated"};
    if (options.pid == 0) return no_lines;
    if (!may_be_rubys) {
      return Error{ErrorKind::Usage, "--by line needs a dump by Ruby, and --heap reads without one"}
          .advise("--by line alone");
    }
    return take_from_ruby(ruby_options(options, what.request), std::move(no_lines));
  }
  auto taken = snapshot::take_snapshot(what);
  const bool has_no_collector = !taken && taken.error().kind == ErrorKind::Unsupported;
  if (!has_no_collector || !may_be_rubys) return taken;
  return take_from_ruby(ruby_options(options, what.request), std::move(taken).error());
}

}  // namespace heapattach
