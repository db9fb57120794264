#include "attach/base/interrupt.h"

#include <atomic>
#include <csignal>

namespace heapattach {

namespace {

std::atomic<int> asked_by{0};
static_assert(std::atomic<int>::is_always_lock_free);  // the handler below may use it

// SA_RESETHAND has restored the default action by now, so the same signal ends us the second time.
void ask_for_end(int signal) {
  asked_by.store(signal, std::memory_order_relaxed);
  // The other signal must end us too.
  std::signal(signal == SIGINT ? SIGTERM : SIGINT, SIG_DFL);
}

pid_t heeded = 0;

void heed_guardian(int signal, siginfo_t* about, void*) {
  if (about->si_pid == heeded) asked_by.store(signal, std::memory_order_relaxed);
}

bool is_ignored(int signal) {
  struct sigaction before {};
  return sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

void install(int signal) {
  if (is_ignored(signal)) return;
  struct sigaction action {};
  action.sa_handler = ask_for_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_interrupt_handlers() {
  install(SIGINT);
  install(SIGTERM);
}

void install_interrupt_handlers(pid_t guardian) {
  heeded = guardian;
  for (const int signal : {SIGINT, SIGTERM}) {
    if (is_ignored(signal)) continue;
    struct sigaction action {};
    action.sa_sigaction = heed_guardian;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

std::optional<int> interrupted_by() noexcept {
  const int signal = asked_by.load(std::memory_order_relaxed);
  return signal == 0 ? std::nullopt : std::optional(signal);
}

void accept_interrupt() noexcept {
  asked_by.store(0, std::memory_order_relaxed);
}

Result<void> check_interrupt() {
  const auto signal = interrupted_by();
  if (!signal) return {};
  return Error{ErrorKind::Interrupted,
               *signal == SIGTERM ? "interrupted by SIGTERM" : "interrupted"};
}

}  // namespace heapattach
