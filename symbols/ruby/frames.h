#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "symbols/ruby/threads.h"

namespace heapattach::ruby {

// Reads the control frames of stacks, and each code object and method once. Borrows both.
class FrameReader {
 public:
  FrameReader(const Machine& machine, const Values& values)
      : machine_(machine), values_(values), names_(machine, values) {}

  // Reads the stack of an execution context.
  FiberStack read(std::uint64_t context);
  NameReader& names() { return names_; }

  // The contents of one control frame.
  struct Raw {
    std::uint64_t pc = 0;
    std::uint64_t iseq = 0;
    Value self = 0;
    std::uint64_t environment = 0;
  };

 private:
  struct Code {
    std::string function;
    std::string file;
    std::uint32_t first_line = 0;
    std::uint32_t instructions = 0;
    std::uint64_t begin = 0;  // of its instructions
    std::uint64_t lines = 0;
    std::uint32_t line_count = 0;
    std::uint64_t line_index = 0;
  };
  struct Method {
    std::string function;
    std::string owner;
  };

  std::optional<Frame> frame_of(const Raw& raw);
  const std::optional<Code>& code_of(std::uint64_t iseq);
  std::optional<Code> read_code(std::uint64_t iseq) const;
  std::optional<std::string> label_of(std::uint64_t body) const;
  // The body of the code that contains this one.
  std::optional<std::uint64_t> parent_of(std::uint64_t body) const;
  std::uint32_t line_of(const Code& code, std::uint64_t pc) const;
  const Method& method_of(std::uint64_t entry);

  const Machine& machine_;
  const Values& values_;
  NameReader names_;
  std::unordered_map<std::uint64_t, std::optional<Code>> codes_;
  std::unordered_map<std::uint64_t, Method> methods_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> lines_;  // by code and pc
};

// The number, from 1, of the entry of a position table that covers `position`; 0 if there is none.
// `word` reads the table's words. In a succ_index_table, the first six words have seven bits for
// each of 54 positions, and each block of ten words has a rank, the ranks of parts, and a bit for
// each of 512 more.
template <class Word>
std::optional<std::uint32_t> rank_of(std::uint32_t position, const Word& word) {
  constexpr std::uint32_t kImmediate = 54;
  constexpr std::uint32_t kPerWord = 9;
  constexpr std::uint32_t kPerBlock = 512;
  constexpr std::uint32_t kBlockWords = 10;
  if (position < kImmediate) {
    const auto ranks = word(position / kPerWord);
    if (!ranks) return std::nullopt;
    return static_cast<std::uint32_t>(*ranks >> (position % kPerWord * 7) & 0x7f);
  }
  const std::uint32_t block =
      kImmediate / kPerWord + (position - kImmediate) / kPerBlock * kBlockWords;
  const std::uint32_t bit = (position - kImmediate) % kPerBlock;
  const auto rank = word(block);
  const auto parts = word(block + 1);
  const auto bits = word(block + 2 + bit / 64);
  if (!rank || !parts || !bits) return std::nullopt;
  const std::uint64_t before = bit / 64 == 0 ? 0 : *parts >> ((bit / 64 - 1) * 9) & 0x1ff;
  const std::uint64_t upto = *bits & (~std::uint64_t{0} >> (63 - bit % 64));
  return static_cast<std::uint32_t>((*rank & 0xffffffff) + before) +
         static_cast<std::uint32_t>(__builtin_popcountll(upto));
}

}  // namespace heapattach::ruby
