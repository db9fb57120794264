#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/fd.h"
#include "attach/result.h"

// A report on files needs no rights once it knows the files. Saved snapshots, dumps and core files
// are as hostile as any target, and an attacker who finds a mistake in their readers gets the
// rights of the reading process. So the process gives up all of them: capabilities, its user, the
// file system, signals to others, and most system calls. One other process, its broker, does the
// rest on request. The broker was forked before, parses nothing from the files, and ends with it.
//
//   confined process                        broker, with the user's rights
//     open(path)         ->  a path    ->     opens it to be read, if the duties allow it
//     open_below(root)   ->  two paths ->     the same, never out of `root`
//     publish()          ->            ->     duties.publish()
//                        <-  a descriptor, or the error
namespace heapattach {

// What the broker does for the confined process, and nothing else.
struct BrokerDuties {
  std::vector<std::string> files;  // named by the user: opened for reading, whatever they are
  bool opens_any_file = false;     // and all other regular files: a core file names its own
  std::function<Result<void>()> publish;  // gives the output its name; may be empty
  std::function<void()> end;              // called after the last request; may be empty
};

// Forks the broker and gives up the rights of this process for good, including all its future
// threads. Call it once, while there is only one thread. `notes` has what could not be given up, in
// words. An error if there is no broker; then nothing was given up.
struct Confinement {
  std::vector<std::string> notes;
};
Result<Confinement> confine(const BrokerDuties& duties);

[[nodiscard]] bool is_confined() noexcept;

// Only in a confined process; Fd::open() calls it by itself. Not for several threads at once. Waits
// until the guarded deadline.
Result<Fd> open_by_broker(const std::string& path, int flags);
Result<Fd> open_below_by_broker(const std::string& root, const std::string& path);
Result<void> publish_by_broker();

}  // namespace heapattach
