#pragma once

#include <memory>
#include <optional>
#include <string>

#include "report/collect/dumped_heap.h"
#include "report/collect/opened.h"
#include "report/model/model.h"
#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/machine.h"

namespace heapattach {

// A Ruby process or its core file, opened to be read. Nothing is stopped. Never moved.
class RubyTarget : public snapshot::Opened {
 public:
  // Null if the process does not run Ruby.
  static Result<std::unique_ptr<RubyTarget>> open(const Request& request);

  explicit RubyTarget(Opened opened) : Opened(std::move(opened)) {}
  RubyTarget(const RubyTarget&) = delete;
  RubyTarget& operator=(const RubyTarget&) = delete;
  ~RubyTarget() = default;

  ruby::Interpreter ruby;
  std::optional<ruby::Machine> machine;  // none: the heap cannot be read from outside
  std::string no_machine;                // the reason why it cannot; empty if it can
};

// Whether reading the heap from outside gives all that `options` ask for. It gives neither values
// nor the lines of allocations.
[[nodiscard]] bool can_read_ruby_from_outside(const RubyTarget& target,
                                              const snapshot::DumpedOptions& options);

// Completes the dry run of a process in which no other heap was found. Returns false if the process
// does not run Ruby. `from_outside`: the user does not want a copy of the process to dump its
// objects.
Result<bool> examine_ruby(const Request& request, bool from_outside, snapshot::Examination& found);

// Stops the process, copies the pages of Ruby's heap, and lets it go: no code runs anywhere. The
// result is partial, because nothing was collected first, and says so.
Result<snapshot::Snapshot> read_ruby_from_outside(const RubyTarget& target,
                                                  const snapshot::DumpedOptions& options);

}  // namespace heapattach
