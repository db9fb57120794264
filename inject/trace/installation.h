#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "attach/base/deadline.h"
#include "attach/base/guardian.h"
#include "inject/remote_control.h"
#include "inject/trace/hooks.h"
#include "inject/trace/removal.h"
#include "inject/trace/ring.h"
#include "inject/trace/stack_ends.h"

namespace heapattach::trace {

struct InstallOptions {
  std::uint64_t every = std::uint64_t{512} << 10;       // mean bytes between two samples; 1: all
  std::uint64_t stack_bytes = std::uint64_t{16} << 10;  // the limit for one sample's stack
  std::uint64_t ring_bytes = std::uint64_t{16} << 20;   // a power of two
  std::chrono::milliseconds max_pause{2000};
  // The limit for all stops of the installation together. Those of the removal are not counted.
  std::optional<std::chrono::milliseconds> most_stopped{};
  Deadline deadline{};  // for the whole run; a removal waits for at most half of what is left
  // Called if the installation fails, and what it has put into the target cannot be taken out.
  std::function<void(const Error& why)> on_not_undone = {};
};

// A trace of a process, with the blob in it. The destructor removes the blob; leave() does so, too,
// and returns how that went.
class Installation {
 public:
  // Stops the process for as long as it takes, and starts the trace. `target` and `control` must
  // outlive the result. If that fails, nothing is left in the target, or `on_not_undone` is called.
  // Returns Traced if another run traces the process, and Impossible with the reason if a trace
  // would be a risk.
  static Result<std::unique_ptr<Installation>> make(const Process& target,
                                                    RemoteControl& control,
                                                    const Hooks& hooks,
                                                    const InstallOptions& options);
  ~Installation();
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  [[nodiscard]] Ring& ring() { return *ring_; }
  // The names of the entries that are traced.
  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  // The longest stop so far.
  [[nodiscard]] std::chrono::nanoseconds pause() const { return pause_; }
  // The sum of all stops so far.
  [[nodiscard]] std::chrono::nanoseconds stopped() const { return stopped_; }
  // The word in the target for the number of the last collection that the tracer saw.
  [[nodiscard]] RemoteAddr last_collection() const;
  // False if the process has ended or runs another program now.
  [[nodiscard]] bool is_there() const;
  // False if the deaths of objects are not seen, perhaps because the program has set a handler of
  // its own.
  [[nodiscard]] bool sees_collections() const;

  // Answers the blob's questions about stacks. Call it from time to time.
  void look_at_stacks() {
    if (stacks_) stacks_->look();
  }

  // Makes the blob follow only the ends of objects from now on. It takes no new samples of malloc,
  // except for one in each thread, without its stack. For `patience`, it does not turn itself off
  // although nothing reads the ring.
  Result<void> follow_ends_only(std::chrono::nanoseconds patience);

  // Replaces the deadline in the options.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  // Removes the blob. What is still in the ring can be read afterwards.
  Result<Removed> leave();

 private:
  friend class Installer;
  Installation(const Process& target, RemoteControl& control, const Deadline& deadline)
      : target_(target), control_(control), deadline_(deadline) {}

  const Process& target_;
  RemoteControl& control_;
  Deadline deadline_;
  std::optional<Ring> ring_;
  std::vector<std::string> entries_;
  std::chrono::nanoseconds pause_{};
  std::chrono::nanoseconds stopped_{};
  BlobHead head_{};
  std::optional<StackEnds> stacks_;
  std::optional<UntilRestored> debt_{std::in_place};
  bool is_in_ = false;
};

}  // namespace heapattach::trace
