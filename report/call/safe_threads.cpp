#include "report/call/safe_threads.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attach/arch/red_zone.h"
#include "symbols/unwind/stacks.h"

namespace heapattach {

namespace {

constexpr std::chrono::seconds kToWalk{5};
// Checking more threads than this costs more than it gains.
constexpr std::size_t kMostLookedAt = 64;
constexpr std::size_t kMostTold = 3;

}  // namespace

void StackCopies::add(const FrozenThread& thread,
                      const MemoryMap& map,
                      const MemoryReader& memory) {
  if (!thread.registers) return;
  const RemoteAddr from = thread.registers->stack_pointer - kRedZoneBytes;
  const Mapping* mapping = map.find(from);
  if (mapping == nullptr || !mapping->readable) return;
  const std::uint64_t wanted = mapping->range.end() - from;
  Piece piece;
  piece.bytes.resize(std::min(wanted, kMostOfEach));
  const auto got = memory.read_some(from, piece.bytes);
  if (!got) return;
  piece.bytes.resize(*got);
  piece.range = {from, *got};
  piece.is_to_the_end = *got == wanted;
  pieces_.push_back(std::move(piece));
}

const StackCopies::Piece* StackCopies::piece_with(RemoteAddr at) const {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                  [at](const Piece& piece) { return piece.range.contains(at); });
  return found == pieces_.end() ? nullptr : &*found;
}

RemoteAddr StackCopies::end_of_stack(RemoteAddr at) const {
  // `at` may be the end of the stack, because a frame may end there.
  const Piece* piece = piece_with(at - 1);
  return piece != nullptr && piece->is_to_the_end ? piece->range.end() : RemoteAddr{};
}

Result<std::size_t> StackCopies::read_some(RemoteAddr from, std::span<std::byte> into) const {
  const Piece* piece = piece_with(from);
  if (piece == nullptr) return Error{ErrorKind::Fault, fmt::format("{} was not copied", from)};
  const std::uint64_t offset = from - piece->range.start;
  const auto count = std::min<std::size_t>(into.size(), piece->bytes.size() - offset);
  std::memcpy(into.data(), piece->bytes.data() + offset, count);
  return count;
}

Result<void> SafeThreads::copy(const FrozenView& view,
                               std::optional<pid_t> only,
                               const MemoryMap& map,
                               const MemoryReader& memory) {
  copies_.clear();
  threads_.clear();
  objections_.clear();
  for (const FrozenThread& thread : view.threads) {
    if (thread.state == 'T') {
      return Error{ErrorKind::Os,
                   fmt::format("process {} is stopped, so nothing can run in it", process_.pid())}
          .advise("without --in-place");
    }
    const bool is_wanted = !only || *only == thread.tid;
    if (!is_wanted || !thread.registers || threads_.size() >= kMostLookedAt) continue;
    threads_.push_back(thread);
    copies_.add(thread, map, memory);
  }
  if (!threads_.empty()) return {};
  if (only) {
    return Error{ErrorKind::Os,
                 fmt::format("thread {} of process {} is not stopped", *only, process_.pid())}
        .advise("without --thread");
  }
  return Error{ErrorKind::Os, fmt::format("no thread of process {} is stopped", process_.pid())};
}

Result<std::vector<SafePoint>> SafeThreads::judge(const Deadline& deadline) {
  types::TypeModel no_types;
  unwind::StackLimits limits;
  limits.with_locals = false;
  limits.time = kToWalk;
  limits.deadline = deadline;
  auto walked = unwind::walk_stacks(modules_, no_types, copies_, {threads_, {}}, limits);
  if (!walked) return std::move(walked).error().context("walking the stacks");
  std::vector<SafePoint> points;
  for (const unwind::StackRecord& record : walked->stacks) {
    if (auto point = judge(record)) points.push_back(*std::move(point));
  }
  // The first thread comes first, because interpreters and libraries expect to be called there.
  std::stable_partition(points.begin(), points.end(),
                        [&](const SafePoint& point) { return point.tid == process_.pid(); });
  return points;
}

std::optional<SafePoint> SafeThreads::judge(const unwind::StackRecord& record) {
  const auto thread = std::find_if(threads_.begin(), threads_.end(), [&](const FrozenThread& one) {
    return one.tid == record.thread;
  });
  if (thread == threads_.end() || record.frames.empty()) return std::nullopt;
  const Registers& at = *thread->registers;
  const RemoteAddr outermost = record.frames.back().cfa;
  const RemoteAddr end = copies_.end_of_stack(outermost);
  const WalkedThread walked{record, at.system_call.has_value(),
                            end.value == 0 ? ~std::uint64_t{0} : end - outermost};
  const auto name_of = [this](RemoteAddr pc) { return name_of_code(pc); };
  if (const auto objection = objection_to_stack(walked, name_of)) {
    object(record.thread, *objection);
    return std::nullopt;
  }
  return safe_point_of(record, at, own_function(at.instruction_pointer), copies_);
}

CodeName SafeThreads::name_of_code(RemoteAddr pc) const {
  const Module* module = modules_.find(pc);
  if (module == nullptr) return {};
  const auto symbol = module->symbol_at(pc);
  return {module->name(), symbol ? std::string(symbol->name) : std::string()};
}

// The function that contains `pc`, if it is the program's own; otherwise empty, because a single
// step in the C library may take a lock.
Range SafeThreads::own_function(RemoteAddr pc) const {
  const Module* module = modules_.find(pc);
  if (module == nullptr || !module->is_main_program()) return {};
  const auto symbol = module->symbol_at(pc);
  return symbol ? Range{symbol->address, symbol->bytes} : Range{};
}

void SafeThreads::object(pid_t tid, std::string_view why) {
  objections_.push_back(fmt::format("thread {}: {}", tid, why));
}

std::string SafeThreads::objections() const {
  const std::size_t shown = std::min(objections_.size(), kMostTold);
  std::string text =
      fmt::format("{}", fmt::join(objections_.begin(),
                                  objections_.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < objections_.size()) text += fmt::format("; {} more", objections_.size() - shown);
  return text;
}

}  // namespace heapattach
