#include "report/stacks/caught_signals.h"

#include <csignal>
#include <initializer_list>

#include <fmt/format.h>

#include "attach/process/kernel_text.h"

namespace heapattach::stacks {

namespace {

constexpr std::uint64_t bit_of(int signal) {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

// Crystal: faults, and the end of child processes. The collector: SIGPWR and SIGXCPU, to stop
// threads. The C library and later releases of both: numbers from 32.
constexpr std::uint64_t of_runtime() {
  constexpr int kFirstOfRealTime = 32;
  std::uint64_t mask = 0;
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGCHLD, SIGPIPE, SIGPWR, SIGXCPU}) {
    mask |= bit_of(signal);
  }
  return mask | ~(bit_of(kFirstOfRealTime) - 1);
}

}  // namespace

std::optional<std::uint64_t> caught_signals_in(std::string_view status) {
  constexpr int kHex = 16;
  const auto mask = number_after(status, "SigCgt", kHex);
  if (!mask) return {};
  return *mask & ~of_runtime();
}

std::string words_for(std::uint64_t signals) {
  std::string words;
  for (int signal = 1; signal <= 31; ++signal) {
    if ((signals & bit_of(signal)) == 0) continue;
    const char* const name = ::sigabbrev_np(signal);
    words += fmt::format(
        "{}{}", words.empty() ? "" : " or ",
        name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name));
  }
  return words;
}

}  // namespace heapattach::stacks
