#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "integration/live_target.h"

namespace heapattach {

// The live set of a process, as the code for snapshots finds it.
struct SeenHeap {
  std::map<std::uint64_t, std::uint64_t> live;  // address -> bytes
  std::set<std::uint64_t> free;                 // on free lists
  std::size_t thread_lists = 0;
  std::size_t records = 0;
  std::size_t unreadable = 0;  // blocks
  std::size_t skipped = 0;     // entries of the index
  std::vector<std::string> problems;
};

// The memory that is copied in addition to the heap: only what the collector scans, or all private
// memory, as for malloc's heap.
enum class Copied : std::uint8_t { Roots, Everything };
SeenHeap look_at(pid_t pid, Copied copied = Copied::Roots);

// The difference between the heap and the collector's own list: the target answers "list" with
// "listed=N", and then N lines "<address> <bytes>".
struct Difference {
  std::size_t listed = 0;
  std::size_t links = 0;  // listed, but on a free list: the collector also marks these lists
  std::size_t missed = 0;
  std::size_t unlisted = 0;
  std::size_t other_sizes = 0;
  std::string first;  // some of the objects that differ
};
Difference compare_with_list(LiveTarget& target, const SeenHeap& seen);

// An object whose fate the target knows. The target answers "known" with "known=N", and then N
// lines "<alive 0|1> <address> <what>".
struct KnownObject {
  bool is_alive = false;
  std::uint64_t address = 0;
  std::string line;
};
std::vector<KnownObject> ask_known(LiveTarget& target);

// The programs that an environment variable names, with colons between them, or the usual ones.
std::vector<std::string> programs_in(const char* variable, std::vector<std::string> usual);

}  // namespace heapattach
