// A trace as pprof's profile.proto; pprof.cpp explains what its reader expects. Four values for
// each sample, in the order and with the names of a Go program's heap: alloc_objects, alloc_space,
// inuse_objects, inuse_space. A location is a frame of the trace; an inlined one is a location of
// its own. Labels: type, thread, fiber. The period is that of the sampling, and the values are
// already estimates of all allocations, as Go's are.

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/format/export/pprof_fields.h"
#include "report/format/export/trace_exports.h"
#include "report/format/export/unix_time.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using namespace pprof;  // NOLINT(google-build-using-namespace): numbers of fields
using trace::Value;

constexpr Value kValues[] = {Value::AllocObjects, Value::AllocSpace, Value::InuseObjects,
                             Value::InuseSpace};

class Profile {
 public:
  Profile(const trace::Trace& trace, ExportStream& out, const TraceExportOptions& options)
      : trace_(trace), out_(out), options_(options), locations_of_(trace.stacks.size()) {
    string("");
  }

  void put(const std::vector<trace::Cell>& cells) {
    put_head();
    for (const trace::Cell& cell : cells) {
      if (out_.has_failed()) return;
      put_sample(cell);
    }
    ProtobufMessage strings;
    for (const std::string* text : strings_in_order_) strings.bytes(kStringTable, *text);
    out_.put(strings.text());
  }

 private:
  std::uint64_t string(std::string_view text) {
    const auto [at, is_new] = strings_.try_emplace(std::string(text), strings_.size());
    if (is_new) strings_in_order_.push_back(&at->first);
    return at->second;
  }

  [[nodiscard]] ProtobufMessage value_type(std::string_view type, std::string_view unit) {
    ProtobufMessage message;
    message.number(1, string(type));
    message.number(2, string(unit));
    return message;
  }

  void put_head() {
    const trace::Header& header = trace_.header;
    for (const Value value : kValues) {
      const std::string_view name = name_of(value);
      put_message(out_, kSampleType, value_type(name, name.ends_with("space") ? "bytes" : "count"));
    }
    ProtobufMessage mapping;
    mapping.number(1, 1);
    mapping.number(5, string(header.exe));
    mapping.number(6, string(header.build_id));
    for (const std::uint32_t has : {7U, 8U, 9U, 10U}) mapping.number(has, 1);
    put_message(out_, kMapping, mapping);
    put_message(out_, kPeriodType, value_type("space", "bytes"));
    ProtobufMessage rest;
    rest.number(kPeriod, header.every);
    rest.number(kTimeNanos, unix_nanoseconds(header.started));
    rest.number(kDurationNanos, header.duration_ns);
    if (header.drops != 0) {
      rest.number(kComment, string(fmt::format("Partial: {} samples were lost", header.drops)));
    }
    if (!header.complete) rest.number(kComment, string("Partial: " + header.reason));
    for (const std::string& warning : header.warnings) rest.number(kComment, string(warning));
    rest.number(kDefaultSampleType, string(name_of(options_.value)));
    out_.put(rest.text());
  }

  void put_label(ProtobufMessage& sample, std::string_view key, std::string_view text) {
    ProtobufMessage label;
    label.number(1, string(key));
    label.number(2, string(text));
    sample.message(3, label);
  }

  void put_sample(const trace::Cell& cell) {
    ProtobufMessage values;
    for (const Value value : kValues) {
      const double amount = std::max(0.0, amount_of(cell.amounts, value));
      values.varint(static_cast<std::uint64_t>(std::llround(amount)));
    }
    ProtobufMessage sample;
    sample.message(1, locations_of(cell.stack));
    sample.message(2, values);
    put_label(sample, "type", type_name(trace_, cell.type));
    for (const Attribute& one : trace_.header.resource) {
      put_label(sample, terminal_text(one.name), terminal_text(one.value));
    }
    if (cell.thread != trace::kNone) put_label(sample, "thread", thread_name(trace_, cell.thread));
    if (cell.fiber != trace::kNone) put_label(sample, "fiber", fiber_name(trace_, cell.fiber));
    put_message(out_, kSample, sample);
  }

  ProtobufMessage locations_of(std::uint32_t stack) {
    ProtobufMessage locations;
    if (options_.frames.text == trace::FrameText::None) return locations;
    if (stack == trace::kNone) {
      locations.varint(location_called(trace::Places::kUnknown));
      return locations;
    }
    std::vector<std::uint64_t>& known = locations_of_[stack];
    if (known.empty()) {
      const trace::Stack& found = trace_.stacks[stack];
      for (const std::uint32_t frame : trace::shown_frames(trace_, found, options_.frames)) {
        known.push_back(location_of(frame));
      }
      if (trace::shows_truncation(found, known.size(), options_.frames)) {
        known.push_back(location_called(trace::Places::kTruncated));
      }
      if (known.empty()) known.push_back(location_called(trace::Places::kUnknown));
    }
    for (const std::uint64_t location : known) locations.varint(location);
    return locations;
  }

  std::uint64_t location_of(std::uint32_t frame) {
    const auto [at, is_new] = locations_.try_emplace(frame, next_location_);
    if (!is_new) return at->second;
    const trace::Frame& found = trace_.frames[frame];
    const bool is_full = options_.frames.text == trace::FrameText::Full;
    const trace::FrameText text = is_full ? trace::FrameText::Name : options_.frames.text;
    return put_location(trace::frame_text(found, text), is_full ? found.file : std::string(),
                        found.address, is_full ? found.line : 0);
  }
  // The number of a location that is not a frame, such as a type.
  std::uint64_t location_called(std::string_view name) {
    const auto [at, is_new] = named_locations_.try_emplace(std::string(name), next_location_);
    return is_new ? put_location(name, {}, 0, 0) : at->second;
  }

  std::uint64_t put_location(std::string_view name,
                             std::string_view file,
                             std::uint64_t address,
                             std::uint64_t line_number) {
    ProtobufMessage line;
    line.number(1, function_of(string(name), string(file)));
    line.number(2, line_number);
    ProtobufMessage location;
    location.number(1, next_location_);
    location.number(2, 1);
    location.number(3, address);
    location.message(4, line);
    put_message(out_, kLocation, location);
    return next_location_++;
  }

  std::uint64_t function_of(std::uint64_t name, std::uint64_t file) {
    const auto [at, is_new] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (!is_new) return at->second;
    ProtobufMessage function;
    function.number(1, at->second);
    function.number(2, name);
    function.number(4, file);
    put_message(out_, kFunction, function);
    return at->second;
  }

  const trace::Trace& trace_;
  ExportStream& out_;
  const TraceExportOptions& options_;
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::vector<const std::string*> strings_in_order_;            // keys of strings_
  std::vector<std::vector<std::uint64_t>> locations_of_;        // by stack; empty: not yet known
  std::unordered_map<std::uint32_t, std::uint64_t> locations_;  // by frame
  std::map<std::string, std::uint64_t> named_locations_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> functions_;  // by name and file
  std::uint64_t next_location_ = 1;
};

}  // namespace

Result<void> write_trace_pprof(const trace::Trace& trace,
                               Sink& sink,
                               const TraceExportOptions& options) {
  ExportStream out(sink, options.stream, true);
  Profile(trace, out, options)
      .put(
          HA_TRY(trace::chosen_cells(trace, options.types, options.stream.deadline, {true, true})));
  return out.finish();
}

}  // namespace heapattach
