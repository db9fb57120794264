#include "report/format/read/ruby/dump.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/read/ruby/join.h"
#include "report/format/read/ruby/names.h"
#include "report/format/read/ruby/own_lines.h"
#include "report/format/read/ruby/pieces.h"
#include "report/model/counts.h"

namespace heapattach::ruby {

namespace {

using snapshot::Snapshot;

// In a whole file, one in this many references may be to an object that is missing.
constexpr std::uint64_t kFewMissing = 100;
// Roots have few references: tolerates one in this many, or a few in all.
constexpr std::uint64_t kFewMissingOfRoots = 50;
constexpr std::uint64_t kFewInAll = 10;

Error broken(const std::string& file,
             const RubyPieces& pieces,
             std::size_t piece,
             std::size_t line,
             std::string_view what) {
  for (std::size_t before = 0; before < piece; ++before) line += pieces.all[before].lines;
  return {ErrorKind::Malformed, fmt::format("{}, line {}: {}", file, line, what)};
}

// A file of shapes alone: each is an object that references the one that it was made from.
void take_shapes_as_objects(RubyPieces& pieces) {
  std::unordered_map<std::uint64_t, std::uint64_t> addresses;  // by id
  for (const RubyPiece& piece : pieces.all) {
    if (!piece.objects.empty()) return;
    for (const ShapeRecord& shape : piece.shapes) addresses.emplace(shape.id, shape.address);
  }
  Tables& tables = pieces.tables.front();
  for (RubyPiece& piece : pieces.all) {
    if (!piece.shapes.empty()) piece.tables = &tables;
    for (const ShapeRecord& shape : piece.shapes) {
      Identity identity;
      identity.kind = tables.kind("SHAPE", shape.kind);
      snapshot::Object object{};
      object.address = shape.address & ((std::uint64_t{1} << 48) - 1);
      object.is_reachable = 1;
      object.type = tables.type(identity);
      object.size_class = tables.sizes.size_class(shape.memsize != 0 ? shape.memsize : 1);
      if (!shape.name.empty()) piece.add_text(shape.name);
      const auto parent = shape.parent ? addresses.find(*shape.parent) : addresses.end();
      if (parent != addresses.end()) {
        piece.edges.push_back(
            {parent->second & ((std::uint64_t{1} << 48) - 1), tables.key("parent")});
      }
      piece.add(object);
    }
  }
}

// Why the dump is partial; empty if it is whole.
std::string what_is_missing(const RubyPieces& pieces,
                            const Joined& joined,
                            const DumpOptions& options) {
  bool is_cut = pieces.is_cut;
  bool has_end = false;
  std::size_t lines = 0;
  for (const RubyPiece& piece : pieces.all) {
    is_cut |= piece.is_cut;
    has_end |= piece.has_end;
    lines += piece.lines;
  }
  const bool needs_end = pieces.is_heap_dump || !options.own_file.empty();
  if (is_cut || (needs_end && !has_end)) {
    return fmt::format("the dump ends early, at line {}", lines);
  }
  if (needs_end) return {};
  if (joined.missing_roots > kFewInAll &&
      joined.missing_roots * kFewMissingOfRoots > joined.root_references) {
    return fmt::format(
        "{} of {} references of roots are to objects that the dump lacks: it was cut off, or made "
        "with since:",
        joined.missing_roots, joined.root_references);
  }
  if (joined.missing * kFewMissing <= joined.references) return {};
  return fmt::format(
      "{} of {} references are to objects that the dump lacks: it was cut off, or made with the "
      "option since:",
      joined.missing, joined.references);
}

void report_missing(const RubyPieces& pieces, const Joined& joined, const DumpOptions& options) {
  const std::uint64_t missing = joined.missing + joined.missing_roots;
  if (missing == 0 || !options.note) return;
  options.note(fmt::format(
      "{} references are {}", missing,
      pieces.is_heap_dump ? "plain numbers" : "to objects that the dump lacks, and are left out"));
}

}  // namespace

bool is_dump(const read::TextFile& file) {
  std::string_view beginning = file.beginning();
  if (beginning.starts_with("{\"type\"") || beginning.starts_with("{\"address\"")) return true;
  if (!beginning.starts_with('[')) return false;
  beginning.remove_prefix(1);
  while (!beginning.empty() && (beginning.front() == '\n' || beginning.front() == ' ')) {
    beginning.remove_prefix(1);
  }
  return beginning.starts_with("{\"id\":");
}

Result<Snapshot> read_dump(read::TextFile file, const DumpOptions& given) {
  const std::string name = file.name();
  DumpOptions options = given;
  options.has_own_table =
      !options.own_file.empty() && !file.beginning().starts_with("{\"type\":\"TRACED\"}");
  RubyPieces pieces = HA_TRY(read_pieces(std::move(file), options));
  std::uint64_t free_slots = 0;
  for (std::size_t at = 0; at < pieces.all.size(); ++at) {
    const auto& wrong = pieces.all[at].wrong;
    if (wrong) return broken(name, pieces, at, wrong->line, wrong->what);
    free_slots += pieces.all[at].free_slots;
  }
  take_shapes_as_objects(pieces);
  apply_own_lines(pieces);
  Snapshot snapshot;
  snapshot.header.source = pieces.is_heap_dump ? "heap_dump" : "dump_all";
  snapshot.header.runtime = "ruby";
  const Names names(pieces);
  const Joined joined = join(pieces, names, options.with_edges, snapshot);
  if (!joined.wrong.empty()) return broken(name, pieces, joined.piece, joined.line, joined.wrong);
  if (snapshot.objects.empty()) {
    return Error{ErrorKind::Malformed, fmt::format("{} lists no objects", name)};
  }
  if (free_slots != 0 && options.note) {
    options.note(fmt::format("{} free slots are left out", free_slots));
  }
  report_missing(pieces, joined, options);
  snapshot.reason = what_is_missing(pieces, joined, options);
  snapshot.complete = snapshot.reason.empty();
  if (options.with_edges) snapshot.header.typed = count_objects(snapshot).typed;
  return snapshot;
}

}  // namespace heapattach::ruby
