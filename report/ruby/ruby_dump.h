#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "attach/base/result.h"
#include "attach/sandbox/fed_worker.h"
#include "report/format/read/ruby/dump.h"
#include "report/model/model.h"

namespace heapattach {

// Reads the dump that a copy of a process writes, as it arrives. The target controls its bytes, so
// a worker without rights reads them, and its result is checked (read/ruby/passed.h).
class DumpReader {
 public:
  // `most_bytes` is the size of the largest dump to accept.
  DumpReader(ruby::DumpOptions options, std::uint64_t most_bytes)
      : options_(std::move(options)), most_bytes_(most_bytes) {}

  // Starts with a new dump. Call it only while there is one thread.
  Result<void> begin();
  // Fails once the worker has stopped reading; end() then shows why.
  Result<void> take(std::string_view bytes);
  // Ends the reading, and returns whether the dump is complete.
  bool end();

  // The reason why the dump could not be read, if it could not. Call it after end().
  [[nodiscard]] std::optional<Error> failure() const {
    return result_ && !*result_ ? std::optional(result_->error()) : std::nullopt;
  }
  [[nodiscard]] Result<snapshot::Snapshot> result() && { return *std::move(result_); }

 private:
  Result<snapshot::Snapshot> receive();

  ruby::DumpOptions options_;
  std::uint64_t most_bytes_;
  std::uint64_t taken_bytes_ = 0;
  std::unique_ptr<FedWorker> worker_;
  std::optional<Result<snapshot::Snapshot>> result_;
};

}  // namespace heapattach
