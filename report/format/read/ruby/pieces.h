#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/format/read/line_source.h"
#include "report/format/read/name_tables.h"
#include "report/format/read/piece.h"
#include "report/format/read/ruby/dump.h"

namespace heapattach::ruby {

// The facts that determine an object's type, before class names are known. Numbers refer to a
// worker's tables.
struct Identity {
  std::uint64_t of_class = 0;  // an address; 0: an internal object
  std::uint64_t shape = kNoShape;
  std::uint32_t kind = 0;     // "STRING", "DATA proc"
  std::uint32_t site = 0;     // where it was allocated; 0: unknown or not requested
  bool is_singleton = false;  // it is a singleton class

  static constexpr std::uint64_t kNoShape = ~std::uint64_t{0};
  friend bool operator==(const Identity&, const Identity&) = default;
};

// An edge of a piece: the address of an object, and the edge's name. Sixteen bits are enough for
// the name, because in a dump_all file only superclasses and whole arrays have one.
struct PackedEdge {
  std::uint64_t to : 48;  // 0: not an object, but it occupies an index
  std::uint64_t key : 16;

  static constexpr std::uint16_t kReference = 0;  // references[i]
  static constexpr std::uint16_t kElement = 1;    // [i]
  static constexpr std::uint16_t kFirstName = 2;  // of Tables::keys
};
static_assert(sizeof(PackedEdge) == 8);

// The repeated texts of one worker, as numbers.
struct Tables {
  std::vector<Identity> types;
  std::vector<std::string> kinds;
  std::vector<std::string> sites{""};
  std::vector<std::string> keys;
  read::NameTables sizes;  // only these

  std::uint32_t kind(std::string_view type, std::string_view detail);
  std::uint32_t site(std::string_view file, std::uint64_t line);
  std::uint16_t key(std::string_view name);
  std::uint32_t type(const Identity& identity);

 private:
  struct Hash {
    std::size_t operator()(const Identity& identity) const;
  };
  read::ByText<std::uint32_t> kind_numbers_, site_numbers_;
  read::ByText<std::uint16_t> key_numbers_;
  std::unordered_map<Identity, std::uint32_t, Hash> type_numbers_;
  std::string text_;
  Identity last_;
  std::uint32_t last_type_ = 0;
};

struct ClassRecord {
  std::uint64_t address = 0;
  std::uint64_t superclass = 0;
  std::string name;           // for a singleton class, the name of what it belongs to; empty: none
  bool is_singleton = false;  // and is marked as one
  bool is_included = false;   // a module among a class's ancestors
  bool is_module = false;
};

struct ShapeRecord {
  std::uint64_t address = 0;
  std::uint64_t id = 0;
  std::optional<std::uint64_t> parent;
  std::uint64_t memsize = 0;
  std::string kind;  // "IVAR"
  std::string name;  // of the instance variable that it adds; empty: none
};

struct RootRecord {
  std::string name;
  std::vector<std::uint64_t> to;
};

// A name written by our own code in a copy.
struct OwnName {
  std::uint64_t address = 0;  // of the object that has the edge; 0: a global variable
  std::uint64_t to = 0;       // 0: `text` names all edges
  std::string text;
};

// Values of fields of an object, written by our own code in a copy: "@hits=3 @state=:open".
struct OwnValues {
  std::uint64_t address = 0;
  std::string text;
};

// The text of a String, written by our own code in a copy.
struct OwnText {
  std::uint64_t address = 0;
  std::string text;
  bool is_cut = false;  // the rest was dropped
};

struct Text {
  std::uint32_t object = 0;  // of the piece
  std::uint32_t bytes = 0;
  std::uint64_t at = 0;   // in RubyPiece::text
  bool is_cut = false;    // the rest was dropped
  bool is_plain = false;  // a number, true or false; nil if it is empty
  // A field's value: its key, in Tables::keys. Not a field's: kReference.
  std::uint16_t key = PackedEdge::kReference;
};

// The records of one block.
struct RubyPiece {
  const Tables* tables = nullptr;
  std::size_t lines = 0;
  bool is_cut = false;   // its last line is incomplete, at the end of the file
  bool has_end = false;  // the closing bracket of a heap_dump file, or an END

  FlatArray<snapshot::Object> objects;
  std::vector<std::uint32_t> edge_ends;  // by object
  FlatArray<PackedEdge> edges;
  std::vector<std::pair<std::uint32_t, std::size_t>> object_lines;  // as in read::Piece
  std::vector<Text> texts;
  std::string text;
  std::vector<ClassRecord> classes;
  std::vector<ShapeRecord> shapes;
  std::vector<RootRecord> roots;
  std::vector<OwnName> own_names;
  std::vector<OwnValues> own_values;
  std::vector<OwnText> own_texts;
  std::uint64_t free_slots = 0;
  std::optional<read::Wrong> wrong;

  void add(const snapshot::Object& object);
  // Adds a text, of at most this many bytes, for the object that is added next.
  void add_text(std::string_view bytes, std::size_t most = std::string::npos);
};

// A text as our own code writes it: ":" and the text, or ";" and its bytes in hexadecimal digits.
[[nodiscard]] std::string own_text(std::string_view written);

struct RubyPieces {
  std::vector<RubyPiece> all;
  std::deque<Tables> tables;  // one per worker
  bool is_cut = false;        // its compressed data ends early
  bool is_heap_dump = false;  // the lines of the heap_dump gem
};

// Reads all lines on all cores, in either format. Stops after a malformed line; its piece has the
// error.
Result<RubyPieces> read_pieces(read::TextFile file, const DumpOptions& options);

}  // namespace heapattach::ruby
