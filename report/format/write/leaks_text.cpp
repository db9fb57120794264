// Leaks, for people:
//
//   145 objects leaked, 1520360 bytes, in 55 groups
//   groups  objects    bytes  root of the leak
//        5        5  1500040  (300008 bytes)
//       40      120    10240  Circle
//       10       20     1120  Circle, in a cycle
//   for instance
//   0x5581e3b4c2b0  24 bytes  Circle
//       next → 0x5581e3b4c2d0  Square
//
// After --trace, each example is followed by the code that allocated the roots of its row:
//
//       allocated here: about 39, by 12 samples
//           make_circle (shapes.cpp:12)
//           draw (shapes.cpp:40)
//
// "objects" counts the root of a leak, and everything that only it reaches.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/analyze/edge_names.h"
#include "report/format/write/leak_formats.h"
#include "report/short_names.h"
#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

std::string type_text(const Snapshot& snapshot, snapshot::TypeIndex type) {
  return terminal_text(shown_type_name(snapshot.types[type].name));
}

std::string object_text(const Snapshot& snapshot, ObjectIndex index) {
  const snapshot::Object& object = snapshot.objects[index];
  return fmt::format("{:#x}  {} bytes  {}", std::uint64_t{object.address},
                     snapshot.bytes_of(object), type_text(snapshot, object.type));
}

// A remark on the references of a leaked object.
std::string remark_on(const Snapshot& snapshot, const snapshot::Object& object) {
  if (object.is_reachable != 0) return ", not leaked";
  const heap::Kind& kind = snapshot.kind_of(object);
  return kind.is_collected ? fmt::format(", garbage of {}", kind.owner) : std::string();
}

// The object, and the first few that it references.
std::string example_text(const Snapshot& snapshot, analyze::EdgeNames& names, ObjectIndex index) {
  constexpr std::size_t kShown = 4;
  std::string text = object_text(snapshot, index) + '\n';
  const auto edges = snapshot.edges_of(index);
  for (const snapshot::Edge& to : edges.first(std::min(edges.size(), kShown))) {
    text += fmt::format("    {} → {}{}\n", terminal_text(names.name(index, to.offset_words)),
                        object_text(snapshot, to.to), remark_on(snapshot, snapshot.objects[to.to]));
  }
  if (edges.size() > kShown) text += fmt::format("    … {} more\n", edges.size() - kShown);
  return text;
}

std::string code_text(const LeakCode& code) {
  return sites_text(
      code.sites,
      [&](const CodeSite& site) {
        return fmt::format("{}allocated here: about {:.0f}, by {}",
                           code.is_of_roots ? "" : "what it references was ", site.objects,
                           counted(site.samples, "sample"));
      },
      "allocated by unknown code: before the trace, or it was not sampled");
}

std::string plural(std::uint64_t count, std::string_view of, const TextStyle& style) {
  return fmt::format("{} {}{}", count_cell(count, style), of, count == 1 ? "" : "s");
}

std::string first_line(const analyze::Leaks& found, const TextStyle& style) {
  if (found.objects == 0 && found.unconfirmed_objects > 0) {
    return fmt::format("no confirmed leaks: {}\n",
                       plural(found.unconfirmed_objects, "object", style) +
                           (found.unconfirmed_objects == 1 ? " was" : " were") +
                           " unreachable only at the second look");
  }
  if (found.objects == 0) {
    const std::uint64_t reached = found.allocated - found.ignored_objects;
    if (reached == 1) return "no leaks: the only object is reachable from a root\n";
    return fmt::format("no leaks: all {} are reachable from roots\n",
                       plural(reached, "object", style));
  }
  return fmt::format("{} leaked, {}{}, in {}\n", plural(found.objects, "object", style),
                     bytes_cell(found.bytes, style), style.with_units ? "" : " bytes",
                     plural(found.leaks, "group", style));
}

}  // namespace

std::string format_leaks_text(const Snapshot& snapshot,
                              const LeakReport& report,
                              const TextStyle& style) {
  if (!report.no_verdict.empty()) return terminal_text(report.no_verdict) + '\n';
  const analyze::Leaks& found = report.found;
  std::string text = first_line(found, style);
  const std::size_t shown = report.shown_rows();
  if (shown > 0) {
    text += table_of(leak_grid(snapshot, report), style) + "for instance\n";
    analyze::EdgeNames names(snapshot);
    for (std::size_t i = 0; i < shown; ++i) {
      text += example_text(snapshot, names, found.rows[i].example);
      if (report.trace) text += code_text(report.code[i]);
    }
  }
  if (shown < found.rows.size()) {
    text += fmt::format("… {} more; --top N shows more\n", found.rows.size() - shown);
  }
  const std::vector<std::string> places = analyze::unsearched_places(snapshot);
  if (!found.rows.empty() && !places.empty()) {
    text += fmt::format("references to them may be in what was not searched: {}\n",
                        fmt::join(places, ", "));
  }
  if (report.trace) text += recording_text(*report.trace, "leaked");
  if (found.ignored_objects != 0) {
    text += fmt::format("--ignore left out {}, {} bytes\n",
                        plural(found.ignored_objects, "object", style), found.ignored_bytes);
  }
  return text;
}

}  // namespace heapattach
