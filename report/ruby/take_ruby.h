#pragma once

#include "attach/base/result.h"
#include "report/call/function_call.h"
#include "report/model/model.h"
#include "report/ruby/ruby_target.h"

namespace heapattach {

// Takes the heap of a Ruby process: a copy of the process collects its garbage and dumps its
// objects with Ruby's own ObjectSpace, and the dump is read while the copy writes it. `not_found`
// is the reason why the process has no other supported heap; it is returned if it is not a Ruby
// process either.
Result<snapshot::Snapshot> take_from_ruby(const RubyOptions& options, Error not_found);

// Evaluates code in a copy of the process, and returns its output and value.
Result<CallReport> evaluate_ruby(const CallOptions& options, const std::string& ruby_code);

}  // namespace heapattach
