// A flame graph of the tree of types as one SVG file without a script. A frame is a rectangle whose
// width is what it retains; its holder is below it. Its whole name and figures are its <title>,
// which browsers show as a tooltip and screen readers read. The widest come first. Each type has a
// colour; locations and variables are grey. Colours are darker if the reader's browser is dark;
// viewers without style sheets show the light ones.
//
// Frames narrower than a fifth of a pixel are not drawn, nor are the frames on them: the file has
// at most a few thousand rectangles for each row, whatever the heap. No figures are lost, because a
// frame's figures include all above it. Everything that comes from the target is text content,
// escaped, never an attribute or a name.

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/tree_formats.h"
#include "symbols/text/utf8.h"

namespace heapattach {

namespace {

using NodeIndex = TypeTree::NodeIndex;

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kRow = 20;
constexpr double kHead = 62;
constexpr double kNarrowest = 0.2;
constexpr double kLetter = 6.6;  // of one, roughly

// Text between tags. Of the characters that XML 1.0 forbids, only U+FFFE and U+FFFF can be left.
std::string xml(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const std::string_view three = text.substr(i, 3);
    if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {
      escaped += "\xef\xbf\xbd";
      i += 2;
      continue;
    }
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string shortened(std::string_view text, double width) {
  const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
  if (letters < 3) return {};
  if (text.size() <= letters) return xml(text);
  return xml(cut_utf8(text, letters - 2)) + "\xe2\x80\xa6";
}

// One of a few calm colours, always the same for a name.
std::string colour_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return fmt::format("hsl({},{}%,{}%)", 10 + 15 * ((hash >> 8) % 24), 52 + (hash >> 16) % 12,
                     78 + (hash >> 24) % 6);
}

constexpr std::string_view kPlainColour = "hsl(60,4%,91%)";

constexpr std::string_view kStyle =
    "<style>text{fill:#1d2125}.soft{fill:#5a626b}.page{fill:#f7f7f5}"
    "g:hover>rect{stroke:#1f5f8b;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e7ea}.soft{fill:#9aa5b0}.page{fill:#131619}"
    "g>rect{filter:brightness(0.42) saturate(1.3)}g:hover>rect{filter:brightness(0.6)}}"
    "</style>\n";

struct Placed {
  NodeIndex node = 0;
  double left = 0;
  std::uint32_t row = 0;
};

class FlameLayout {
 public:
  explicit FlameLayout(const TypeTree& tree) : tree_(tree) {
    link_children();
    scale_ = (kWidth - 2 * kMargin) /
             static_cast<double>(std::max<std::uint64_t>(1, tree.nodes[0].retained));
    for (std::vector<Placed> open{{0, kMargin, 0}}; !open.empty();) {
      const Placed at = open.back();
      open.pop_back();
      placed_.push_back(at);
      rows_ = std::max(rows_, at.row + 1);
      place_children(at, open);
    }
  }

  [[nodiscard]] double width(NodeIndex node) const {
    return static_cast<double>(tree_.nodes[node].retained) * scale_;
  }

  [[nodiscard]] const std::vector<Placed>& placed() const { return placed_; }
  [[nodiscard]] std::uint32_t rows() const { return rows_; }

 private:
  // The nodes by parent, largest first.
  void link_children() {
    by_parent_.resize(tree_.nodes.size() - 1);
    std::iota(by_parent_.begin(), by_parent_.end(), NodeIndex{1});
    std::sort(by_parent_.begin(), by_parent_.end(), [this](NodeIndex a, NodeIndex b) {
      const auto& one = tree_.nodes[a];
      const auto& other = tree_.nodes[b];
      return std::tuple(one.parent, other.retained, a) < std::tuple(other.parent, one.retained, b);
    });
    first_.assign(tree_.nodes.size() + 1, 0);
    for (const NodeIndex node : by_parent_) ++first_[tree_.nodes[node].parent + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
  }

  void place_children(const Placed& at, std::vector<Placed>& open) const {
    double left = at.left;
    for (std::size_t i = first_[at.node]; i < first_[at.node + 1]; ++i) {
      if (width(by_parent_[i]) < kNarrowest) break;
      open.push_back({by_parent_[i], left, at.row + 1});
      left += width(by_parent_[i]);
    }
  }

  const TypeTree& tree_;
  std::vector<NodeIndex> by_parent_;
  std::vector<std::size_t> first_;  // by node: where its children begin in by_parent_
  std::vector<Placed> placed_;
  std::uint32_t rows_ = 0;
  double scale_ = 0;
};

std::vector<bool> frames_of_types(const TypeTree& tree) {
  std::vector<bool> is_type(tree.frames.size());
  for (const auto frame : tree.frame_of_type) is_type[frame] = true;
  return is_type;
}

std::string frame_svg(const TypeTree& tree,
                      const FlameLayout& layout,
                      const Placed& at,
                      double top,
                      const FlameWords& words) {
  const TypeTree::Node& node = tree.nodes[at.node];
  const std::string& name = tree.frames[node.frame];
  const double share = 100.0 * static_cast<double>(node.retained) /
                       static_cast<double>(std::max<std::uint64_t>(1, tree.nodes[0].retained));
  const double width = layout.width(at.node);
  std::string text = fmt::format(
      "<g><title>{}: {} {} ({:.1f}%), {} bytes in {} objects of its own</title>"
      "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"{}\" "
      "fill=\"{}\"/>",
      xml(name), node.retained, words.amount, share, node.bytes, node.objects, at.left, top,
      std::max(0.1, width - 1), kRow - 1.5, width > 8 ? 3 : 0,
      words.is_colourful[node.frame] ? colour_of(name) : kPlainColour);
  const std::string label = shortened(name, width);
  if (!label.empty()) {
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", at.left + 5, top + kRow - 6,
                        label);
  }
  return text + "</g>\n";
}

std::string head_svg(const FlameWords& words, double height) {
  constexpr std::string_view kSans = "system-ui, sans-serif";
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"monospace\" font-size=\"11\">\n"
      "<title>{2}</title>\n{5}"
      "<rect class=\"page\" width=\"100%\" height=\"100%\" fill=\"#f7f7f5\"/>\n"
      "<text x=\"{3:.0f}\" y=\"27\" font-family=\"{6}\" font-size=\"18\" font-weight=\"600\">"
      "{2}</text>\n"
      "<text class=\"soft\" x=\"{3:.0f}\" y=\"47\" font-family=\"{6}\" "
      "font-size=\"13\">{4}</text>\n",
      kWidth, height, xml(words.title), kMargin, xml(words.subtitle), kStyle, kSans);
}

}  // namespace

void put_flames(ExportStream& out, const TypeTree& tree, const FlameWords& words) {
  const FlameLayout layout(tree);
  const double height = kHead + layout.rows() * kRow + kMargin;
  out.put(head_svg(words, height));
  for (const Placed& at : layout.placed()) {
    if (out.has_failed()) break;
    out.put(frame_svg(tree, layout, at, height - kMargin - (at.row + 1) * kRow, words));
  }
  out.put("</svg>\n");
}

Result<void> write_svg(const snapshot::Snapshot& snapshot,
                       Sink& sink,
                       const ExportOptions& options) {
  const TypeTree tree = make_type_tree(snapshot);
  FlameWords words;
  words.title = fmt::format("Heap of process {} by holder", snapshot.header.pid);
  words.subtitle =
      fmt::format("{} bytes{}. A frame holds those above it: they would be freed with it.",
                  tree.nodes[0].retained, snapshot.complete ? "" : ", partial");
  words.amount = "bytes retained";
  words.is_colourful = frames_of_types(tree);
  ExportStream out(sink, options);
  put_flames(out, tree, words);
  return out.finish();
}

}  // namespace heapattach
