#pragma once

#include <cstdint>
#include <vector>

#include "report/format/write/json_record.h"
#include "report/model/model.h"

// The stacks of a snapshot in the records of its threads and fibers:
//
//   "frames":[{"pc":"0x55d0…","function":"handle","file":"src/app.cr","line":55,"module":"app",
//              "inlined":[{"function":"read","file":"src/io.cr","line":7}],"found_by":"scan"}],
//   "left_out":N,"left_out_behind":N,"end":"corrupt"
//
// The innermost frame comes first, and so does the innermost of the functions that are inlined into
// one. `found_by` marks guesses ("frame pointer", "scan") and frames that a signal interrupted
// ("signal"); `end` is left out if the stack ends normally. A fiber with exactly the frames of an
// earlier one has "same_frames_as" with that one's address instead: of 100,000 fibers most do.
namespace heapattach {

void add_stack(const snapshot::Snapshot& snapshot,
               const snapshot::Stack& stack,
               JsonRecord& record);

// Remembers which fiber's record already has its frames.
class FiberFrames {
 public:
  explicit FiberFrames(const snapshot::Snapshot& snapshot)
      : snapshot_(snapshot), said_by_(snapshot.stacks.size()) {}

  void add(const snapshot::Fiber& fiber, JsonRecord& record);

 private:
  const snapshot::Snapshot& snapshot_;
  std::vector<std::uint64_t> said_by_;  // by stack: address of the fiber; 0: none yet
};

}  // namespace heapattach
