#pragma once

#include <cstdint>
#include <vector>

#include "report/format/write/json_record.h"
#include "report/model/model.h"

// The stacks of a snapshot in the records of its threads and fibers:
//
//   "frames":[{"pc":"0x55d0…","function":"handle","file":"src/app.cr","line":55,"column":7,
//              "module":"app","offset":"0x4f2a",
//              "inlined":[{"function":"read","file":"src/io.cr","line":7}],"found_by":"scan"}],
//   "left_out":N,"left_out_behind":N,"end":"corrupt"
//
// Frames are listed innermost first, and so are the functions inlined into a frame. `found_by`
// marks guesses ("frame pointer", "scan"), frames found by the code of functions without tables
// ("code"), and frames that were interrupted by a signal ("signal").
// `end` is omitted if the stack ends normally. A fiber with exactly the same frames as an earlier
// one has "same_frames_as" with that fiber's address instead; among 100,000 fibers, most do.
namespace heapattach {

void add_stack(const snapshot::Snapshot& snapshot,
               const snapshot::Stack& stack,
               JsonRecord& record);

// Adds the symbol of a root: of a variable "symbol", of a register "register". If other kinds of
// roots have the same key, "symbol" tells them apart.
void add_root_symbol(const snapshot::Root& root, JsonRecord& record);

// Remembers which fiber's record already contains the frames of a stack.
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
