// Graphviz's dot language: `dot -Tsvg`. Comments at the end list what was cut off.

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/roots.h"
#include "report/format/write/text_reports.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

// terminal_text() leaves no backslash single; dot reads "\\" as one.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : terminal_text(text)) {
    if (letter == '"') result += '\\';
    result += letter;
  }
  return result + '"';
}

}  // namespace

std::string format_graph_dot(const snapshot::Snapshot& snapshot,
                             const analyze::Neighbourhood& found) {
  analyze::EdgeNames names(snapshot);
  const auto address_of = [&](snapshot::ObjectIndex object) {
    return std::uint64_t{snapshot.objects[object].address};
  };
  std::string out = "digraph heap {\n  rankdir=LR;\n  node [shape=box];\n";
  std::size_t number = 0;
  for (const snapshot::ObjectIndex object : shown_objects(found)) {
    const bool is_asked_for = number++ < found.objects.size();
    const std::string label = analyze::object_in_words(snapshot, object);
    out += fmt::format("  \"{:#x}\" [label={}{}];\n", address_of(object), quoted(label),
                       is_asked_for ? ", style=bold" : "");
  }
  for (const auto& link : found.links) {
    const std::string label = names.name(link.from, link.word);
    out += fmt::format("  \"{:#x}\" -> \"{:#x}\" [label={}];\n", address_of(link.from),
                       address_of(link.to), quoted(label));
  }
  number = 0;
  for (const auto& holder : found.roots) {
    const std::string words = analyze::root_in_words(snapshot, snapshot.roots[holder.root]);
    out += fmt::format("  root{} [label={}, shape=oval];\n", ++number, quoted(words));
    out += fmt::format("  root{} -> \"{:#x}\";\n", number, address_of(holder.to));
  }
  for (const std::string& line : cut_lines(found)) out += fmt::format("  // cut: {}\n", line);
  return out + "}\n";
}

}  // namespace heapattach
