// The file format of speedscope: one JSON object with `shared.frames` and, for each of the four
// values, a profile of type "sampled": stacks of numbers of frames, the outermost first, and a
// weight for each. The type that was allocated is the innermost frame, where it is known.
// `activeProfileIndex` is the value that is shown first. Values of 0 are left out.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/format/export/stream.h"
#include "report/format/export/trace_exports.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

using trace::Value;

constexpr Value kValues[] = {Value::AllocObjects, Value::AllocSpace, Value::InuseObjects,
                             Value::InuseSpace};

std::uint64_t number_of(const trace::Amounts& amounts, Value value) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, amount_of(amounts, value))));
}

void put_json(ExportStream& out, std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  out.put(quoted);
}

class Speedscope {
 public:
  Speedscope(const trace::Trace& trace, ExportStream& out, const TraceExportOptions& options)
      : trace_(trace), out_(out), options_(options), places_(trace, options.frames) {}

  void put(const std::vector<trace::Cell>& cells) {
    for (const trace::Cell& cell : cells) {
      samples_[{places_.path_of(cell.stack), cell.type}] += cell.amounts;
    }
    out_.put(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
        "\"exporter\":\"heapattach\",\"name\":");
    put_json(out_, trace_.header.exe);
    const auto* const active = std::find(std::begin(kValues), std::end(kValues), options_.value);
    out_.put(",\"activeProfileIndex\":");
    out_.put_decimal(static_cast<std::uint64_t>(active - kValues));
    put_frames();
    out_.put(",\n\"profiles\":[");
    for (const Value value : kValues) {
      if (value != kValues[0]) out_.put(',');
      put_profile(value);
    }
    out_.put("]}\n");
  }

 private:
  // Frames of places come first, then the types.
  void put_frames() {
    out_.put(",\n\"shared\":{\"frames\":[");
    for (trace::Places::Label label = 0; label < places_.labels(); ++label) {
      if (label != 0) out_.put(",\n");
      put_frame(label);
    }
    for (std::size_t type = 0; type < trace_.types.size(); ++type) {
      if (places_.labels() + type != 0) out_.put(",\n");
      out_.put("{\"name\":");
      put_json(out_, trace_.types[type].name);
      out_.put('}');
    }
    out_.put("]}");
  }

  void put_frame(trace::Places::Label label) {
    const trace::Frame* const frame = places_.frame_of(label);
    const bool is_full = frame != nullptr && options_.frames.text == trace::FrameText::Full;
    out_.put("{\"name\":");
    put_json(out_,
             is_full ? trace::frame_text(*frame, trace::FrameText::Name) : places_.text_of(label));
    if (is_full && !frame->file.empty()) {
      out_.put(",\"file\":");
      put_json(out_, frame->file);
      if (frame->line != 0) {
        out_.put(",\"line\":");
        out_.put_decimal(frame->line);
      }
    }
    out_.put('}');
  }

  void put_profile(Value value) {
    const std::string_view name = name_of(value);
    out_.put("\n{\"type\":\"sampled\",\"name\":\"");
    out_.put(name);
    out_.put(name.ends_with("space") ? "\",\"unit\":\"bytes\"" : "\",\"unit\":\"none\"");
    std::uint64_t all = 0;
    for (const auto& [key, amounts] : samples_) all += number_of(amounts, value);
    out_.put(",\"startValue\":0,\"endValue\":");
    out_.put_decimal(all);
    out_.put(",\n\"samples\":[");
    std::string_view before;
    for (const auto& [key, amounts] : samples_) {
      if (number_of(amounts, value) == 0) continue;
      out_.put(before);
      before = ",";
      put_stack(key.first, key.second);
    }
    out_.put("],\n\"weights\":[");
    before = {};
    for (const auto& [key, amounts] : samples_) {
      if (number_of(amounts, value) == 0) continue;
      out_.put(before);
      before = ",";
      out_.put_decimal(number_of(amounts, value));
    }
    out_.put("]}");
  }

  void put_stack(trace::Places::Path path, std::uint32_t type) {
    out_.put('[');
    const auto& labels = places_.labels_of(path);
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
      if (label != labels.rbegin()) out_.put(',');
      out_.put_decimal(*label);
    }
    if (type != trace::kNone) {
      if (!labels.empty()) out_.put(',');
      out_.put_decimal(places_.labels() + type);
    }
    out_.put(']');
  }

  const trace::Trace& trace_;
  ExportStream& out_;
  const TraceExportOptions& options_;
  trace::Places places_;
  std::map<std::pair<trace::Places::Path, std::uint32_t>, trace::Amounts> samples_;
};

}  // namespace

Result<void> write_trace_speedscope(const trace::Trace& trace,
                                    Sink& sink,
                                    const TraceExportOptions& options) {
  ExportStream out(sink, options.stream);
  Speedscope(trace, out, options)
      .put(HA_TRY(trace::chosen_cells(trace, options.types, options.stream.deadline)));
  return out.finish();
}

}  // namespace heapattach
