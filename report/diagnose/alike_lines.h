#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/stacks/stack_report.h"

namespace heapattach::diagnose {

// Lines about threads, of which hundreds may be in the same place: "thread 4711 in f (f.c:2)" for
// one, "300 threads in f (f.c:2)" for many.
class AlikeLines {
 public:
  // The thread with its function and, if it is in one, its call.
  void add(const stacks::ThreadSeen& thread);
  // The thread with other words after its title.
  void add(const stacks::ThreadSeen& thread, const std::string& words);

  // The lines for the most threads first; at most four, and then how many threads are left.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  struct Alike {
    std::string words;
    std::string title;  // of the first
    std::size_t threads = 0;
  };
  std::vector<Alike> all_;
};

}  // namespace heapattach::diagnose
