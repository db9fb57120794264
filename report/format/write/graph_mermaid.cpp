// Mermaid, as GitHub, GitLab and mermaid.live draw it, in the form that MemProf writes:
//
//    graph LR
//      0x7f12a0["0x7f12a0 Session"]
//      0x7f1300["0x7f1300 (buffer of Array(Session))"] -- "[3]" --> 0x7f12a0
//      root1(["global CACHE of app"]) --> 0x7f1200
//      %% cut: 990 more objects of the type (--objects)
//
// A link is labelled with its field. Labels are in quotes, and a quote within them is #quot;.

#include <unordered_set>

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/roots.h"
#include "report/format/write/text_reports.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : terminal_text(text)) {
    if (letter == '"') {
      result += "#quot;";
    } else if (letter == '#') {
      result += "#35;";
    } else {
      result += letter;
    }
  }
  return result + '"';
}

std::string node(const Snapshot& snapshot, ObjectIndex index) {
  return fmt::format("{:#x}[{}]", std::uint64_t{snapshot.objects[index].address},
                     quoted(analyze::object_in_words(snapshot, index)));
}

}  // namespace

std::vector<std::string> cut_lines(const analyze::Neighbourhood& found) {
  std::vector<std::string> lines;
  if (found.left_out_objects != 0) {
    lines.push_back(fmt::format("{} more objects (--objects)", found.left_out_objects));
  }
  if (found.open_objects != 0) {
    lines.push_back(fmt::format("{} of the objects shown have more references to them (--levels)",
                                found.open_objects));
  }
  if (found.has_too_many_links) {
    lines.push_back(
        fmt::format("cut off after {} links, the most that Mermaid draws", analyze::kMostLinks));
  }
  return lines;
}

std::vector<ObjectIndex> shown_objects(const analyze::Neighbourhood& found) {
  std::vector<ObjectIndex> objects = found.objects;
  std::unordered_set<ObjectIndex> seen(objects.begin(), objects.end());
  for (const auto& link : found.links) {
    if (seen.insert(link.from).second) objects.push_back(link.from);
  }
  return objects;
}

std::string format_graph_mermaid(const Snapshot& snapshot, const analyze::Neighbourhood& found) {
  analyze::EdgeNames names(snapshot);
  std::string out = "graph LR\n";
  for (const ObjectIndex object : found.objects) {
    out += fmt::format("  {}\n", node(snapshot, object));
  }
  for (const auto& link : found.links) {
    const std::string label = names.name(link.from, link.word);
    out += fmt::format("  {} -- {} --> {:#x}\n", node(snapshot, link.from), quoted(label),
                       std::uint64_t{snapshot.objects[link.to].address});
  }
  for (std::size_t i = 0; i < found.roots.size(); ++i) {
    const auto& holder = found.roots[i];
    const std::string words = analyze::root_in_words(snapshot, snapshot.roots[holder.root]);
    out += fmt::format("  root{}([{}]) --> {:#x}\n", i + 1, quoted(words),
                       std::uint64_t{snapshot.objects[holder.to].address});
  }
  for (const std::string& line : cut_lines(found)) out += fmt::format("  %% cut: {}\n", line);
  return out;
}

}  // namespace heapattach
