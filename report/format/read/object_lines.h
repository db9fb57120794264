#pragma once

#include <string>
#include <string_view>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

// Lines of objects, nearly all there is in a snapshot. Those that stand as we write them are read
// with no more than a comparison for each part that is known beforehand; others, with blanks, with
// escapes, with other keys or another order, by a JsonCursor. Both come to the same.
namespace heapattach::read {

class ObjectLines {
 public:
  // Adds to `piece`, which block `block` of the file becomes; without edges if so asked.
  ObjectLines(NameTables& names, Piece& piece, std::size_t block, bool with_edges)
      : names_(names), piece_(piece), block_(block), with_edges_(with_edges) {}

  // Reads `line` if it is an object as we write it; else false, and nothing happened.
  bool read_plain(std::string_view line);
  // Reads an object in any form. What is wrong with it, empty if nothing.
  std::string read_any(std::string_view line);

 private:
  struct Record {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t type = 0;
    snapshot::ObjectKind kind = snapshot::ObjectKind::Normal;
    bool is_reachable = true;
    bool is_lossy = false;
    bool is_cut = false;
  };

  const char* plain_marks(const char* at, const char* end, Record& record) const;
  const char* plain_edges(const char* at, const char* end, std::uint32_t type);
  const char* plain_key(const char* at,
                        const char* end,
                        std::uint32_t type,
                        KeyTable::Found& found);
  std::string any_parts(JsonCursor& json);
  bool any_edges(JsonCursor json, std::uint32_t type, std::string& wrong);
  bool any_values(JsonCursor json, std::uint32_t type, std::string& wrong);
  bool any_value(JsonCursor& json, std::uint32_t path);
  std::string add(const Record& record);

  NameTables& names_;
  Piece& piece_;
  std::size_t block_;
  bool with_edges_;
  std::string name_;
  std::uint32_t last_key_ = KeyTable::kFirst;
};

}  // namespace heapattach::read
