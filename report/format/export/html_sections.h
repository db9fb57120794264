#pragma once

#include "report/format/export/html_json.h"
#include "report/format/export/html_view.h"
#include "report/format/write/growth_formats.h"
#include "report/model/model.h"

// Parts of the data of a page: each puts its keys into the object that is open.
namespace heapattach {

void put_html_ways(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_suspects(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_stacks(HtmlJson& json, const snapshot::Snapshot& snapshot, const HtmlView& view);
void put_html_growth(HtmlJson& json, const GrowthReport& growth);

}  // namespace heapattach
