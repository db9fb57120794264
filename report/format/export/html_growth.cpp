#include "report/format/export/html_sections.h"
#include "report/short_names.h"

namespace heapattach {

namespace {

void put_holders(HtmlJson& json, const HtmlView& view, const GrowthReport& growth) {
  if (growth.last == nullptr) return;
  analyze::EdgeNames names(*growth.last);
  json.number("new_bytes", growth.holders.new_bytes);
  json.open("holders", '[');
  for (const analyze::GrowthHolder& holder : growth.holders.found) {
    json.open('{');
    json.text("sentence", sentence_of(growth, holder));
    json.text("type", shown_type_name(holder.type));
    json.number("objects", holder.objects);
    json.open("with", '[');
    for (const analyze::RetainedNew& other : holder.others) {
      json.open('[');
      json.text(shown_type_name(other.type));
      json.number(other.objects);
      json.number(other.bytes);
      json.close(']');
    }
    json.close(']');
    json.number("through", holder.through);
    json.number("retained", holder.retained_bytes);
    json.text("summary", holder.summary);
    put_html_steps(json, *growth.last, view, {holder.root, holder.root_path}, names);
    json.open("others", '[');
    for (const analyze::OtherPath& path : holder.other_paths) {
      json.open('[');
      json.number(path.objects);
      json.text(path.summary);
      json.close(']');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

}  // namespace

void put_html_growth(HtmlJson& json, const HtmlView& view, const GrowthReport& growth) {
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
  for (const std::string& remark : growth.origins.remarks) json.text(remark);
  json.close(']');
  json.boolean("has_stayed", growth.has_objects());
  json.boolean("has_kept", growth.has_kept());
  json.boolean("has_retained", growth.difference.has_retained);
  json.boolean("has_tree", view.has_growth);
  json.number("left_out", growth.difference.left_out_rows);
  json.open("rows", '[');
  for (const analyze::TypeGrowth& row : growth.difference.rows) {
    json.open('[');
    json.text(shown_type_name(row.type));
    json.number(row.before.objects);
    json.number(row.before.bytes);
    json.number(row.after.objects);
    json.number(row.after.bytes);
    json.number(row.stayed.objects);
    json.number(row.kept.objects);
    if (row.retained) json.number(row.retained->grown());
    json.close(']');
  }
  json.close(']');
  put_holders(json, view, growth);
  json.close('}');
}

}  // namespace heapattach
