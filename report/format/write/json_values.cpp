#include "report/format/write/json_values.h"

#include "report/model/find_values.h"
#include "report/text/json_text.h"

namespace heapattach {

namespace {

using snapshot::Value;
using snapshot::ValuePiece;

bool append_value(std::string& out, const ValuePiece& piece, const Value& value) {
  if (value.is_text) return append_json_string(out, piece.text_of(value));
  out += piece.text_of(value);
  return false;
}

}  // namespace

bool append_json_values(std::string& out,
                        const snapshot::Snapshot& snapshot,
                        snapshot::ObjectIndex object) {
  const ValuePiece* piece = piece_of(snapshot, object);
  if (piece == nullptr) return false;
  const auto& paths = snapshot.types[snapshot.objects[object].type].value_paths;
  bool is_lossy = false;
  bool is_cut = false;
  bool is_open = false;
  for (const Value& value : piece->of(object)) {
    is_cut |= value.is_cut;
    if (value.path == Value::kOwn) {
      out += ",\"value\":";
    } else {
      out += is_open ? "," : ",\"values\":{";
      is_open = true;
      is_lossy |= append_json_string(out, paths[value.path]);
      out += ':';
    }
    is_lossy |= append_value(out, *piece, value);
  }
  if (is_open) out += '}';
  if (is_cut) out += ",\"cut\":true";
  return is_lossy;
}

}  // namespace heapattach
