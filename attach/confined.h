#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/fd.h"
#include "attach/result.h"

// A tool that reads files only needs no rights once it knows which. Saved snapshots, dumps and core
// files are as hostile as any target, and whoever finds a mistake in their readers gets what the
// reading process may do. So it gives up all it has: capabilities, its user, the file system,
// signals to others, and most system calls. What it still has to ask for, one other process does
// for it, its broker, which was forked before, parses nothing of theirs, and ends with it.
//
//   confined process                        broker, with the user's rights
//     open(path)         ->  a path    ->     opens it to be read, if the duties allow it
//     open_below(root)   ->  two paths ->     the same, never out of `root`
//     publish()          ->            ->     duties.publish()
//                        <-  a descriptor, or the error
namespace heapattach {

// What the broker does for the confined process, and nothing else.
struct BrokerDuties {
  std::vector<std::string> files;         // named by the user: opened to be read, whatever they are
  bool opens_any_file = false;            // all other regular files too: a core file names its own
  std::function<Result<void>()> publish;  // gives the output its name; may be empty
  std::function<void()> end;              // called when nobody asks any more; may be empty
};

// Forks the broker and gives up the rights of this process for good, of all threads that it will
// have. To be called once, while there is only one thread. What could not be given up is in
// `notes`, for people. An error if there is no broker; then nothing was given up.
struct Confinement {
  std::vector<std::string> notes;
};
Result<Confinement> confine(const BrokerDuties& duties);

[[nodiscard]] bool is_confined() noexcept;

// Only in a confined process; Fd::open() comes here by itself. Not to be asked by several threads
// at once. These wait until the guarded deadline.
Result<Fd> open_by_broker(const std::string& path, int flags);
Result<Fd> open_below_by_broker(const std::string& root, const std::string& path);
Result<void> publish_by_broker();

}  // namespace heapattach
