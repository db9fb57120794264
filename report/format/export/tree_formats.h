#pragma once

#include <string>
#include <vector>

#include "report/format/export/stream.h"
#include "report/format/export/type_tree.h"

// The formats that show a tree of frames, for any kind of tree. Each is explained in its source
// file.
namespace heapattach {

// The number in each line; nodes whose own number is 0 have no line.
enum class TreeNumber : std::uint8_t { Bytes, Objects };
void put_folded(ExportStream& out, TypeTree tree, TreeNumber number);

struct FlameWords {
  std::string title;
  std::string subtitle;
  std::string amount;              // "bytes retained": the meaning of a frame's width
  std::vector<bool> is_colourful;  // by frame; the others are grey
};
void put_flames(ExportStream& out, const TypeTree& tree, const FlameWords& words);

struct DhatWords {
  std::string mode;
  std::string verb;  // "Held"
  std::string command;
  std::uint64_t pid = 0;
};
void put_dhat(ExportStream& out, const TypeTree& tree, const DhatWords& words);

}  // namespace heapattach
