#pragma once

#include <string>
#include <vector>

#include "report/format/export/stream.h"
#include "report/format/export/type_tree.h"

// The formats that show a tree of frames, for any such tree. Each is explained in its source.
namespace heapattach {

// One line for each node whose own number is not 0: its bytes, or its objects.
enum class TreeNumber : std::uint8_t { Bytes, Objects };
void put_folded(ExportStream& out, TypeTree tree, TreeNumber number);

struct FlameWords {
  std::string title;
  std::string subtitle;
  std::string amount;              // "bytes retained": what a frame's width is
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
