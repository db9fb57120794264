#include "report/ruby/ruby_dump.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/read/line_source.h"
#include "report/format/read/ruby/passed.h"

namespace heapattach {

namespace {

// The memory that the worker may use, in addition to twice the size of the largest dump.
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;

Result<snapshot::Snapshot> read_dump_of(Fd input, const ruby::DumpOptions& options) {
  auto file = HA_TRY(read::TextFile::of(std::move(input), "the dump", options.deadline));
  if (!ruby::is_dump(file)) return Error{ErrorKind::Malformed, "the copy wrote no dump"};
  return ruby::read_dump(std::move(file), options);
}

}  // namespace

Result<void> DumpReader::begin() {
  result_.reset();
  worker_.reset();
  taken_bytes_ = 0;
  SandboxLimits limits;
  limits.deadline = options_.deadline;
  // The deadline may be "never", so the time is limited to a day.
  const auto left = std::min<std::chrono::steady_clock::duration>(
      options_.deadline.at - std::chrono::steady_clock::now(), std::chrono::hours(24));
  limits.time = std::chrono::ceil<std::chrono::milliseconds>(left);
  limits.memory_bytes = kMemory + 2 * most_bytes_;
  worker_ = HA_TRY(FedWorker::start(
      [this](Fd input, SandboxOutput& output) {
        std::vector<std::string> notes;
        ruby::DumpOptions options = options_;
        options.note = [&](std::string_view note) { notes.emplace_back(note); };
        ruby::pass_snapshot(read_dump_of(std::move(input), options), notes,
                            [&](std::span<const std::byte> bytes) { output.write(bytes); });
      },
      limits));
  return {};
}

Result<void> DumpReader::take(std::string_view bytes) {
  taken_bytes_ += bytes.size();
  if (taken_bytes_ > most_bytes_) {
    return Error{ErrorKind::Impossible,
                 fmt::format("the copy wrote more than {} MiB", most_bytes_ >> 20)};
  }
  return worker_->feed(bytes);
}

bool DumpReader::end() {
  worker_->end_input();
  result_ = receive();
  const bool is_whole = *result_ && (*result_)->complete;
  if (!is_whole && options_.note) {
    options_.note(*result_ ? (*result_)->reason : result_->error().message());
  }
  return is_whole;
}

Result<snapshot::Snapshot> DumpReader::receive() {
  auto taken = HA_TRY(ruby::take_snapshot_passed(
      [this](std::span<std::byte> to) { return worker_->take(to); }, taken_bytes_));
  HA_TRY(worker_->finish());
  if (options_.note && !worker_->note().empty()) options_.note(worker_->note());
  for (const std::string& note : taken.notes) {
    if (options_.note) options_.note(note);
  }
  return std::move(taken.snapshot);
}

}  // namespace heapattach
