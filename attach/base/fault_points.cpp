#include "attach/base/fault_points.h"

#include <array>

#ifdef HEAPATTACH_FAULT_POINTS
#include <atomic>
#include <cerrno>
#include <cstdlib>
#endif

namespace heapattach {

namespace {

constexpr std::array<std::string_view, kFaultPoints> kNames{
    "open",        "read",         "readlink", "pidfd_open",       "poll",
    "getdents",    "fstat task",   "seize",    "interrupt",        "waitpid",
    "event",       "resume",       "detach",   "getregs",          "setregs",
    "peeksiginfo", "getsigmask",   "peek",     "process_vm_readv", "read mem",
    "mmap arena",  "start thread", "work"};

}  // namespace

std::string_view fault_point_name(std::size_t number) {
  if (number < 1 || number > kNames.size()) return {};
  return kNames[number - 1];
}

#ifdef HEAPATTACH_FAULT_POINTS

namespace {

struct Chosen {
  unsigned long number = 0;
  int failure = EIO;
  unsigned long hit = 0;  // 0: each
};

Chosen read_choice() noexcept {
  Chosen chosen;
  const char* text = std::getenv("HEAPATTACH_FAULT");
  if (text == nullptr) return chosen;
  char* rest = nullptr;
  chosen.number = std::strtoul(text, &rest, 10);
  if (*rest == ':') chosen.failure = static_cast<int>(std::strtol(rest + 1, &rest, 10));
  if (*rest == ':') chosen.hit = std::strtoul(rest + 1, &rest, 10);
  return chosen;
}

}  // namespace

bool fault_at(FaultPoint point) noexcept {
  static const Chosen chosen = read_choice();
  static std::atomic<unsigned long> hits{0};
  if (chosen.number != static_cast<unsigned long>(point)) return false;
  if (const unsigned long hit = ++hits; chosen.hit != 0 && hit != chosen.hit) return false;
  errno = chosen.failure;
  return true;
}

#endif

}  // namespace heapattach
