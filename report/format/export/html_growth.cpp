#include "report/format/export/html_sections.h"

namespace heapattach {

void put_html_growth(HtmlJson& json, const GrowthReport& growth) {
  json.open("difference", '{');
  json.open("sources", '[');
  for (const GrowthSource& source : growth.sources) {
    json.open('[');
    json.text(source.name);
    json.text(source.captured);
    json.number(source.objects);
    json.number(source.bytes);
    json.close(']');
  }
  json.close(']');
  json.open("remarks", '[');
  for (const std::string& remark : growth.kinship.remarks) json.text(remark);
  json.close(']');
  json.boolean("has_stayed", growth.has_objects());
  json.boolean("has_kept", growth.has_kept());
  json.number("left_out", growth.difference.left_out_rows);
  json.open("rows", '[');
  for (const analyze::TypeGrowth& row : growth.difference.rows) {
    json.open('[');
    json.text(row.type);
    json.number(row.before.objects);
    json.number(row.before.bytes);
    json.number(row.after.objects);
    json.number(row.after.bytes);
    json.number(row.stayed.objects);
    json.number(row.kept.objects);
    json.close(']');
  }
  json.close(']');
  json.close('}');
}

}  // namespace heapattach
