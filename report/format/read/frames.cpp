#include "report/format/read/frames.h"

#include <utility>

#include "report/format/read/json_fields.h"
#include "report/model/frame_words.h"

namespace heapattach::read {

namespace {

bool read_line(JsonCursor& json, std::string_view key, snapshot::CodeLine& out) {
  if (key == "function") return json.string(out.function);
  if (key == "file") return json.string(out.file);
  if (key == "line") return read_number(json, out.line);
  if (key == "column") return read_number(json, out.column);
  return json.skip();
}

bool read_inlined(JsonCursor& json, snapshot::CodeLine& out) {
  return json.object([&](std::string_view key) {
    if (key == "lossy") return json.boolean(out.is_lossy);
    return read_line(json, key, out);
  });
}

bool read_place(JsonCursor& json, snapshot::Place& place, snapshot::Frame& frame) {
  return json.object([&](std::string_view key) {
    if (key == "pc") return json.address(place.pc);
    if (key == "module") return json.string(place.module);
    if (key == "offset") return json.address(place.offset);
    if (key == "inlined") {
      return json.array([&] { return read_inlined(json, place.inlined.emplace_back()); });
    }
    if (key == "found_by") return read_word(json, snapshot::kFoundByWords, frame.found_by);
    if (key == "lossy") return json.boolean(place.is_lossy);
    return read_line(json, key, place.at);
  });
}

}  // namespace

bool Frames::read_frame(JsonCursor& json, snapshot::Stack& out) {
  std::string_view text;
  if (!json.skipped(text)) return false;
  const auto [known, is_new] = known_.try_emplace(std::string(text));
  if (is_new) {
    known->second.place = static_cast<std::uint32_t>(piece_.places.size());
    JsonCursor frame(text);
    if (!read_place(frame, piece_.places.emplace_back(), known->second)) {
      return json.fail("not a frame");
    }
  }
  out.frames.push_back(known->second);
  return true;
}

bool Frames::is_key(std::string_view key) {
  return key == "frames" || key == "left_out" || key == "left_out_behind" || key == "end";
}

bool Frames::read(JsonCursor& json, std::string_view key, RawStack& out) {
  if (key == "frames") {
    out.has_frames = true;
    return json.array([&] { return read_frame(json, out.stack); });
  }
  if (key == "left_out") return json.number(out.stack.left_out);
  if (key == "left_out_behind") return read_number(json, out.stack.left_out_behind);
  if (key == "end") return read_word(json, snapshot::kStackEndWords, out.stack.end);
  return json.skip();
}

std::optional<std::uint32_t> Frames::keep(RawStack stack) {
  if (!stack.has_frames) return {};
  piece_.stacks.push_back(std::move(stack.stack));
  return static_cast<std::uint32_t>(piece_.stacks.size() - 1);
}

}  // namespace heapattach::read
