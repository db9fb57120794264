#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/filter.h>

namespace heapattach {

// Writes a seccomp filter, one rule after another: the first rule that applies decides.
//
// A filter is a program of the kernel's classic BPF, which sees a system call's number, the
// architecture it was made for, and its arguments: instructions of one word, jumps forward only. It
// cannot follow pointers, so it judges arguments only as numbers, and only by their lower halves,
// into which descriptors, ids, flags and protections fit.
class FilterProgram {
 public:
  // Rules about an argument of one call.
  class Arguments {
   public:
    // Selects the argument, from 0, that the next rules are about, and the bits of it in `mask`.
    Arguments& of(unsigned argument, std::uint32_t mask = ~std::uint32_t{0});
    Arguments& if_equal(std::uint32_t value, std::uint32_t verdict);
    Arguments& if_any_bit(std::uint32_t bits, std::uint32_t verdict);
    Arguments& if_no_bit(std::uint32_t bits, std::uint32_t verdict);
    Arguments& otherwise(std::uint32_t verdict);

   private:
    friend class FilterProgram;
    std::vector<sock_filter> code_;
  };

  // Calls that are made through another interface of the processor, which has other numbers, get
  // the verdict `foreign`.
  explicit FilterProgram(std::uint32_t foreign);

  void judge(long call, std::uint32_t verdict);
  // If none of the rules applies, the following ones decide.
  void judge(long call, const Arguments& rules);
  // For all other calls. Comes last.
  void otherwise(std::uint32_t verdict);

  [[nodiscard]] const std::vector<sock_filter>& code() const { return code_; }

 private:
  std::vector<sock_filter> code_;
};

}  // namespace heapattach
