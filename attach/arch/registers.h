#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include <sys/user.h>

#include "attach/arch/processors.h"
#include "attach/base/remote_addr.h"

namespace heapattach {

// The general registers of a thread, as many as its processor has, in the order of their names
// (register_names.h).
class GeneralRegisters {
 public:
  static constexpr std::size_t kOfX86 = 15;      // rax rbx rcx rdx rsi rdi rbp r8 … r15
  static constexpr std::size_t kOfAarch64 = 31;  // x0 … x30
  static constexpr std::size_t kOwn = kOwnProcessor == EM_X86_64 ? kOfX86 : kOfAarch64;

  GeneralRegisters() = default;  // those of this machine's processor, all 0
  GeneralRegisters(std::initializer_list<std::uint64_t> words)
      : GeneralRegisters(std::span(words)) {}
  explicit GeneralRegisters(std::span<const std::uint64_t> words)
      : count_(std::min(words.size(), kOfAarch64)) {
    std::copy_n(words.begin(), count_, words_.begin());
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const std::uint64_t* data() const { return words_.data(); }
  [[nodiscard]] const std::uint64_t* begin() const { return words_.data(); }
  [[nodiscard]] const std::uint64_t* end() const { return words_.data() + count_; }
  [[nodiscard]] std::uint64_t operator[](std::size_t number) const { return words_[number]; }
  [[nodiscard]] std::uint64_t& operator[](std::size_t number) { return words_[number]; }

 private:
  std::array<std::uint64_t, kOfAarch64> words_{};
  std::size_t count_ = kOwn;
};

// The registers of one stopped thread, as a collector or an unwinder needs them.
struct Registers {
  GeneralRegisters general;
  RemoteAddr instruction_pointer;
  RemoteAddr stack_pointer;
  RemoteAddr thread_pointer;  // x86-64: fs_base, which is glibc's pthread_t; aarch64: tpidr_el0
  // The system call that the stop interrupted, which is restarted or fails with EINTR; none if the
  // thread was not in a blocking call.
  std::optional<std::uint64_t> system_call{};
};

#ifdef __x86_64__
// All registers, in the kernel's own layout.
using RawRegisters = user_regs_struct;
#else
// The effect of a stop on the system call that the thread was in. The kernel forgets the call's
// number, and what it does next, before it stops the thread.
enum class Interruption : std::uint8_t {
  None,      // it was in no call, or the kernel still knows the call
  Restarts,  // the thread is at the call's instruction, with all arguments
  Fails,     // the thread is after it, and EINTR has replaced the first argument
};

// The general registers in the kernel's own layout, and facts that no register set has, or that the
// stop loses.
struct RawRegisters {
  user_regs_struct general{};        // x0 to x30, sp, pc, pstate
  std::uint64_t thread_pointer = 0;  // tpidr_el0
  std::int64_t call = -1;  // the call that the thread is in, or the interrupted one; -1: none
  std::uint64_t first_argument = 0;  // of `call`
  Interruption interruption = Interruption::None;
};
#endif

[[nodiscard]] Registers registers_of(const RawRegisters& raw);

[[nodiscard]] RemoteAddr instruction_pointer(const RawRegisters& at);
[[nodiscard]] RemoteAddr stack_pointer(const RawRegisters& at);
void set_instruction_pointer(RawRegisters& registers, RemoteAddr at);
[[nodiscard]] bool runs_64_bit_code(const RawRegisters& at);
[[nodiscard]] bool is_single_stepping(const RawRegisters& at);

}  // namespace heapattach
