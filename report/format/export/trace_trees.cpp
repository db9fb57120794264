// A trace as a tree of frames, for folded stacks, a flame graph in SVG and DHAT: the outermost
// function first, what was allocated last, where its type is known. One of the four values is the
// width; objects and bytes are both allocated or both in use.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "report/format/export/trace_exports.h"
#include "report/format/export/tree_formats.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using trace::Value;

bool is_of_objects(Value value) {
  return value == Value::AllocObjects || value == Value::InuseObjects;
}
bool is_in_use(Value value) {
  return value == Value::InuseSpace || value == Value::InuseObjects;
}

constexpr std::size_t kBetweenLooks = 256;  // at the clock

class TraceTree {
 public:
  TraceTree(const trace::Trace& trace, const TraceExportOptions& options)
      : trace_(trace), options_(options), places_(trace, options.frames) {}

  // No path is longer than `deepest`; what would be is in a frame "(deeper)".
  Result<TypeTree> make(std::size_t deepest) {
    deepest_ = deepest;
    tree_.frames = {"all"};
    tree_.nodes.emplace_back();
    amounts_.emplace_back();
    const Deadline& deadline = options_.stream.deadline;
    std::size_t steps = 0;
    const auto cells = HA_TRY(trace::chosen_cells(trace_, options_.types, deadline));
    for (const trace::Cell& cell : cells) {
      if (++steps % kBetweenLooks == 0) HA_TRY(deadline.check("adding up the stacks"));
      if (trace::amount_of(cell.amounts, options_.value) > 0) add(cell);
    }
    sum_up();
    return std::move(tree_);
  }

  [[nodiscard]] bool is_type(TypeTree::FrameIndex frame) const {
    return std::any_of(types_.begin(), types_.end(),
                       [frame](const auto& known) { return known.second == frame; });
  }

 private:
  TypeTree::FrameIndex new_frame(std::string_view text) {
    tree_.frames.push_back(terminal_text(text));
    return static_cast<TypeTree::FrameIndex>(tree_.frames.size() - 1);
  }

  template <class Key>
  TypeTree::FrameIndex frame_for(std::map<Key, TypeTree::FrameIndex>& known,
                                 Key key,
                                 std::string_view text) {
    const auto [at, is_new] = known.try_emplace(key, 0);
    if (is_new) at->second = new_frame(text);
    return at->second;
  }

  TypeTree::NodeIndex below(TypeTree::NodeIndex parent, TypeTree::FrameIndex frame) {
    const std::uint32_t depth = tree_.nodes[parent].depth + 1;
    if (depth > deepest_) return parent;
    if (depth == deepest_) frame = frame_for(others_, 0, "(deeper)");
    const auto [at, is_new] = children_.try_emplace({parent, frame}, 0);
    if (is_new) {
      at->second = static_cast<TypeTree::NodeIndex>(tree_.nodes.size());
      tree_.nodes.push_back({parent, frame, depth, 0, 0, 0});
      amounts_.emplace_back();
    }
    return at->second;
  }

  void add(const trace::Cell& cell) {
    TypeTree::NodeIndex node = 0;
    const auto& labels = places_.labels_of(places_.path_of(cell.stack));
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
      node = below(node, frame_for(functions_, *label, places_.text_of(*label)));
    }
    if (cell.type != trace::kNone) {
      node = below(node, frame_for(types_, cell.type, trace_.types[cell.type].name));
    }
    amounts_[node] += cell.amounts;
  }

  // Rounded, so that the parts of a frame add up to it.
  void sum_up() {
    const bool in_use = is_in_use(options_.value);
    for (TypeTree::NodeIndex i = static_cast<TypeTree::NodeIndex>(tree_.nodes.size()); i-- > 0;) {
      TypeTree::Node& node = tree_.nodes[i];
      const trace::Amounts& amounts = amounts_[i];
      node.objects = rounded(in_use ? amounts.in_use_objects : amounts.allocations);
      node.bytes = rounded(in_use ? amounts.in_use_bytes : amounts.bytes);
      node.retained += is_of_objects(options_.value) ? node.objects : node.bytes;
      if (i != 0) tree_.nodes[node.parent].retained += node.retained;
    }
  }

  static std::uint64_t rounded(double amount) {
    return static_cast<std::uint64_t>(std::llround(std::max(0.0, amount)));
  }

  const trace::Trace& trace_;
  const TraceExportOptions& options_;
  trace::Places places_;
  std::size_t deepest_ = 0;
  TypeTree tree_;
  std::vector<trace::Amounts> amounts_;  // by node, without those of child nodes
  std::map<trace::Places::Label, TypeTree::FrameIndex> functions_;
  std::map<std::uint32_t, TypeTree::FrameIndex> types_;
  std::map<int, TypeTree::FrameIndex> others_;
  std::map<std::pair<TypeTree::NodeIndex, TypeTree::FrameIndex>, TypeTree::NodeIndex> children_;
};

constexpr std::size_t kNoLimit = 1'000'000;

std::string_view word_for(Value value) {
  return is_in_use(value) ? "in use" : "allocated";
}

// "; estimates from samples; partial".
std::string remarks(const trace::Trace& trace) {
  std::string text = trace.header.every > 1 ? ", estimated from samples" : "";
  return text + (trace.is_whole() ? "" : ", partial");
}

}  // namespace

Result<void> write_trace_folded(const trace::Trace& trace,
                                Sink& sink,
                                const TraceExportOptions& options) {
  ExportStream out(sink, options.stream);
  put_folded(out, HA_TRY(TraceTree(trace, options).make(kNoLimit)),
             is_of_objects(options.value) ? TreeNumber::Objects : TreeNumber::Bytes);
  return out.finish();
}

Result<void> write_trace_dhat(const trace::Trace& trace,
                              Sink& sink,
                              const TraceExportOptions& options) {
  ExportStream out(sink, options.stream);
  DhatWords words;
  words.mode = "allocations of a trace" + remarks(trace);
  words.verb = is_in_use(options.value) ? "In use" : "Allocated";
  words.command = trace.header.exe;
  words.pid = static_cast<std::uint64_t>(trace.header.pid);
  put_dhat(out, HA_TRY(TraceTree(trace, options).make(kNoLimit)), words);
  return out.finish();
}

Result<void> write_trace_svg(const trace::Trace& trace,
                             Sink& sink,
                             const TraceExportOptions& options) {
  TraceTree maker(trace, options);
  const TypeTree tree = HA_TRY(maker.make(TypeTree::kDeepest));
  const std::string amount = fmt::format(
      "{} {}", is_of_objects(options.value) ? "objects" : "bytes", word_for(options.value));
  FlameWords words;
  words.title = fmt::format("Allocations of process {} by stack", trace.header.pid);
  words.subtitle = fmt::format("{} {} in {:.1f} s{}", tree.nodes[0].retained, amount,
                               static_cast<double>(trace.header.duration_ns) / 1e9, remarks(trace));
  words.amount = amount;
  words.is_colourful.push_back(false);
  for (TypeTree::FrameIndex frame = 1; frame < tree.frames.size(); ++frame) {
    words.is_colourful.push_back(!maker.is_type(frame));
  }
  ExportStream out(sink, options.stream);
  put_flames(out, tree, words);
  return out.finish();
}

}  // namespace heapattach
