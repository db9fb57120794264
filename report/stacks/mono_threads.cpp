#include "report/stacks/mono_threads.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/stacks/system_calls.h"
#include "symbols/mono/classes.h"

namespace heapattach::stacks {

namespace {

// Remembers what was read. All threads that wait for one object read the same list, and the target
// is stopped: no word is read twice.
class Recorder final : public MemoryReader {
 public:
  explicit Recorder(const MemoryReader& memory) : memory_(memory) {}

  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override {
    Word word{};
    const bool is_word = into.size() == word.size();
    if (const auto known = is_word ? words_.find(from.value) : words_.end();
        known != words_.end()) {
      std::copy(known->second.begin(), known->second.end(), into.begin());
      return word.size();
    }
    auto bytes = memory_.read_some(from, into);
    if (bytes) read_.push_back({from, *bytes});
    if (bytes && is_word && *bytes == word.size()) {
      std::copy(into.begin(), into.end(), word.begin());
      words_.emplace(from.value, word);
    }
    return bytes;
  }
  [[nodiscard]] std::vector<Range> take() { return std::move(read_); }

 private:
  using Word = std::array<std::byte, sizeof(std::uint64_t)>;

  const MemoryReader& memory_;
  mutable std::vector<Range> read_;
  mutable std::unordered_map<std::uint64_t, Word> words_;
};

}  // namespace

MonoThread mono_thread(const mono::Facts& mono,
                       const FrozenThread& thread,
                       const Modules& modules,
                       const MemoryReader& memory) {
  MonoThread found;
  if (!mono.threads || !thread.registers) return found;
  found.known = mono::thread_at(*mono.threads, thread.registers->thread_pointer, memory);
  const auto call = found.known ? call_of(*thread.registers, modules) : std::nullopt;
  const auto futex = call ? awaited_futex(*call) : std::nullopt;
  if (futex) found.awaits = mono::awaited_lock(*futex, thread.registers->stack_pointer, memory);
  return found;
}

std::vector<Range> memory_of_mono(const mono::Facts& mono,
                                  std::span<const FrozenThread> threads,
                                  const Modules& modules,
                                  const MemoryReader& memory) {
  Recorder recorder(memory);
  for (const FrozenThread& thread : threads) (void)mono_thread(mono, thread, modules, recorder);
  return recorder.take();
}

std::string name_of(const mono::Facts& mono,
                    const mono::AwaitedLock& awaited,
                    const MemoryReader& memory) {
  mono::ClassReader classes(mono, [&](std::uint64_t at) -> std::optional<std::uint64_t> {
    const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
    return word ? std::optional(*word) : std::nullopt;
  });
  const mono::Class* const found = classes.of_first_word(awaited.vtable);
  return fmt::format("{} {:#x}", found == nullptr ? std::string("an object") : found->name,
                     awaited.object.value);
}

}  // namespace heapattach::stacks
