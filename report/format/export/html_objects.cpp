#include "report/format/export/html_objects.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/roots.h"
#include "report/format/export/html_sections.h"
#include "report/model/find_values.h"

namespace heapattach {

namespace {

using snapshot::ObjectIndex;
using snapshot::Snapshot;

constexpr std::size_t kMostRoots = 5;

std::string address_of(const Snapshot& snapshot, ObjectIndex object) {
  return fmt::format("{:#x}", std::uint64_t{snapshot.objects[object].address});
}

// Adds those that retain most until there are `most`.
void add_largest(std::span<const std::uint64_t> retained,
                 std::size_t most,
                 std::vector<ObjectIndex>& chosen) {
  std::vector<ObjectIndex> order;
  for (ObjectIndex object = 0; object < retained.size(); ++object) {
    if (retained[object] != 0) order.push_back(object);
  }
  const auto some = static_cast<std::ptrdiff_t>(std::min(order.size(), most));
  std::partial_sort(order.begin(), order.begin() + some, order.end(),
                    [&](ObjectIndex a, ObjectIndex b) {
                      return std::tuple(retained[b], a) < std::tuple(retained[a], b);
                    });
  order.resize(static_cast<std::size_t>(some));
  std::vector<bool> is_chosen(retained.size());
  for (const ObjectIndex object : chosen) is_chosen[object] = true;
  for (const ObjectIndex object : order) {
    if (chosen.size() < most && !is_chosen[object]) chosen.push_back(object);
  }
}

// [what, "0x…", name or null]
void put_reference(HtmlJson& json,
                   const Snapshot& snapshot,
                   const HtmlView& view,
                   std::string_view what,
                   ObjectIndex object) {
  json.open('[');
  json.text(what);
  json.text(address_of(snapshot, object));
  const NameIndex name = view.name_of_type[snapshot.objects[object].type];
  if (name == analyze::kNone) {
    json.raw("null");
  } else {
    json.number(name);
  }
  json.close(']');
}

void put_fields(HtmlJson& json,
                const Snapshot& snapshot,
                const HtmlView& view,
                ObjectIndex object,
                analyze::EdgeNames& names) {
  const auto edges = snapshot.edges_of(object);
  const auto shown = std::min<std::size_t>(edges.size(), InspectedObject::kMostFields);
  json.open("fields", '[');
  for (const snapshot::Edge& edge : edges.first(shown)) {
    put_reference(json, snapshot, view, names.name(object, edge.offset_words), edge.to);
  }
  json.close(']');
  json.number("fields_in_all", edges.size());
}

void put_values(HtmlJson& json, const Snapshot& snapshot, ObjectIndex object) {
  const snapshot::ValuePiece* const piece = snapshot::piece_of(snapshot, object);
  if (piece == nullptr || piece->of(object).empty()) return;
  const auto& paths = snapshot.types[snapshot.objects[object].type].value_paths;
  json.open("values", '[');
  for (const snapshot::Value& value : piece->of(object)) {
    json.open('[');
    json.text(value.path == snapshot::Value::kOwn ? "" : paths[value.path]);
    json.text(std::string(piece->text_of(value)) + (value.is_cut ? "…" : ""));
    json.close(']');
  }
  json.close(']');
}

}  // namespace

std::vector<InspectedObject> inspect_objects(const Snapshot& snapshot,
                                             std::span<const std::uint64_t> retained,
                                             std::vector<ObjectIndex> wanted,
                                             std::size_t most) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  wanted.resize(std::min(wanted.size(), most));
  add_largest(retained, most, wanted);
  std::sort(wanted.begin(), wanted.end());
  std::vector<InspectedObject> found;
  std::vector<bool> is_found(snapshot.objects.size());
  std::unordered_map<ObjectIndex, std::size_t> places;
  for (const ObjectIndex object : wanted) {
    is_found[object] = true;
    places.emplace(object, found.size());
    found.push_back({object, retained[object], 0, {}, {}});
  }
  // One walk over all edges: for a few hundred objects a table of all referrers is too much.
  for (ObjectIndex from = 0; from < snapshot.objects.size(); ++from) {
    for (const snapshot::Edge& edge : snapshot.edges_of(from)) {
      if (!is_found[edge.to]) continue;
      InspectedObject& one = found[places.at(edge.to)];
      if (++one.referrer_count > InspectedObject::kMostReferrers) continue;
      one.referrers.push_back({from, edge.offset_words});
    }
  }
  for (std::uint32_t root = 0; root < snapshot.roots.size(); ++root) {
    const ObjectIndex to = snapshot.roots[root].to;
    if (!is_found[to]) continue;
    auto& roots = found[places.at(to)].roots;
    if (roots.size() < kMostRoots) roots.push_back(root);
  }
  return found;
}

void put_html_objects(HtmlJson& json,
                      const Snapshot& snapshot,
                      const HtmlView& view,
                      bool with_values) {
  analyze::EdgeNames names(snapshot);
  json.open("objects", '[');
  for (const InspectedObject& one : view.objects) {
    const NameIndex name = view.name_of_type[snapshot.objects[one.object].type];
    if (name == analyze::kNone) continue;
    json.open('{');
    json.text("address", address_of(snapshot, one.object));
    json.number("type", name);
    json.number("bytes", snapshot.bytes_of(snapshot.objects[one.object]));
    json.number("retained", one.retained);
    put_fields(json, snapshot, view, one.object, names);
    if (with_values) put_values(json, snapshot, one.object);
    json.open("roots", '[');
    for (const std::uint32_t root : one.roots) {
      json.text(analyze::root_in_words(snapshot, snapshot.roots[root]));
    }
    json.close(']');
    json.open("referrers", '[');
    for (const analyze::Referrer& by : one.referrers) {
      put_reference(json, snapshot, view, names.name(by.from, by.word), by.from);
    }
    json.close(']');
    json.number("referrers_in_all", one.referrer_count);
    json.close('}');
  }
  json.close(']');
}

}  // namespace heapattach
