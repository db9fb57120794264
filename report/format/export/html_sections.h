#pragma once

#include <cstdint>

#include "report/analyze/edge_names.h"
#include "report/analyze/root_paths.h"
#include "report/format/export/html_json.h"
#include "report/format/export/html_view.h"
#include "report/format/write/growth_formats.h"
#include "report/model/model.h"

// Parts of the data of a page: each adds its keys to the open object.
namespace heapattach {

void put_html_paths(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_suspects(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_stacks(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_growth(HtmlJson& json, const HtmlView& view, const GrowthReport& growth);
// For a page without a heap: the keys that the page's script expects of one.
void put_html_no_heap(HtmlJson& json);
void put_html_objects(HtmlJson& json,
                      const snapshot::Snapshot& snapshot,
                      const HtmlView& view,
                      bool with_values);

// A path from a root.
struct HtmlPath {
  std::uint32_t root;  // in Snapshot::roots
  const analyze::RootPath& steps;
};

// Writes the steps of a path from a root of the snapshot, as ["@next",name,"0x…"] each.
void put_html_steps(HtmlJson& json,
                    const snapshot::Snapshot& snapshot,
                    const HtmlView& view,
                    const HtmlPath& way,
                    analyze::EdgeNames& names);

}  // namespace heapattach
