#include "report/format/write/json_frames.h"

#include <utility>

#include "report/model/frame_words.h"

namespace heapattach {

namespace {

void add_line(const snapshot::CodeLine& line, JsonRecord& record) {
  record.text_unless_empty("function", line.function);
  record.text_unless_empty("file", line.file);
  if (line.line != 0) record.number("line", line.line);
  if (line.column != 0) record.number("column", line.column);
}

JsonRecord frame_record(const snapshot::Place& place, unwind::FoundBy found_by) {
  JsonRecord record;
  record.address("pc", place.pc);
  add_line(place.at, record);
  record.text_unless_empty("module", place.module);
  if (place.offset != 0) record.address("offset", place.offset);
  if (!place.inlined.empty()) {
    record.open_list("inlined");
    for (const snapshot::CodeLine& line : place.inlined) {
      JsonRecord inner;
      add_line(line, inner);
      inner.lossy_if(line.is_lossy);
      record.item(std::move(inner));
    }
    record.close_list();
  }
  const bool is_ordinary =
      found_by == unwind::FoundBy::Registers || found_by == unwind::FoundBy::FrameTables;
  if (!is_ordinary) record.text("found_by", snapshot::word_for(snapshot::kFoundByWords, found_by));
  record.lossy_if(place.is_lossy);
  return record;
}

}  // namespace

void add_stack(const snapshot::Snapshot& snapshot,
               const snapshot::Stack& stack,
               JsonRecord& record) {
  record.open_list("frames");
  for (const snapshot::Frame& frame : stack.frames) {
    record.item(frame_record(snapshot.places.at(frame.place), frame.found_by));
  }
  record.close_list();
  if (stack.left_out != 0) {
    record.number("left_out", stack.left_out);
    record.number("left_out_behind", stack.left_out_behind);
  }
  if (stack.end != unwind::StackEnd::Outermost) {
    record.text("end", snapshot::word_for(snapshot::kStackEndWords, stack.end));
  }
}

void add_root_symbol(const snapshot::Root& root, JsonRecord& record) {
  const snapshot::RootKindRow& kind = snapshot::root_kind(root.kind);
  const bool is_register = kind.word == snapshot::RootWord::InRegister;
  record.text_unless_empty(is_register ? "register" : "symbol",
                           kind.symbol.empty() ? root.symbol : kind.symbol);
}

void FiberFrames::add(const snapshot::Fiber& fiber, JsonRecord& record) {
  if (!fiber.stack) return;
  std::uint64_t& said_by = said_by_.at(*fiber.stack);
  if (said_by != 0) {
    record.address("same_frames_as", said_by);
  } else {
    add_stack(snapshot_, snapshot_.stacks[*fiber.stack], record);
    said_by = fiber.address;
  }
}

}  // namespace heapattach
