#include <algorithm>

#include <fmt/format.h>

#include "report/analyze/edge_names.h"
#include "report/analyze/fibers.h"
#include "report/analyze/roots.h"
#include "report/format/export/html_sections.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;

constexpr std::size_t kShownSteps = 24;  // of a path

std::string address_of(const Snapshot& snapshot, snapshot::ObjectIndex object) {
  return fmt::format("{:#x}", std::uint64_t{snapshot.objects[object].address});
}

// A step without a type is a gap, or its type has no row.
void put_step(HtmlJson& json,
              std::string_view by,
              NameIndex name,
              std::string_view remark = {},
              std::string_view fiber = {}) {
  json.open('[');
  json.text(by);
  if (name == analyze::kNone) {
    json.raw("null");
  } else {
    json.number(name);
  }
  if (!remark.empty()) json.text(remark);
  if (!fiber.empty()) json.text(fiber);
  json.close(']');
}

void put_gap(HtmlJson& json, std::size_t steps) {
  put_step(json, fmt::format("… {} more", steps), analyze::kNone);
}

}  // namespace

void put_html_paths(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  json.open("ways", '[');
  for (const auto& root_path : view.root_paths) {
    const NameIndex name = view.name_of_type[root_path.type];
    if (name == analyze::kNone) continue;
    json.open('{');
    json.number("type", name);
    json.number("objects", root_path.objects);
    json.number("bytes", root_path.bytes);
    json.text("address", address_of(snapshot, root_path.nearest));
    json.open("steps", '[');
    for (const auto& stop : root_path.stops) {
      if (stop.left_out != 0) {
        put_gap(json, stop.left_out);
      } else {
        put_step(json, stop.by, view.name_of_type[stop.type], stop.is_repeated ? "and so on" : "");
      }
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

void put_html_steps(HtmlJson& json,
                    const Snapshot& snapshot,
                    const HtmlView& view,
                    const HtmlPath& way,
                    analyze::EdgeNames& names) {
  const analyze::RootPath& root_path = way.steps;
  json.open("steps", '[');
  for (std::size_t i = 0; i < root_path.size(); ++i) {
    const bool is_cut = root_path.size() > kShownSteps && i >= kShownSteps / 2 &&
                        i < root_path.size() - kShownSteps / 2;
    if (is_cut) {
      put_gap(json, root_path.size() - kShownSteps);
      i = root_path.size() - kShownSteps / 2 - 1;
      continue;
    }
    const snapshot::Fiber* const fiber = analyze::fiber_at(snapshot, root_path[i].object);
    const std::string by = i == 0 ? analyze::root_in_words(snapshot, snapshot.roots[way.root])
                                  : names.name(root_path[i - 1].object, root_path[i].by);
    put_step(json, by, view.name_of_type[snapshot.objects[root_path[i].object].type],
             address_of(snapshot, root_path[i].object), fiber == nullptr ? "" : fiber->name);
  }
  json.close(']');
}

void put_html_suspects(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  analyze::EdgeNames names(snapshot);
  json.open("suspects", '{');
  json.number("threshold", view.suspects.threshold);
  json.boolean("small", view.suspects.is_small());
  json.open("found", '[');
  for (const analyze::Suspect& suspect : view.suspects.found) {
    json.open('{');
    json.text("sentence", suspect.sentence);
    // As in the sentence.
    json.number("retained", std::max(suspect.retained_bytes, suspect.named_retains));
    if (suspect.within) json.number("within", *suspect.within);
    put_html_steps(json, snapshot, view, {suspect.root, suspect.root_path}, names);
    json.open("contents", '[');
    for (const analyze::Content& content : suspect.contents) {
      const NameIndex name = view.name_of_type[content.type];
      if (name != analyze::kNone) json.numbers(name, content.objects, content.bytes);
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

}  // namespace heapattach
