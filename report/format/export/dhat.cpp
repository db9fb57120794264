// The format of valgrind's DHAT for its dh_view.html: JSON with `ftbl`, the frames, and `pps`,
// which has for each path its bytes, its blocks and its frames by number, innermost first. The
// viewer groups by the innermost frame, so its tree begins with types and continues with their
// holders.
//
// A snapshot has no lifetimes and no accesses: `bklt` and `bkacc` are false, and all keys about
// those are left out. `te`, the time at the end, is still required (without it the viewer stops
// with "data file is missing a field: te"). `ftbl[0]` must be "[root]".

#include "report/format/export/formats.h"
#include "report/format/export/stream.h"
#include "report/format/export/type_tree.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

void put_json(ExportStream& out, std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  out.put(quoted);
}

void put_head(ExportStream& out, const snapshot::Snapshot& snapshot) {
  out.put("{\"dhatFileVersion\":2,\"mode\":");
  put_json(out, snapshot.complete ? "heap snapshot" : "heap snapshot, partial: " + snapshot.reason);
  out.put(",\"verb\":\"Held\",\"bklt\":false,\"bkacc\":false,\"bu\":\"byte\",\"bsu\":\"bytes\"");
  out.put(",\"bksu\":\"objects\",\"tu\":\"ms\",\"Mtu\":\"s\",\"cmd\":");
  put_json(out, snapshot.header.exe);
  out.put(",\"pid\":");
  out.put_decimal(static_cast<std::uint64_t>(snapshot.header.pid));
  out.put(",\"te\":0,\n\"pps\":[");
}

}  // namespace

Result<void> write_dhat(const snapshot::Snapshot& snapshot,
                        Sink& sink,
                        const ExportOptions& options) {
  const TypeTree tree = make_type_tree(snapshot);
  ExportStream out(sink, options);
  put_head(out, snapshot);
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
  return out.finish();
}

}  // namespace heapattach
