#include "report/collect/hold_attempts.h"

namespace heapattach::snapshot {

namespace {

constexpr int kAttempts = 4;

bool is_refused(const Error& error) {
  return error.kind == ErrorKind::Impossible || error.kind == ErrorKind::Denied;
}

}  // namespace

Result<void> hold_attempts(Hold hold, const TakeOptions& options, const HoldAttempts& attempts) {
  for (int attempt = 1;; ++attempt) {
    auto copied = attempts.once(hold, attempt == kAttempts);
    if (copied && *copied) return {};
    if (!copied) {
      const bool may_freeze = options.hold == Hold::Auto && hold == Hold::Clone;
      if (!may_freeze || !is_refused(copied.error())) return std::move(copied).error();
      options.request.note(copied.error().message() + ": freezing instead");
      hold = Hold::Freeze;
      HA_TRY(attempts.start_afresh());
    }
    HA_TRY(options.request.deadline.check("reading the heap's index"));
    attempts.wait();
  }
}

}  // namespace heapattach::snapshot
