#include "report/trace/reached_code.h"

#include <algorithm>

#include "symbols/boehm/arch/code_uses.h"

namespace heapattach::trace {

const cs_insn* ReachedCode::decode(RemoteAddr at) const {
  return disassembler_.decode(module_.file_bytes(at), at);
}

// The destination of a jump or call, which may go through one of the linker's slots.
std::optional<RemoteAddr> ReachedCode::goal_of(const Branch& branch) const {
  if (!branch.slot) return branch.to;
  const auto goal = memory_.read_as<std::uint64_t>(*branch.slot);
  return goal ? std::optional(RemoteAddr{*goal}) : std::nullopt;
}

RemoteAddr ReachedCode::follow(RemoteAddr at) const {
  constexpr int kMostJumps = 4;
  for (int jumps = 0; jumps < kMostJumps; ++jumps) {
    const cs_insn* const first = decode(at);
    const Branch branch = first == nullptr ? Branch() : branch_of(*first, at);
    const auto goal = branch.always_jumps() ? goal_of(branch) : std::nullopt;
    if (!goal) break;
    at = *goal;
  }
  return at;
}

// The code of a function has no large gaps. What is beyond one is a function to which it jumps, and
// that nothing else shows.
std::optional<Reached> ReachedCode::read(RemoteAddr at) const {
  constexpr std::uint64_t kLargestGap = 64;
  Instructions seen;
  auto reached = read_until(at, at + kMostCode, seen);
  if (!reached) return std::nullopt;
  RemoteAddr end = at;
  for (auto one = seen.lower_bound(at); one != seen.end(); ++one) {
    if (one->first > end + kLargestGap) break;
    end = std::max(end, one->first + one->second);
  }
  if (end >= reached->end) return reached;
  seen.clear();
  return read_until(at, end, seen);
}

// Reads what jumps reach before `end`.
std::optional<Reached> ReachedCode::read_until(RemoteAddr at,
                                               RemoteAddr end,
                                               Instructions& seen) const {
  Reached reached{.at = at, .end = at, .calls = {}, .direct = {}, .named = {}};
  std::vector<RemoteAddr> next{at};
  while (!next.empty()) {
    const RemoteAddr from = next.back();
    next.pop_back();
    if (!read_run(from, end, seen, next, reached)) return std::nullopt;
  }
  return reached;
}

// Reads from `at` to the next instruction that nothing follows, or that was read before.
bool ReachedCode::read_run(RemoteAddr at,
                           RemoteAddr end,
                           Instructions& seen,
                           std::vector<RemoteAddr>& next,
                           Reached& reached) const {
  for (;;) {
    const cs_insn* const instruction = decode(at);
    if (instruction == nullptr || at - reached.at > kMostCode) return false;
    const RemoteAddr after = at + instruction->size;
    if (!seen.emplace(at, instruction->size).second) return true;
    reached.end = std::max(reached.end, after);
    const Branch branch = branch_of(*instruction, at);
    const bool is_plain = !branch.is_call && !branch.is_jump;
    if (is_plain) {
      boehm::each_target(*instruction, [&](RemoteAddr named) { reached.named.insert(named); });
    }
    const auto goal = goal_of(branch);
    const bool is_inside = goal && *goal >= reached.at && *goal < end && !is_entry_(*goal);
    if (branch.is_jump && is_inside) next.push_back(*goal);
    if (goal && (branch.is_call || !is_inside)) {
      reached.direct.push_back(*goal);
      reached.calls.push_back(follow(*goal));
    }
    if (branch.ends) return true;
    at = after;
  }
}

}  // namespace heapattach::trace
