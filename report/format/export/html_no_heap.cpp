#include "report/format/export/html_sections.h"

namespace heapattach {

void put_html_no_heap(HtmlJson& json) {
  json.boolean("has_heap", false);
  json.boolean("complete", true);
  json.boolean("has_edges", false);
  json.open("totals", '{');
  json.number("bytes", 0);
  json.close('}');
  json.open("left_out", '{');
  json.number("types", 0);
  json.close('}');
  for (const char* const list : {"types", "own", "tree", "links", "ways", "objects"}) {
    json.open(list, '[');
    json.close(']');
  }
}

}  // namespace heapattach
