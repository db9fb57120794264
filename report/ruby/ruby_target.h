#pragma once

#include <memory>
#include <optional>
#include <string>

#include "report/collect/examine.h"
#include "report/collect/opened.h"
#include "report/model/model.h"
#include "symbols/ruby/interpreter.h"
#include "symbols/ruby/machine.h"

namespace heapattach {

// The parts of a Ruby process to read.
struct RubyOptions {
  const Request& request;
  bool with_edges = false;
  bool with_values = false;    // texts, numbers or bytes, whatever `text_bytes` is
  std::size_t text_bytes = 0;  // of each text in the process's own dump
  bool by_line = false;        // with the line that allocated each object
  bool from_outside = false;   // the user wants no copy of the process to dump its objects
  bool while_it_runs = false;  // the user wants it to be neither copied nor stopped
};

// A Ruby process or its core file, opened to be read. Nothing is stopped. Never moved.
class RubyTarget : public snapshot::Opened {
 public:
  // `not_found` if it does not run Ruby.
  static Result<std::unique_ptr<RubyTarget>> open(const Request& request, Error not_found);

  explicit RubyTarget(Opened opened) : Opened(std::move(opened)) {}
  RubyTarget(const RubyTarget&) = delete;
  RubyTarget& operator=(const RubyTarget&) = delete;
  ~RubyTarget() = default;

  ruby::Interpreter ruby;
  std::optional<ruby::Machine> machine;  // none: it cannot be read from outside
  std::string no_machine;                // why; empty: it can
};

// Whether reading the heap from outside gives everything that `options` want: it gives no values
// and no lines.
[[nodiscard]] bool can_read_ruby_from_outside(const RubyTarget& target, const RubyOptions& options);

// Completes the dry run of a process without a collector that is known, if it runs Ruby.
// `from_outside` if the user wants no copy of the process to dump its objects.
Result<void> examine_ruby(const Request& request, bool from_outside, snapshot::Examination& found);

// Stops the process, copies the pages of Ruby's heap, and lets it go: no code runs anywhere. The
// result is partial, because nothing was collected first, and says so.
Result<snapshot::Snapshot> read_ruby_from_outside(const RubyTarget& target,
                                                  const RubyOptions& options);

}  // namespace heapattach
