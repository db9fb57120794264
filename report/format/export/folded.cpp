// Folded stacks, for flamegraph.pl, inferno and speedscope: a line for each path,
//
//   static data;CACHE;Hash(String, Session);(buffer of Hash(String, Session));Session 48000
//
// outermost frame first, then a space and a number: here bytes (`--countname bytes`). The number is
// what follows the last space, so spaces and brackets in frames are fine. A semicolon within a
// frame would end it, and becomes a comma. Lines end at a newline, and terminal_text leaves none.

#include <algorithm>

#include "report/format/export/tree_formats.h"

namespace heapattach {

void put_folded(ExportStream& out, TypeTree tree, TreeNumber number) {
  for (std::string& frame : tree.frames) std::replace(frame.begin(), frame.end(), ';', ',');
  for (TypeTree::NodeIndex node = 1; node < tree.nodes.size() && !out.has_failed(); ++node) {
    const TypeTree::Node& counted = tree.nodes[node];
    const std::uint64_t own = number == TreeNumber::Bytes ? counted.bytes : counted.objects;
    if (own == 0) continue;
    char before = 0;
    for (const auto frame : tree.path_to(node)) {
      if (before != 0) out.put(before);
      out.put(tree.frames[frame]);
      before = ';';
    }
    out.put(' ');
    out.put_decimal(own);
    out.put('\n');
  }
}

Result<void> write_folded(const snapshot::Snapshot& snapshot,
                          Sink& sink,
                          const ExportOptions& options) {
  ExportStream out(sink, options);
  put_folded(out, make_type_tree(snapshot), TreeNumber::Bytes);
  return out.finish();
}

}  // namespace heapattach
