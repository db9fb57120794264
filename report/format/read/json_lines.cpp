#include "report/format/read/json_lines.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/read/join_objects.h"
#include "report/format/read/read_pieces.h"
#include "report/format/read/waits.h"

namespace heapattach::read {

namespace {

using snapshot::Snapshot;

// Checks that the records of a file's pieces are where they may be, and joins them.
class Joiner {
 public:
  Joiner(std::string file, Pieces pieces) : file_(std::move(file)), pieces_(std::move(pieces)) {
    std::size_t lines = 0;
    for (const Piece& piece : pieces_.all) {
      lines_before_.push_back(lines);
      lines += piece.lines;
      is_cut_ |= piece.is_cut;
    }
    is_cut_ |= pieces_.is_cut;
    lines_ = lines;
  }

  Result<Snapshot> join(const ReadOptions& options) && {
    HA_TRY(take_header());
    HA_TRY(take_types());
    HA_TRY(take_end());
    std::size_t skipped = 0;
    for (Piece& piece : pieces_.all) {
      take_threads(piece);
      skipped += piece.skipped_records;
    }
    resolve_mentions(mentions_, snapshot_);
    if (skipped != 0 && options.note) {
      options.note(fmt::format("{} records are of kinds that this build does not know", skipped));
    }
    HA_TRY(take_objects(options));
    HA_TRY(check_counts());
    return std::move(snapshot_);
  }

 private:
  // The threads and fibers of a piece, with their stacks.
  void take_threads(Piece& piece) {
    const auto first_place = static_cast<std::uint32_t>(snapshot_.places.size());
    const auto first_stack = static_cast<std::uint32_t>(snapshot_.stacks.size());
    for (snapshot::Place& place : piece.places) snapshot_.places.push_back(std::move(place));
    for (snapshot::Stack& stack : piece.stacks) {
      for (snapshot::Frame& frame : stack.frames) frame.place += first_place;
      snapshot_.stacks.push_back(std::move(stack));
    }
    for (auto& [thread, mentions] : piece.threads) {
      if (thread.stack) *thread.stack += first_stack;
      snapshot_.threads.push_back(std::move(thread));
      mentions_.threads.push_back(mentions);
    }
    for (auto& [fiber, same_frames_as, mentions] : piece.fibers) {
      if (fiber.stack) {
        *fiber.stack += first_stack;
        stack_of_fiber_.try_emplace(fiber.address, *fiber.stack);
      } else if (same_frames_as) {
        const auto known = stack_of_fiber_.find(*same_frames_as);
        if (known != stack_of_fiber_.end()) fiber.stack = known->second;
      }
      snapshot_.fibers.push_back(std::move(fiber));
      mentions_.fibers.push_back(mentions);
    }
  }

  [[nodiscard]] Error broken(std::size_t piece, std::size_t line, std::string_view what) const {
    return {ErrorKind::Malformed,
            fmt::format("{}, line {}: {}", file_, lines_before_[piece] + line, what)};
  }
  [[nodiscard]] Error no_snapshot(std::string_view why) const {
    return {ErrorKind::Malformed, fmt::format("{} is not a snapshot: {}", file_, why)};
  }

  // The first record of the file, and only that.
  Result<void> take_header() {
    std::size_t first = 0;
    while (first < pieces_.all.size() && pieces_.all[first].first_record == 0) ++first;
    if (first == pieces_.all.size()) return no_snapshot("it has no records");
    const Piece& head = pieces_.all[first];
    const bool has_header = !head.headers.empty() && head.headers[0].line == head.first_record;
    if (!has_header || (head.wrong && head.wrong->line == head.first_record)) {
      if (head.wrong && head.wrong->line == head.first_record) {
        return no_snapshot(fmt::format("line {}: {}", head.wrong->line, head.wrong->what));
      }
      return no_snapshot("its first record is not `snapshot`")
          .advise("heapattach trace FILE if it is a trace");
    }
    for (std::size_t piece = 0; piece < pieces_.all.size(); ++piece) {
      const auto& headers = pieces_.all[piece].headers;
      const std::size_t own = piece == first ? 1 : 0;
      if (headers.size() > own) {
        return broken(piece, headers[own].line, "a second snapshot begins here");
      }
      if (const auto& wrong = pieces_.all[piece].wrong) {
        return broken(piece, wrong->line, wrong->what);
      }
    }
    snapshot_.header = head.headers[0].record.header;
    snapshot_.heaps = head.headers[0].record.heaps;
    return {};
  }

  Result<void> take_types() {
    std::unordered_set<std::string> names;
    for (std::size_t piece = 0; piece < pieces_.all.size(); ++piece) {
      for (auto& [type, line] : pieces_.all[piece].types) {
        if (!names.insert(type.name).second) {
          return broken(piece, line, "this type already has a record");
        }
        snapshot_.types.push_back(std::move(type));
      }
    }
    return {};
  }

  // The last record of the file, if it has one.
  Result<void> take_end() {
    bool has_end = false;
    for (std::size_t piece = 0; piece < pieces_.all.size(); ++piece) {
      const Piece& here = pieces_.all[piece];
      if (has_end && here.first_record != 0) {
        return broken(piece, here.first_record, "unexpected text after the end record");
      }
      if (here.ends.empty()) continue;
      const auto& [end, line] = here.ends[0];
      if (line != here.last_record) {
        return broken(piece, line + 1, "unexpected text after the end record");
      }
      has_end = true;
      end_ = end;
    }
    snapshot_.complete = has_end && end_.complete && !is_cut_;
    snapshot_.skipped = end_.skipped;
    snapshot_.reason = end_.reason;
    if (!has_end) {
      snapshot_.reason = fmt::format("the file ends early, at line {}", lines_);
    } else if (!snapshot_.complete && snapshot_.reason.empty()) {
      snapshot_.reason = "the snapshot is marked as partial";
    }
    return {};
  }

  Result<void> take_objects(const ReadOptions& options) {
    for (const Piece& piece : pieces_.all) bytes_ += piece.bytes;
    auto joined = join_objects(pieces_, options.with_edges, snapshot_);
    if (!joined.wrong.empty()) return broken(joined.piece, joined.line, joined.wrong);
    if (joined.dropped != 0 && options.note) {
      options.note(
          fmt::format("{} pointers point to objects that are not in the file", joined.dropped));
    }
    return {};
  }

  // Lost or duplicated lines show nowhere else.
  Result<void> check_counts() const {
    if (!snapshot_.complete) return {};
    std::uint64_t roots = 0;
    for (const Piece& piece : pieces_.all) roots += piece.roots.size();
    struct Count {
      std::string_view what;
      std::optional<std::uint64_t> said;
      std::uint64_t found = 0;
    };
    for (const Count& count :
         {Count{"objects", end_.objects, snapshot_.objects.size()},
          Count{"bytes", end_.bytes, bytes_}, Count{"roots", end_.roots, roots}}) {
      if (!count.said || *count.said == count.found) continue;
      return Error{
          ErrorKind::Malformed,
          fmt::format(
              "{}: its end record says {} {}, but there are {}; lines are missing or duplicated",
              file_, *count.said, count.what, count.found)};
    }
    return {};
  }

  std::string file_;
  Pieces pieces_;
  std::vector<std::size_t> lines_before_;  // by piece
  std::size_t lines_ = 0;
  bool is_cut_ = false;
  EndRecord end_;
  std::uint64_t bytes_ = 0;
  AllMentions mentions_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_of_fiber_;  // those that say it themselves
  Snapshot snapshot_;
};

}  // namespace

Result<Snapshot> read_json_lines(TextFile file, const ReadOptions& options) {
  const std::string name = file.name();
  auto pieces = HA_TRY(read_pieces(std::move(file), options));
  return Joiner(name, std::move(pieces)).join(options);
}

Result<Snapshot> read_json_lines(const std::string& file, const ReadOptions& options) {
  return read_json_lines(HA_TRY(TextFile::open(file, options.deadline)), options);
}

}  // namespace heapattach::read
