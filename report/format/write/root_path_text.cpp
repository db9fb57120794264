#include "report/format/write/root_path_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/analyze/fibers.h"
#include "report/analyze/roots.h"
#include "report/format/write/json_frames.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using analyze::EdgeNames;
using snapshot::Snapshot;

constexpr std::size_t kShownLines = 16;  // of a path, before and after the omission, together
constexpr std::size_t kShownDominators = 6;

// One line of a path, which may represent several similar links.
struct Link {
  std::uint32_t kind = 0;  // of the edge
  snapshot::TypeIndex type = 0;
  std::size_t first = 0;  // number of the step
  std::size_t steps = 1;
  bool is_between_alike =
      false;  // from an object of the same known type: a list's or a tree's node
  std::set<std::string> names = {};  // of the edges after the first

  [[nodiscard]] bool looks_like(const Link& other) const {
    const bool is_same_kind = kind == other.kind || (is_between_alike && other.is_between_alike);
    return is_same_kind && type == other.type;
  }
};

// The steps after the first, with repeated ones merged, and those between nodes of one type. Links
// of lists come in cycles of up to three steps; only cycles of one are merged here.
std::vector<Link> links_of(const Snapshot& snapshot,
                           const analyze::RootPath& root_path,
                           EdgeNames& names) {
  std::vector<Link> links;
  for (std::size_t i = 1; i < root_path.size(); ++i) {
    const snapshot::TypeIndex from = snapshot.objects[root_path[i - 1].object].type;
    const snapshot::TypeIndex type = snapshot.objects[root_path[i].object].type;
    const Link link{names.kind(root_path[i - 1].object, root_path[i].by), type, i, 1,
                    from == type && snapshot.types[type].is_known()};
    if (!links.empty() && links.back().looks_like(link)) {
      ++links.back().steps;
      links.back().names.insert(names.kind_name(link.kind));
    } else {
      links.push_back(link);
    }
  }
  return links;
}

std::string cut(const std::string& text, const TextStyle& style) {
  return (style.columns == 0 ? text : shortened(text, style.columns)) + "\n";
}

}  // namespace

std::string object_text(const Snapshot& snapshot, snapshot::ObjectIndex object) {
  return terminal_text(analyze::object_in_words(snapshot, object));
}

std::string root_path_text(const Snapshot& snapshot,
                           std::uint32_t root,
                           const analyze::RootPath& root_path,
                           EdgeNames& names,
                           const TextStyle& style) {
  const std::string words = analyze::root_in_words(snapshot, snapshot.roots[root]);
  // Never cut: a root's variable comes last in its description, and is what a reader looks for.
  std::string text = "    " + terminal_text(words) + '\n';
  text += cut("      → " + object_text(snapshot, root_path.front().object), style);
  return text + steps_text(snapshot, root_path, names, style);
}

std::string steps_text(const Snapshot& snapshot,
                       const analyze::RootPath& root_path,
                       EdgeNames& names,
                       const TextStyle& style) {
  std::string text;
  const std::vector<Link> links = links_of(snapshot, root_path, names);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const bool is_cut =
        links.size() > kShownLines && i >= kShownLines / 2 && i < links.size() - kShownLines / 2;
    if (is_cut) {
      const std::size_t end = links.size() - kShownLines / 2;
      text += fmt::format("      … {} more\n", counted(links[end].first - link.first, "step"));
      i = end - 1;
      continue;
    }
    const analyze::Step& step = root_path[link.first];
    const std::string name = names.name(root_path[link.first - 1].object, step.by);
    text +=
        cut(fmt::format("      {} → {}", terminal_text(name), object_text(snapshot, step.object)),
            style);
    if (link.steps == 1) continue;
    text += cut(
        fmt::format(
            "      {} → … {} of the same, the last {:#x}",
            terminal_text(fmt::format("{}", fmt::join(link.names, "/"))), link.steps - 1,
            std::uint64_t{snapshot.objects[root_path[link.first + link.steps - 1].object].address}),
        style);
  }
  return text;
}

std::string other_paths_text(const std::vector<analyze::OtherPath>& paths, std::uint64_t objects) {
  std::string text;
  for (const analyze::OtherPath& path : paths) {
    const std::string share = objects == 1              ? ""
                              : path.objects == objects ? fmt::format("all {} ", objects)
                                                        : fmt::format("{} of them ", path.objects);
    text += fmt::format("  also {}through {}\n", share, terminal_text(path.summary));
  }
  return text;
}

std::string dominators_text(const Snapshot& snapshot,
                            const std::vector<analyze::Dominator>& dominators,
                            const TextStyle& style) {
  std::string text;
  std::size_t first = 0;
  if (dominators.size() > kShownDominators) {
    first = dominators.size() - kShownDominators;
    text += fmt::format("      … {} more above\n", first);
  }
  for (std::size_t i = first; i < dominators.size(); ++i) {
    text +=
        cut(fmt::format("      {}, retains {} bytes", object_text(snapshot, dominators[i].object),
                        dominators[i].retained_bytes),
            style);
  }
  return text;
}

void add_root_path(const Snapshot& snapshot,
                   std::uint32_t root,
                   const analyze::RootPath& root_path,
                   EdgeNames& names,
                   JsonRecord& record) {
  const snapshot::Root& from = snapshot.roots[root];
  JsonRecord begin;
  begin.text("kind", snapshot::root_kind(from.kind).key);
  begin.text("text", analyze::root_in_words(snapshot, from));
  if (from.thread) begin.number("thread", *from.thread);
  if (from.fiber) begin.address("fiber", *from.fiber);
  if (const auto frame = analyze::frame_of(snapshot, from)) {
    begin.number("frame", frame->number);
    begin.text_unless_empty("function", frame->line->function);
    begin.text_unless_empty("file", frame->line->file);
    if (frame->line->line != 0) begin.number("line", frame->line->line);
  }
  begin.text_unless_empty("variable", from.variable);
  add_root_symbol(from, begin);
  begin.text_unless_empty("module", from.module);
  if (analyze::is_leftover(snapshot, from)) begin.boolean("leftover", true);
  if (from.address != 0) begin.address("address", from.address);
  record.object("root", std::move(begin));
  record.open_list("path");
  for (std::size_t i = 0; i < root_path.size(); ++i) {
    const snapshot::Object& object = snapshot.objects[root_path[i].object];
    JsonRecord step;
    if (i != 0) step.text("by", names.name(root_path[i - 1].object, root_path[i].by));
    step.address("address", object.address);
    step.text("type", snapshot.types[object.type].name);
    if (const snapshot::Fiber* const fiber = analyze::fiber_at(snapshot, root_path[i].object)) {
      step.text_unless_empty("fiber", fiber->name);
    }
    record.item(std::move(step));
  }
  record.close_list();
}

void add_other_paths(std::string_view key,
                     const std::vector<analyze::OtherPath>& paths,
                     JsonRecord& record) {
  record.open_list(key);
  for (const analyze::OtherPath& path : paths) {
    JsonRecord item;
    item.number("objects", path.objects);
    item.text("summary", path.summary);
    record.item(std::move(item));
  }
  record.close_list();
}

void add_dominators(const Snapshot& snapshot,
                    const std::vector<analyze::Dominator>& dominators,
                    JsonRecord& record) {
  record.open_list("dominators");
  for (const analyze::Dominator& dominator : dominators) {
    const snapshot::Object& object = snapshot.objects[dominator.object];
    JsonRecord item;
    item.address("address", object.address);
    item.text("type", snapshot.types[object.type].name);
    item.number("retained_bytes", dominator.retained_bytes);
    record.item(std::move(item));
  }
  record.close_list();
}

}  // namespace heapattach
