#pragma once

#include <memory>
#include <optional>
#include <string>

#include "report/cli/console.h"
#include "report/cli/options.h"
#include "report/collect/examine.h"
#include "report/collect/opened.h"
#include "report/deadline.h"
#include "report/model/model.h"
#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/machine.h"

namespace heapattach {

// A Ruby process or its core file, opened to be read. Nothing is stopped. Never moved.
class RubyTarget : public snapshot::Opened {
 public:
  // `not_found` if it does not run Ruby.
  static Result<std::unique_ptr<RubyTarget>> open(const Options& options,
                                                  Console& console,
                                                  Error not_found);

  explicit RubyTarget(Opened opened) : Opened(std::move(opened)) {}
  RubyTarget(const RubyTarget&) = delete;
  RubyTarget& operator=(const RubyTarget&) = delete;
  ~RubyTarget() = default;

  ruby::Interpreter ruby;
  std::optional<ruby::Machine> machine;  // none: it cannot be read from outside
  std::string no_machine;                // why; empty: it can
};

// Whether the options' report can be made of a heap that is read from outside: it has no values and
// no lines, and edges only of some releases.
[[nodiscard]] bool can_read_ruby_from_outside(const RubyTarget& target, const Options& options);

// Whether the user asked for that: with --snapshot freeze.
[[nodiscard]] bool wants_ruby_from_outside(const Options& options);

// Completes the dry run of a process without a collector that is known, if it runs Ruby.
Result<void> examine_ruby(const Options& options, Console& console, snapshot::Examination& found);

// Stops the process, copies the pages of Ruby's heap, and lets it go: no code runs anywhere. The
// result is partial, because nothing was collected first, and says so.
Result<snapshot::Snapshot> read_ruby_from_outside(const RubyTarget& target,
                                                  const Options& options,
                                                  const Deadline& deadline,
                                                  Console& console);

}  // namespace heapattach
