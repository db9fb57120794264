#include "report/format/read/read_pieces.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "report/format/read/object_lines.h"
#include "report/format/read/records.h"
#include "report/parallel.h"

namespace heapattach::read {

namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class BlockReader {
 public:
  BlockReader(NameTables& names, const LineBlock& block, bool with_edges)
      : block_(block), objects_(names, piece_, block.number, with_edges), records_(piece_) {
    piece_.names = &names;
    piece_.objects.reserve(block.size / 64);
    piece_.edge_ends.reserve(block.size / 64);
  }

  Piece read() && {
    std::string_view text = block_.text();
    while (!text.empty() && !piece_.wrong) {
      const auto end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++piece_.lines;
      if (!objects_.read_plain(line)) {
        if (is_blank(line)) continue;
        std::string wrong = read_any(line);
        const bool is_cut = text.empty() && block_.is_last_line_cut;
        if (!wrong.empty() && is_cut) {
          piece_.is_cut = true;
          break;
        }
        if (!wrong.empty()) piece_.wrong = Wrong{piece_.lines, std::move(wrong)};
      }
      if (piece_.first_record == 0) piece_.first_record = piece_.lines;
      piece_.last_record = piece_.lines;
    }
    finish_values();
    return std::move(piece_);
  }

 private:
  std::string read_any(std::string_view line) {
    std::string wrong;
    const std::string kind = Records::kind_of(line, wrong);
    if (kind.empty()) return wrong;
    return kind == "object" ? objects_.read_any(line) : records_.read(kind, line);
  }

  void finish_values() {
    snapshot::ValuePiece& values = piece_.values;
    if (values.values.empty()) {
      values = {};
    } else {
      values.first_value.resize(piece_.objects.size() + 1,
                                static_cast<std::uint32_t>(values.values.size()));
    }
  }

  const LineBlock& block_;
  Piece piece_;
  ObjectLines objects_;
  Records records_;
};

class PiecesReader {
 public:
  PiecesReader(TextFile file, const ReadOptions& options)
      : source_(std::move(file), options.block_bytes), options_(options) {}

  Result<Pieces> read() && {
    const unsigned workers = workers_for(~std::size_t{0});
    for (unsigned i = 0; i < workers; ++i) found_.names.emplace_back();
    run_workers(workers, [this](unsigned worker) { work(found_.names[worker]); });
    if (error_) return std::move(*error_);
    found_.is_cut = source_.file().is_cut();
    return std::move(found_);
  }

 private:
  void work(NameTables& names) {
    LineBlock block;
    while (claim(block)) {
      Piece piece = BlockReader(names, block, options_.with_edges).read();
      const std::lock_guard lock(pieces_mutex_);
      if (piece.wrong) is_over_ = true;
      if (found_.all.size() <= block.number) found_.all.resize(block.number + 1);
      found_.all[block.number] = std::move(piece);
    }
  }

  // The next block. Blocks are claimed in order, so none is missing before a wrong one.
  bool claim(LineBlock& block) {
    const std::lock_guard lock(source_mutex_);
    if (is_over_) return false;
    auto in_time = options_.deadline.check("reading the snapshot");
    auto more = in_time ? source_.next(block) : Result<bool>(std::move(in_time).error());
    if (!more) error_ = std::move(more).error();
    if (!more || !*more) is_over_ = true;
    return !is_over_;
  }

  LineSource source_;
  const ReadOptions& options_;
  std::mutex source_mutex_;
  std::mutex pieces_mutex_;
  std::atomic<bool> is_over_ = false;
  std::optional<Error> error_;
  Pieces found_;
};

}  // namespace

Result<Pieces> read_pieces(TextFile file, const ReadOptions& options) {
  return PiecesReader(std::move(file), options).read();
}

}  // namespace heapattach::read
