#include "report/format/read/read_pieces.h"

#include <mutex>
#include <utility>

#include "report/format/read/object_lines.h"
#include "report/format/read/read_blocks.h"
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

}  // namespace

Result<Pieces> read_pieces(TextFile file, const ReadOptions& options) {
  Pieces found;
  const unsigned workers = workers_for(~std::size_t{0});
  for (unsigned i = 0; i < workers; ++i) found.names.emplace_back();
  std::mutex mutex;
  const auto work = [&](unsigned worker, const LineBlock& block) {
    Piece piece = BlockReader(found.names[worker], block, options.with_edges).read();
    const bool is_good = !piece.wrong;
    const std::lock_guard lock(mutex);
    if (found.all.size() <= block.number) found.all.resize(block.number + 1);
    found.all[block.number] = std::move(piece);
    return is_good;
  };
  found.is_cut = HA_TRY(read_blocks(std::move(file), options, workers, work));
  return found;
}

}  // namespace heapattach::read
