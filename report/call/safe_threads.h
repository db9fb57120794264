#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attach/memory/memory_reader.h"
#include "attach/process/memory_map.h"
#include "attach/stop/freeze.h"
#include "report/call/safe_point.h"
#include "symbols/elf/module.h"

namespace heapattach {

// Copies of the stacks of some threads. Each begins at the red zone.
class StackCopies final : public MemoryReader {
 public:
  // The most bytes that are copied of a stack. Unreadable parts are left out.
  static constexpr std::uint64_t kMostOfEach = std::uint64_t{256} << 10;

  void add(const FrozenThread& thread, const MemoryMap& map, const MemoryReader& memory);

  void clear() { pieces_.clear(); }

  // The end of the stack that contains `at`, if it was copied that far; otherwise 0.
  [[nodiscard]] RemoteAddr end_of_stack(RemoteAddr at) const;
  [[nodiscard]] Result<std::size_t> read_some(RemoteAddr from,
                                              std::span<std::byte> into) const override;

 private:
  struct Piece {
    Range range;
    bool is_to_the_end = false;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] const Piece* piece_with(RemoteAddr at) const;

  std::vector<Piece> pieces_;
};

// Finds threads of a process on which a function may be called: copies their stacks while the
// process is stopped, and checks them afterwards.
class SafeThreads {
 public:
  SafeThreads(const Process& process, const Modules& modules)
      : process_(process), modules_(modules) {}

  // Copies the stacks of the frozen threads, or only the stack of `only`. Fails if no function may
  // be called in the process at all.
  Result<void> copy(const FrozenView& view,
                    std::optional<pid_t> only,
                    const MemoryMap& map,
                    const MemoryReader& memory);

  // Returns the threads at a safe point, the first thread of the process first. Call this while
  // heapattach has only one thread, because it forks a worker.
  Result<std::vector<SafePoint>> judge(const Deadline& deadline);

  // Records why a thread is not suitable: "thread 12: it is in malloc or free".
  void object(pid_t tid, std::string_view why);
  [[nodiscard]] std::string objections() const;

 private:
  std::optional<SafePoint> judge(const unwind::StackRecord& record);
  [[nodiscard]] CodeName name_of_code(RemoteAddr pc) const;
  [[nodiscard]] Range own_function(RemoteAddr pc) const;

  const Process& process_;
  const Modules& modules_;
  StackCopies copies_;
  std::vector<FrozenThread> threads_;
  std::vector<std::string> objections_;
};

}  // namespace heapattach
