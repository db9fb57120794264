#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "attach/base/result.h"

// A report on files needs no rights once it knows the files. Saved snapshots, dumps and core files
// can be as hostile as any target, and an attacker who exploits a bug in their readers gets the
// rights of the reading process. So the process gives up all its rights: capabilities, its user,
// the file system, sending signals, and most system calls. A broker process does the rest on
// request. It is forked beforehand, parses nothing from the files, and exits when the confined
// process does.
//
//   confined process                        broker, with the user's rights
//     open(path)         ->  a path    ->     opens it for reading, if the duties allow it
//     open_below(root)   ->  two paths ->     the same, but never outside `root`
//     find_debug_file()  ->  an id     ->     duties.find_debug_file()
//     publish()          ->            ->     duties.publish()
//                        <-  a descriptor, or the error
namespace heapattach {

// The only things that the broker does for the confined process.
struct BrokerDuties {
  std::vector<std::string>
      files;  // named by the user; opened for reading, whatever kind of file they are
  bool opens_any_file = false;  // and any other regular file, since a core file names others
  std::function<Result<void>()> publish;  // gives the output its name; may be empty
  // Finds a debug file on a server; an empty descriptor if there is none. May be empty.
  std::function<Result<Fd>(const std::string& build_id)> find_debug_file;
  std::function<void()> end;  // called after the last request; may be empty
};

// Forks the broker and gives up the rights of this process for good, including all its future
// threads. Call it once, while there is only one thread. `notes` describes what could not be given
// up. Fails if no broker can be started; nothing has been given up then. Until `deadline`, requests
// to the broker wait for its answers; it is kept here because Fd::open() is not passed one.
struct Confinement {
  std::vector<std::string> notes;
};
Result<Confinement> confine(const BrokerDuties& duties, const Deadline& deadline = {});

[[nodiscard]] bool is_confined() noexcept;

// Use only in a confined process (Fd::open() does so itself), and from one thread at a time.
Result<Fd> open_by_broker(const std::string& path, int flags);
Result<Fd> open_below_by_broker(const std::string& root, const std::string& path);
Result<Fd> find_debug_file_by_broker(const std::string& build_id);
Result<void> publish_by_broker();

}  // namespace heapattach
