#include "report/stacks/mono_threads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "report/stacks/system_calls.h"

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

// The innermost words of a thread's stack.
std::vector<std::uint64_t> words_of(const FrozenThread& thread, const Capture& capture) {
  constexpr std::size_t kMostStack = 4096;
  auto stack = capture.bytes_from(thread.registers->stack_pointer);
  stack = stack.first(std::min(stack.size(), kMostStack));
  std::vector<std::uint64_t> words(stack.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), stack.data(), words.size() * sizeof(std::uint64_t));
  return words;
}

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

MonoNames::MonoNames(const mono::Facts& mono, const Capture& capture, const MemoryReader& memory)
    : capture_(capture),
      read_([&memory](std::uint64_t at) -> std::optional<std::uint64_t> {
        const auto word = memory.read_as<std::uint64_t>(RemoteAddr{at});
        return word ? std::optional(*word) : std::nullopt;
      }),
      classes_(mono, read_) {}

std::string MonoNames::awaited(const mono::AwaitedLock& awaited, const FrozenThread& thread) {
  const mono::Class* const found = classes_.of_first_word(awaited.vtable);
  std::string text =
      fmt::format("{} {:#x}", found == nullptr ? "an object" : found->name, awaited.object.value);
  if (found != nullptr && found->fields.empty() && !found->is_array && !found->is_string) {
    text += owner_text(objects_of(thread), awaited.object.value);
  }
  return text;
}

std::string MonoNames::event(const FrozenThread& thread, const Modules& modules) {
  const auto call = thread.registers ? call_of(*thread.registers, modules) : std::nullopt;
  const auto futex = call ? awaited_futex(*call) : std::nullopt;
  if (!futex) return {};
  const std::vector<std::uint64_t> words = words_of(thread, capture_);
  const bool has_handle = std::any_of(
      words.begin(), words.end(), [&](std::uint64_t word) { return mono::is_event(word, *futex); });
  if (!has_handle) return {};
  const mono::StackObjects objects(classes_, read_, words);
  const auto handle = objects.awaited_handle(*futex);
  if (!handle) return {};
  return fmt::format("{} {:#x}{}", handle->of, handle->object, owner_text(objects, handle->object));
}

mono::StackObjects MonoNames::objects_of(const FrozenThread& thread) {
  return {classes_, read_, words_of(thread, capture_)};
}

std::string MonoNames::owner_text(const mono::StackObjects& objects, std::uint64_t object) {
  const auto field = objects.reference_to(object);
  if (!field) return {};
  return fmt::format(" ({} of {} {:#x})", field->name, field->of, field->object);
}

}  // namespace heapattach::stacks
