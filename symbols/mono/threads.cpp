#include "symbols/mono/threads.h"

#include <span>
#include <string_view>
#include <vector>

#include "attach/arch/addresses.h"
#include "symbols/text/utf8.h"

namespace heapattach::mono {

namespace {

constexpr std::uint64_t kTlsBytes = 512;     // before a thread pointer, where Mono's variables are
constexpr std::uint64_t kStackBytes = 3072;  // of a stack, where the awaited object is
constexpr std::uint64_t kLeastAddress = 0x10000;
constexpr std::uint32_t kMostName = 256;

// Offsets in an object, and in the record of its lock.
constexpr std::uint64_t kLock = 8;
constexpr std::uint64_t kLockTags = 3;
constexpr std::uint64_t kIsRecord = 2;
constexpr std::uint64_t kOwnerMask = 0xffff;
constexpr std::uint64_t kCondition = 40;
constexpr std::uint64_t kConditionBytes = 48;  // of a condition variable of glibc
constexpr std::uint64_t kWaiting = 16;         // the first entry of the list of events

// Offsets in an entry of the list of events, and in the event that the entry's handle points to.
constexpr std::uint64_t kNextWaiting = 8;
constexpr std::uint64_t kEventCondition = 56;
constexpr std::uint64_t kMostWaiting = 1 << 14;

std::uint64_t word_at(const MemoryReader& memory, std::uint64_t at) {
  if (at < kLeastAddress || at % 8 != 0 || at >= kUsualAddressEnd) return 0;
  const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
  return word ? *word : 0;
}

std::uint32_t number_at(const MemoryReader& memory, std::uint64_t at) {
  const auto number = memory.read_as<std::uint32_t>(RemoteAddr{at});
  return number ? *number : 0;
}

// The words of some memory, as far as it can be read.
std::vector<std::uint64_t> words_at(const MemoryReader& memory,
                                    RemoteAddr at,
                                    std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8);
  auto rest = std::as_writable_bytes(std::span(words));
  while (!rest.empty()) {
    const auto read = memory.read_some(at, rest);
    if (!read) break;
    at = at + *read;
    rest = rest.subspan(*read);
  }
  words.resize(words.size() - (rest.size() + 7) / 8);
  return words;
}

std::string name_at(const MemoryReader& memory, std::uint64_t at, std::uint32_t bytes) {
  if (at < kLeastAddress || bytes > kMostName) return {};
  std::string name(bytes, '\0');
  if (!memory.read(RemoteAddr{at}, std::as_writable_bytes(std::span(name)))) return {};
  for (std::string_view rest = name; !rest.empty();) {
    const Utf8Step step = next_utf8(rest);
    if (!step.is_valid || is_unsafe_to_show(step.code)) return {};
    rest.remove_prefix(step.bytes);
  }
  return name;
}

bool is_in_condition(RemoteAddr futex, std::uint64_t condition) {
  return condition != 0 && futex.value - condition < kConditionBytes;
}

// Whether a thread in Monitor.Wait waits on `futex`. Takes what it reads from `budget`.
bool has_waiting(const MemoryReader& memory,
                 std::uint64_t record,
                 RemoteAddr futex,
                 std::uint64_t& budget) {
  for (std::uint64_t entry = word_at(memory, record + kWaiting); entry != 0 && budget != 0;
       entry = word_at(memory, entry + kNextWaiting), --budget) {
    const std::uint64_t handle = word_at(memory, entry);
    if (is_event(handle, futex)) return true;
  }
  return false;
}

}  // namespace

bool is_event(std::uint64_t handle, RemoteAddr futex) {
  return handle != 0 && is_in_condition(futex, handle + kEventCondition);
}

std::optional<ManagedThread> thread_at(const ThreadClass& layout,
                                       RemoteAddr thread_pointer,
                                       const MemoryReader& memory) {
  const RemoteAddr begin{thread_pointer.value - kTlsBytes};
  for (const std::uint64_t object : words_at(memory, begin, kTlsBytes)) {
    if (word_at(memory, object) != layout.vtable) continue;
    if (word_at(memory, object + layout.native_id) != thread_pointer.value) continue;
    const std::uint64_t name = word_at(memory, object + layout.name);
    return ManagedThread{number_at(memory, object + layout.small_id),
                         name_at(memory, name, number_at(memory, object + layout.name_length))};
  }
  return std::nullopt;
}

std::optional<AwaitedLock> awaited_lock(RemoteAddr futex,
                                        RemoteAddr stack_pointer,
                                        const MemoryReader& memory) {
  std::uint64_t budget = kMostWaiting;
  for (const std::uint64_t object : words_at(memory, stack_pointer, kStackBytes)) {
    const std::uint64_t lock = word_at(memory, object + kLock);
    if ((lock & kIsRecord) == 0) continue;
    const std::uint64_t record = lock & ~kLockTags;
    const bool is_lock = is_in_condition(futex, word_at(memory, record + kCondition));
    if (!is_lock && !has_waiting(memory, record, futex, budget)) continue;
    return AwaitedLock{.is_pulse = !is_lock,
                       .object = RemoteAddr{object},
                       .vtable = word_at(memory, object),
                       .owner = static_cast<std::uint32_t>(word_at(memory, record) & kOwnerMask)};
  }
  return std::nullopt;
}

}  // namespace heapattach::mono
