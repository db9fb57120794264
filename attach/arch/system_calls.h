#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <linux/audit.h>
#include <sys/syscall.h>

#include "attach/arch/registers.h"

// System calls as this processor makes them: the calls that it has, and the registers of a thread
// that is stopped in one.
namespace heapattach {

// The kernel's own results for calls that it will enter again (include/linux/errno.h). Programs
// never see these results.
inline constexpr std::int64_t kRestartSys = -512;
inline constexpr std::int64_t kRestartNoIntr = -513;
inline constexpr std::int64_t kRestartNoHand = -514;
inline constexpr std::int64_t kRestartBlock = -516;  // with the rest of its time

// The call that a stopped thread is in; none if it is in user code. After an interruption, this is
// the call that was interrupted.
[[nodiscard]] std::optional<long> call_number(const RawRegisters& at);
// One of its six arguments, from 0.
[[nodiscard]] std::uint64_t call_argument(const RawRegisters& at, unsigned number);
// All six arguments of a thread whose Registers name a call.
[[nodiscard]] std::array<std::uint64_t, 6> call_arguments(const Registers& at);
// The call's result, or one of the numbers above.
[[nodiscard]] std::int64_t call_result(const RawRegisters& at);
// Whether a thread that has stopped for a call is at its entry, not at its exit.
[[nodiscard]] bool is_at_call_entry(const RawRegisters& at);

// The instruction that makes a call. A thread in a call is just after it.
[[nodiscard]] std::span<const std::byte> call_instruction();
// The numbers that a program may have loaded for a call, from the kCodeBeforeCall bytes up to the
// end of the instruction; the nearest first.
inline constexpr std::size_t kCodeBeforeCall = 40;
[[nodiscard]] std::vector<std::uint64_t> numbers_loaded(std::span<const std::byte> code);

// Makes the kernel treat the thread as being in no call: it restarts nothing and changes no
// register. At the entry of a call, it skips the call.
void leave_call(RawRegisters& registers);
// For a thread at the entry of a call: the program sees `result` instead of the call's own result.
void refuse_call(RawRegisters& registers, std::int64_t result);
// For a thread at the entry of a call: makes another call with the same arguments.
void replace_call(RawRegisters& registers, long number);
void set_call_argument(RawRegisters& registers, unsigned number, std::uint64_t value);
// For a thread after a call instruction: runs the instruction again, for call `number` and with the
// arguments in the registers.
void call_again(RawRegisters& registers, long number);
// For a thread before a call instruction: sets the call's number and arguments. Arguments that are
// not given are 0.
void set_call(RawRegisters& registers, long number, std::span<const std::uint64_t> arguments);

#ifdef __x86_64__
inline constexpr unsigned kAuditArchitecture = AUDIT_ARCH_X86_64;
// Numbers from here on belong to the x32 ABI.
inline constexpr unsigned kForeignCalls = 0x40000000;

// Calls that newer processors lack, because they have only their successors.
inline constexpr int kAccess = SYS_access;
inline constexpr int kArchPrctl = SYS_arch_prctl;
inline constexpr int kDup2 = SYS_dup2;
inline constexpr int kEpollWait = SYS_epoll_wait;
inline constexpr int kFork = SYS_fork;
inline constexpr int kGetpgrp = SYS_getpgrp;
inline constexpr int kLstat = SYS_lstat;
inline constexpr int kOpen = SYS_open;
inline constexpr int kPause = SYS_pause;
inline constexpr int kPipe = SYS_pipe;
inline constexpr int kPoll = SYS_poll;
inline constexpr int kReadlink = SYS_readlink;
inline constexpr int kRename = SYS_rename;
inline constexpr int kSelect = SYS_select;
inline constexpr int kStat = SYS_stat;
inline constexpr int kTime = SYS_time;
inline constexpr int kUnlink = SYS_unlink;
inline constexpr int kVfork = SYS_vfork;
#else
inline constexpr unsigned kAuditArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr unsigned kForeignCalls = 0x40000000;  // there are none

// Calls that this processor lacks. No call has these numbers.
inline constexpr int kAccess = -2;
inline constexpr int kArchPrctl = -3;
inline constexpr int kDup2 = -4;
inline constexpr int kEpollWait = -5;
inline constexpr int kFork = -6;
inline constexpr int kGetpgrp = -7;
inline constexpr int kLstat = -8;
inline constexpr int kOpen = -9;
inline constexpr int kPause = -10;
inline constexpr int kPipe = -11;
inline constexpr int kPoll = -12;
inline constexpr int kReadlink = -13;
inline constexpr int kRename = -14;
inline constexpr int kSelect = -15;
inline constexpr int kStat = -16;
inline constexpr int kTime = -17;
inline constexpr int kUnlink = -18;
inline constexpr int kVfork = -19;
#endif

}  // namespace heapattach
