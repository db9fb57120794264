#include "symbols/crystal/allocator_guess.h"

#include <algorithm>
#include <set>

#include "symbols/crystal/allocation_windows.h"

namespace heapattach::crystal {
namespace {

class Guess {
 public:
  Guess(const std::vector<Code>& code, const Disassembler& disassembler, const ConstantAt& constant)
      : disassembler_(disassembler), constant_(constant) {
    for (const Code& piece : code) {
      each_opcode(piece, 0xe8, [&](std::size_t at) { note_call(piece, at); });
    }
  }

  [[nodiscard]] AllocatorEntries find() const {
    AllocatorEntries surely;
    AllocatorEntries likely;
    for (const auto& [callee, windows] : calls_) {
      if (windows.size() < kFewIds) continue;
      const Judgement judgement = judge(callee, windows);
      const bool is_likely = judgement.ids >= kFewIds && judgement.sites == windows.size();
      const bool is_sure = judgement.ids >= kManyIds && judgement.sites * 2 >= windows.size();
      if (is_likely || is_sure) likely.emplace(callee, Allocator::Either);
      if (is_sure) surely.emplace(callee, Allocator::Either);
    }
    return surely.empty() ? surely : likely;
  }

 private:
  static constexpr std::size_t kManyIds = 8;
  static constexpr std::size_t kFewIds = 3;        // of a second one, for classes without pointers
  static constexpr std::size_t kMostWindows = 48;  // of one function: enough to judge it

  struct Judgement {
    std::size_t ids = 0;    // different ones
    std::size_t sites = 0;  // windows with an id
  };

  void note_call(const Code& code, std::size_t at) {
    const std::size_t from = begin_of_size(code, at);
    if (from == at) return;
    const Code window{code.start + from,
                      code.bytes.subspan(from, std::min(kWindow, code.bytes.size() - from))};
    if (!stores_constant(window.bytes)) return;
    auto& windows = calls_[target_of_jump(code, at)];
    if (windows.size() < kMostWindows) windows.push_back(window);
  }

  [[nodiscard]] Judgement judge(std::uint64_t callee, const std::vector<Code>& windows) const {
    const CallTarget target = [&](RemoteAddr at) {
      return at.value == callee ? std::optional(Allocator::Either) : std::nullopt;
    };
    std::set<std::uint32_t> ids;
    Judgement judgement;
    for (const Code& window : windows) {
      const auto sites =
          find_allocation_sites(disassembler_, window.bytes, window.start, target, constant_);
      if (sites.empty() || sites.front().id > kLargestId) continue;
      ids.insert(sites.front().id);
      ++judgement.sites;
    }
    judgement.ids = ids.size();
    return judgement;
  }

  const Disassembler& disassembler_;
  const ConstantAt& constant_;
  std::unordered_map<std::uint64_t, std::vector<Code>> calls_;
};

}  // namespace

AllocatorEntries guess_allocators(const std::vector<Code>& code,
                                  const Disassembler& disassembler,
                                  const ConstantAt& constant) {
  return Guess(code, disassembler, constant).find();
}

}  // namespace heapattach::crystal
