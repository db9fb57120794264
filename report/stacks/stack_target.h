#pragma once

#include <memory>
#include <optional>
#include <string>

#include "report/collect/opened.h"
#include "report/request.h"
#include "symbols/boehm/layout.h"
#include "symbols/crystal/fibers.h"
#include "symbols/crystal/type_table.h"
#include "symbols/mono/facts.h"
#include "symbols/ruby/machine.h"

namespace heapattach::stacks {

// Everything that is learned about a target, or a core file, before it is stopped for its stacks:
// the modules of any program, and the layout of fibers in a Crystal program. Never moved.
class StackTarget : public snapshot::Opened {
 public:
  static Result<std::unique_ptr<StackTarget>> learn(const Request& request);

  explicit StackTarget(Opened opened) : Opened(std::move(opened)) {}
  StackTarget(const StackTarget&) = delete;
  StackTarget& operator=(const StackTarget&) = delete;
  ~StackTarget() = default;

  // Only for a Crystal program.
  std::optional<boehm::Layout> heap;
  crystal::TypeTable classes;
  crystal::FiberLayout fibers;
  std::string refusal;  // why --type-info was not used; empty if it was used or not given

  std::optional<ruby::Machine> ruby;     // only of a Ruby program
  std::vector<ruby::Value> ruby_fibers;  // objects that were fibers
  std::optional<mono::Facts> mono;       // only of a Mono program
  std::string ruby_refusal;  // why there are no Ruby frames; empty: there are, or it is no Ruby

 private:
  Result<void> learn_fibers(const Request& request);
  void learn_ruby(const Request& request);
};

}  // namespace heapattach::stacks
