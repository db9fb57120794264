#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "report/model/model.h"

// How a dump's snapshot leaves the worker without rights that read it: as plain bytes. The worker
// may be under an attacker's control, so the receiver checks all that reports rely on: that indices
// are in range, that addresses ascend, that edges belong to objects. It passes what read_dump()
// fills, and nothing else.
//
//   u64 size, then the head: error or steps, types, sizes, roots, and the numbers of the rest
//   the objects, the first edges and the edges, as in memory
//   for each piece of values: u64 size, then the piece
namespace heapattach::ruby {

using PassBytes = std::function<void(std::span<const std::byte>)>;
using TakeBytes = std::function<Result<void>(std::span<std::byte>)>;

// `notes` are what the reader had to say.
void pass_snapshot(const Result<snapshot::Snapshot>& read,
                   const std::vector<std::string>& notes,
                   const PassBytes& pass);

struct TakenSnapshot {
  Result<snapshot::Snapshot> snapshot;  // or the error that the worker passed
  std::vector<std::string> notes;
};

// `most` limits every array: a dump of so many bytes has fewer elements. Fails if the bytes make no
// sense.
Result<TakenSnapshot> take_snapshot_passed(const TakeBytes& take, std::uint64_t most);

}  // namespace heapattach::ruby
