#include "report/format/read/read_blocks.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "report/parallel.h"

namespace heapattach::read {

namespace {

class BlocksReader {
 public:
  BlocksReader(TextFile file, const ReadOptions& options)
      : source_(std::move(file), options.block_bytes), options_(options) {}

  Result<bool> read(unsigned workers,
                    const std::function<bool(unsigned, const LineBlock&)>& work) && {
    run_workers(workers, [&](unsigned worker) {
      LineBlock block;
      while (claim(block)) {
        if (!work(worker, block)) is_over_ = true;
      }
    });
    if (error_) return std::move(*error_);
    return source_.file().is_cut();
  }

 private:
  // The next block. Blocks are claimed in order, so none is missing before a wrong one.
  bool claim(LineBlock& block) {
    const std::lock_guard lock(source_mutex_);
    if (is_over_) return false;
    auto in_time = options_.deadline.check("reading the snapshot");
    auto more = in_time ? source_.next(block) : Result<bool>(std::move(in_time).error());
    is_over_ = !more || !*more;
    if (!more) error_ = std::move(more).error();
    return !is_over_;
  }

  LineSource source_;
  const ReadOptions& options_;
  std::mutex source_mutex_;
  std::atomic<bool> is_over_ = false;
  std::optional<Error> error_;
};

}  // namespace

Result<bool> read_blocks(TextFile file,
                         const ReadOptions& options,
                         unsigned workers,
                         const std::function<bool(unsigned worker, const LineBlock& block)>& work) {
  return BlocksReader(std::move(file), options).read(workers, work);
}

}  // namespace heapattach::read
