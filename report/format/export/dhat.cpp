// The format of valgrind's DHAT for its dh_view.html: JSON with `ftbl`, the frames, and `pps`,
// which has for each path its bytes, its blocks and its frames by number, innermost first. The
// viewer groups by the innermost frame, so its tree begins with types and continues with their
// holders.
//
// A snapshot has no lifetimes and no accesses: `bklt` and `bkacc` are false, and all keys about
// those are left out. `te`, the time at the end, is still required (without it the viewer stops
// with "data file is missing a field: te"). `ftbl[0]` must be "[root]".

#include "report/format/export/tree_formats.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

void put_json(ExportStream& out, std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  out.put(quoted);
}

void put_head(ExportStream& out, const DhatWords& words) {
  out.put("{\"dhatFileVersion\":2,\"mode\":");
  put_json(out, words.mode);
  out.put(",\"verb\":");
  put_json(out, words.verb);
  out.put(",\"bklt\":false,\"bkacc\":false,\"bu\":\"byte\",\"bsu\":\"bytes\"");
  out.put(",\"bksu\":\"objects\",\"tu\":\"ms\",\"Mtu\":\"s\",\"cmd\":");
  put_json(out, words.command);
  out.put(",\"pid\":");
  out.put_decimal(words.pid);
  out.put(",\"te\":0,\n\"pps\":[");
}

}  // namespace

void put_dhat(ExportStream& out, const TypeTree& tree, const DhatWords& words) {
  put_head(out, words);
  std::string_view before = "\n";
  for (TypeTree::NodeIndex node = 1; node < tree.nodes.size() && !out.has_failed(); ++node) {
    if (tree.nodes[node].objects == 0) continue;
    out.put(before);
    before = ",\n";
    out.put("{\"tb\":");
    out.put_decimal(tree.nodes[node].bytes);
    out.put(",\"tbk\":");
    out.put_decimal(tree.nodes[node].objects);
    out.put(",\"fs\":[");
    for (auto at = node; at != 0; at = tree.nodes[at].parent) {
      if (at != node) out.put(',');
      out.put_decimal(tree.nodes[at].frame);
    }
    out.put("]}");
  }
  out.put("],\n\"ftbl\":[\"[root]\"");
  for (std::size_t frame = 1; frame < tree.frames.size(); ++frame) {
    out.put(",\n");
    put_json(out, tree.frames[frame]);
  }
  out.put("]}\n");
}

Result<void> write_dhat(const snapshot::Snapshot& snapshot,
                        Sink& sink,
                        const ExportOptions& options) {
  ExportStream out(sink, options);
  DhatWords words;
  words.mode = snapshot.complete ? "heap snapshot" : "heap snapshot, partial: " + snapshot.reason;
  words.verb = "Held";
  words.command = snapshot.header.exe;
  words.pid = static_cast<std::uint64_t>(snapshot.header.pid);
  put_dhat(out, make_type_tree(snapshot), words);
  return out.finish();
}

}  // namespace heapattach
