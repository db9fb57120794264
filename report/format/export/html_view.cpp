#include "report/format/export/html_view.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "report/analyze/explaining_roots.h"
#include "report/analyze/outermost.h"
#include "report/format/export/root_groups.h"
#include "report/format/export/rooted_graph.h"
#include "report/format/export/tree_growth.h"
#include "report/parallel.h"
#include "report/redact/library_names.h"
#include "report/short_names.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::kNone;
using analyze::ObjectIndex;
using snapshot::Snapshot;
using snapshot::TypeIndex;

// Runs independent pieces of work in parallel.
void run_together(std::initializer_list<std::function<void()>> pieces) {
  std::atomic<std::size_t> next = 0;
  run_workers(workers_for(pieces.size()), [&](unsigned) {
    for (std::size_t at = next++; at < pieces.size(); at = next++) pieces.begin()[at]();
  });
}

std::vector<RootGroup> places_of(const Snapshot& snapshot, const analyze::RootOrder& order) {
  std::vector<std::uint32_t> roots = order.numbers;
  std::sort(roots.begin(), roots.end());
  return group_roots(snapshot, roots);
}

// The tree of an earlier snapshot, made as the view makes its own.
TypeTree earlier_tree(const Snapshot& earlier) {
  const RootedGraph rooted(earlier, places_of(earlier, analyze::RootOrder(earlier)));
  return make_type_tree(earlier, rooted, analyze::find_dominators(rooted.view()));
}

class ViewMaker {
 public:
  explicit ViewMaker(const Snapshot& snapshot)
      : snapshot_(snapshot),
        holding_(snapshot, analyze::RootOrder(snapshot)),
        edge_names_(snapshot) {
    count();
  }

  void find_holders() {
    places_ = places_of(snapshot_, holding_.roots);
    run_together({[this] { find_dominators(); }, [this] { find_root_paths(); }});
  }

  void find_growth(const Snapshot& earlier) {
    growth_ = grown_since(earlier_tree(earlier), type_tree_);
    view_.has_growth = true;
  }

  void find_sizes() {
    run_together({[this] { make_links(); }, [this] { find_suspects(); }});
    add_retained();
  }

  // Chooses the objects to look into: `wanted`, those on the paths to suspects, the examples of the
  // largest types, and those that retain most.
  void choose_objects(std::vector<ObjectIndex> wanted) {
    constexpr std::size_t kMostExamples = HtmlView::kMostObjects / 4;
    for (const analyze::Suspect& suspect : view_.suspects.found) {
      for (const analyze::Step& step : suspect.root_path) wanted.push_back(step.object);
    }
    wanted.resize(std::min(wanted.size(), HtmlView::kMostObjects / 2));
    std::vector<const analyze::MergedPaths::Merged*> root_paths;
    for (const auto& root_path : view_.root_paths) root_paths.push_back(&root_path);
    std::stable_sort(root_paths.begin(), root_paths.end(),
                     [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    root_paths.resize(std::min(root_paths.size(), kMostExamples));
    for (const auto* root_path : root_paths) wanted.push_back(root_path->nearest);
    view_.objects =
        inspect_objects(snapshot_, holding_.retained, std::move(wanted), HtmlView::kMostObjects);
  }

  HtmlView take() && { return std::move(view_); }

 private:
  // The rows, and the names of those that are shown.
  void count() {
    view_.counts = choose_rows(count_objects(snapshot_), {});
    auto& rows = view_.counts.rows;
    std::stable_partition(rows.begin(), rows.end(),
                          [](const snapshot::CountRow& row) { return row.is_reachable; });
    for (std::size_t i = HtmlView::kMostRows; i < rows.size(); ++i) {
      ++view_.left_out_rows;
      view_.left_out_objects += rows[i].objects;
      view_.left_out_bytes += rows[i].bytes;
    }
    rows.resize(std::min(rows.size(), HtmlView::kMostRows));
    std::unordered_map<std::string_view, NameIndex> by_name;
    for (const snapshot::CountRow& row : rows) {
      by_name.emplace(row.type, static_cast<NameIndex>(view_.names.size()));
      view_.names.push_back(terminal_text(shown_type_name(row.type)));
    }
    for (const snapshot::Type& type : snapshot_.types) {
      const auto row = by_name.find(type.name);
      view_.name_of_type.push_back(row == by_name.end() ? kNone : row->second);
    }
    for (const snapshot::CountRow& row : rows) {
      if (is_own_type(row.type)) view_.own.push_back(by_name.at(row.type));
    }
    view_.has_edges = !snapshot_.first_edge.empty() && !holding_.roots.numbers.empty();
  }

  // By the name alone: "Shop::Session", and not "Array(Shop::Session)" or "(buffer of …)".
  [[nodiscard]] bool is_own_type(std::string_view name) const {
    for (const std::string_view word : {"struct ", "class ", "union "}) {
      if (name.starts_with(word)) name.remove_prefix(word.size());
    }
    const std::string_view path = name.substr(0, name.find_first_of("(<[*"));
    return !path.empty() && !is_library_type(path, language_of(snapshot_.header.runtime));
  }

  // Computes dominators, first with root locations among them, for the tree, then without.
  void find_dominators() {
    const RootedGraph rooted(snapshot_, places_);
    analyze::Dominators& found = holding_.dominators;
    found = analyze::find_dominators(rooted.view());
    holding_.bytes.resize(rooted.size(), 0);  // a location has no bytes of its own
    auto& retained = holding_.retained;
    retained = analyze::retained_bytes(found, holding_.bytes);
    holding_.bytes.resize(rooted.objects);
    type_tree_ = make_type_tree(snapshot_, rooted, found);
    add_stacks(rooted);
    label_frames_.resize(rooted.objects, kNone);
    for (ObjectIndex object = 0; object < rooted.objects; ++object) {
      const ObjectIndex by = found.of[object];
      if (by == kNone || by < rooted.objects) continue;
      label_frames_[object] = type_tree_.frame_of_label[by - rooted.objects];
      found.of[object] = kNone;
    }
    found.of.resize(rooted.objects);
    retained.resize(rooted.objects);
    std::erase_if(found.order, [&](ObjectIndex at) { return at >= rooted.objects; });
  }

  void add_stacks(const RootedGraph& rooted) {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      const snapshot::Root& root = snapshot_.roots[places_[place].roots.front()];
      const std::uint64_t retained = holding_.retained[rooted.roots[place]];
      if (snapshot::root_kind(root.kind).word != snapshot::RootWord::OnStack) continue;
      if (root.thread) {
        view_.threads.push_back({static_cast<std::uint64_t>(*root.thread), retained});
      } else if (root.fiber) {
        view_.fibers.push_back({*root.fiber, retained});
      }
    }
  }

  void find_suspects() {
    holding_.is_outermost =
        analyze::outermost_of_groups(holding_.dominators, holding_.types, snapshot_.types.size());
    view_.suspects =
        analyze::find_suspects(snapshot_, holding_, root_paths_, edge_names_, *merged_);
  }

  void find_root_paths() {
    root_paths_ = analyze::shortest_root_paths(
        {snapshot_.first_edge, snapshot_.edges, holding_.roots.objects},
        holding_.roots.path_order());
    merged_.emplace(snapshot_, root_paths_, holding_.roots.numbers, edge_names_);
    view_.root_paths = merged_->group_all(HtmlView::kMostRootPaths);
  }

  // The frame of the tree that holds an object directly.
  [[nodiscard]] TypeTree::FrameIndex holder_of(ObjectIndex object) const {
    const ObjectIndex by = holding_.dominators.of[object];
    if (by != kNone) return type_tree_.frame_of_type[snapshot_.objects[by].type];
    return label_frames_[object];
  }

  void make_links() {
    std::unordered_map<std::uint64_t, TypeIndex> numbers;
    std::vector<HtmlView::Link> links;
    FlatArray<TypeIndex> link_of(snapshot_.objects.size(), 0);
    std::uint64_t last_key = ~std::uint64_t{0};
    TypeIndex last = 0;
    for (const ObjectIndex object : holding_.dominators.order) {
      const TypeTree::FrameIndex held = type_tree_.frame_of_type[snapshot_.objects[object].type];
      const std::uint64_t key = std::uint64_t{holder_of(object)} << 32 | held;
      if (key != last_key) {
        const auto [at, is_new] = numbers.try_emplace(key, static_cast<TypeIndex>(links.size()));
        if (is_new) links.push_back({static_cast<NameIndex>(key >> 32), held, 0, 0, 0});
        last_key = key;
        last = at->second;
      }
      links[last].objects += 1;
      links[last].bytes += holding_.bytes[object];
      link_of[object] = last;
    }
    const std::vector<bool> is_outermost = analyze::outermost_of_groups(
        holding_.dominators, link_of, std::max<std::size_t>(1, links.size()));
    for (const ObjectIndex object : holding_.dominators.order) {
      if (is_outermost[object]) links[link_of[object]].retained += holding_.retained[object];
    }
    std::erase_if(links, [](const HtmlView::Link& link) { return link.holder == kNone; });
    std::stable_sort(links.begin(), links.end(),
                     [](const auto& a, const auto& b) { return a.retained > b.retained; });
    links.resize(std::min(links.size(), HtmlView::kMostLinks));
    view_.links = std::move(links);
  }

  // Adds retained bytes to the rows, and the names.
  void add_retained() {
    auto& rows = view_.counts.rows;
    std::vector<std::uint64_t> sums(rows.size());
    for (const ObjectIndex object : holding_.dominators.order) {
      const NameIndex name = view_.name_of_type[snapshot_.objects[object].type];
      if (holding_.is_outermost[object] && name != kNone) sums[name] += holding_.retained[object];
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].is_reachable) rows[row].sizes = snapshot::RowSizes{0, sums[row]};
    }
    name_frames();
    for (HtmlView::Link& link : view_.links) {
      link.holder = name_of_frame(link.holder);
      link.held = name_of_frame(link.held);
    }
    choose_nodes();
  }

  void name_frames() {
    names_.assign(type_tree_.frames.size(), kNone);
    for (TypeIndex type = 0; type < snapshot_.types.size(); ++type) {
      names_[type_tree_.frame_of_type[type]] = view_.name_of_type[type];
    }
  }
  NameIndex name_of_frame(TypeTree::FrameIndex frame) {
    NameIndex& name = names_[frame];
    if (name == kNone) {
      name = static_cast<NameIndex>(view_.names.size());
      view_.names.push_back(type_tree_.frames[frame]);
    }
    return name;
  }

  // Chooses the nodes of the tree that retain most. A node retains no more than its parent, and
  // comes after it.
  void choose_nodes() {
    const auto& nodes = type_tree_.nodes;
    std::vector<TypeTree::NodeIndex> chosen(nodes.size());
    for (TypeTree::NodeIndex node = 0; node < nodes.size(); ++node) chosen[node] = node;
    const auto most = static_cast<std::ptrdiff_t>(std::min(chosen.size(), HtmlView::kMostNodes));
    std::partial_sort(chosen.begin(), chosen.begin() + most, chosen.end(),
                      [&](TypeTree::NodeIndex a, TypeTree::NodeIndex b) {
                        return std::tuple(nodes[b].retained, a) < std::tuple(nodes[a].retained, b);
                      });
    chosen.resize(static_cast<std::size_t>(most));
    std::sort(chosen.begin(), chosen.end());
    std::unordered_map<TypeTree::NodeIndex, std::uint32_t> numbers;
    for (const TypeTree::NodeIndex index : chosen) {
      const TypeTree::Node& node = nodes[index];
      numbers.emplace(index, static_cast<std::uint32_t>(view_.tree.size()));
      view_.tree.push_back({numbers[node.parent], name_of_frame(node.frame), node.objects,
                            node.bytes, node.retained});
      if (!view_.has_growth) continue;
      view_.tree.back().grown = growth_.all[index];
      view_.tree.back().own_grown = growth_.own[index];
    }
  }

  const Snapshot& snapshot_;
  analyze::Holding holding_;
  HtmlView view_;
  std::vector<RootGroup> places_;
  analyze::ShortestPaths root_paths_;
  analyze::EdgeNames edge_names_;
  std::optional<analyze::MergedPaths> merged_;
  TypeTree type_tree_;
  TreeGrowth growth_;                               // empty without an earlier snapshot
  std::vector<TypeTree::FrameIndex> label_frames_;  // by object: for the location that holds it
  std::vector<NameIndex> names_;                    // by frame of the tree
};

}  // namespace

Result<HtmlView> make_html_view(const Snapshot& snapshot,
                                HtmlWishes wishes,
                                const Deadline& deadline) {
  constexpr auto kWhat = "finding what holds what";
  ViewMaker maker(snapshot);
  HA_TRY(deadline.check(kWhat));
  if (snapshot.first_edge.empty() || snapshot.roots.empty()) return std::move(maker).take();
  maker.find_holders();
  HA_TRY(deadline.check(kWhat));
  if (wishes.earlier != nullptr) maker.find_growth(*wishes.earlier);
  HA_TRY(deadline.check(kWhat));
  maker.find_sizes();
  HA_TRY(deadline.check(kWhat));
  maker.choose_objects(std::move(wishes.objects));
  return std::move(maker).take();
}

}  // namespace heapattach
