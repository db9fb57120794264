#include "symbols/boehm/arch/thread_ids.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "attach/arch/thread_data.h"

namespace heapattach::boehm {

namespace {

constexpr std::uint64_t kLongest = 4096;
constexpr std::size_t kMostThreads = 16;

bool is_link(std::uint64_t word) {
  return word >= 4096 && word % 8 == 0;
}

// Whether the thread's number is at `at`, after two links. A number alone may be there by chance:
// in a pid namespace, numbers are small.
bool has_number(const FrozenThread& thread, RemoteAddr at, const Capture& capture) {
  const auto number = capture.read_as<std::int32_t>(at);
  if (!number || *number != thread.number_in_target()) return false;
  const auto links = capture.read_as<std::array<std::uint64_t, 2>>(at - 16);
  return links && is_link(links->front()) && is_link(links->back());
}

}  // namespace

// A pthread_t is the address of glibc's data about a thread. On x86-64, that is the thread pointer.
// On aarch64, the data end at the thread pointer, and their length depends on the release: the
// thread's number in them shows where they begin. Most threads show
// the same place: the number of one that has ended since the freeze may be unknown.
std::uint64_t id_below_pointer(std::uint16_t machine,
                               const Capture& capture,
                               std::span<const FrozenThread> threads) {
  const ThreadData* const data_at = thread_data(machine);
  if (data_at == nullptr || data_at->self_at) return 0;
  std::vector<const FrozenThread*> asked;
  for (const FrozenThread& thread : threads) {
    if (thread.registers && asked.size() < kMostThreads) asked.push_back(&thread);
  }
  std::uint64_t found = 0;
  std::ptrdiff_t most = 0;
  for (std::uint64_t bytes = data_at->number_at + 16; bytes <= kLongest; bytes += 16) {
    const auto shows = [&](const FrozenThread* thread) {
      const RemoteAddr begin = thread->registers->thread_pointer - bytes;
      return has_number(*thread, begin + data_at->number_at, capture);
    };
    const auto count = std::count_if(asked.begin(), asked.end(), shows);
    if (count > most) found = bytes;
    most = std::max(most, count);
  }
  return found;
}

}  // namespace heapattach::boehm
