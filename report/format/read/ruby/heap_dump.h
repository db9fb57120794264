#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/text/json_cursor.h"

namespace heapattach::ruby {

struct Tables;
struct RubyPiece;
struct DumpOptions;

// Reads the dumps of the heap_dump gem, for Ruby 1.9 and 2.0: a JSON array with one object per
// line, `{"id":…,"bt":"T_STRING",…}`. An `id` is half of the object's address. Any number in a line
// may be an id or a plain number; it counts as a reference if an object has that id.
class HeapDumpLines {
 public:
  HeapDumpLines(Tables& tables, RubyPiece& piece, const DumpOptions& options)
      : tables_(tables), piece_(piece), options_(options) {}

  // Reads a line. Returns a description of the error, empty if there is none.
  std::string read(std::string_view line);

 private:
  struct Record;
  bool member(JsonCursor& json, std::string_view key, Record& record);
  static std::string path_of(const std::string& map, std::string_view key);
  bool value(JsonCursor& json, const std::string& name, bool is_list, int depth, Record& record);
  std::string add(Record& record);

  Tables& tables_;
  RubyPiece& piece_;
  const DumpOptions& options_;
};

}  // namespace heapattach::ruby
