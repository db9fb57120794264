#pragma once

#include <string>
#include <string_view>

#include "report/format/read/piece.h"
#include "symbols/text/json_cursor.h"

// Reads lines of objects, which make up nearly all of a snapshot. A line in exactly the form that
// we write is parsed by comparing its fixed parts; any other line (with blanks, escapes, other keys
// or another order) is parsed with a JsonCursor. Both give the same result.
namespace heapattach::read {

class ObjectLines {
 public:
  // Adds objects to `piece`, which is block `block` of the file. Edges are optional.
  ObjectLines(NameTables& names, Piece& piece, std::size_t block, bool with_edges)
      : names_(names), piece_(piece), block_(block), with_edges_(with_edges) {}

  // Reads `line` if it is an object in the form that we write; otherwise returns false, without
  // effect.
  bool read_plain(std::string_view line);
  // Reads an object in any form. Returns a description of the error, empty if there is none.
  std::string read_any(std::string_view line);

 private:
  struct Record {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t type = 0;
    snapshot::ObjectKind kind = snapshot::ObjectKind::Normal;
    bool is_reachable = true;
    std::uint64_t heap = 0;  // as in Piece::objects
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
