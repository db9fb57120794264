#include "report/stacks/caught_signals.h"

#include <charconv>
#include <csignal>
#include <initializer_list>

#include <fmt/format.h>

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
  constexpr std::string_view kKey = "\nSigCgt:";
  const std::size_t line = status.find(kKey);
  if (line == std::string_view::npos) return {};
  std::string_view text = status.substr(line + kKey.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  text = text.substr(0, text.find('\n'));
  constexpr int kHex = 16;
  std::uint64_t mask = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mask, kHex);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return {};
  return mask & ~of_runtime();
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
