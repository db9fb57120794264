#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/diagnose/evidence.h"

// Says what is wrong with a process, and what proves it.
namespace heapattach::diagnose {

enum class Severity : std::uint8_t {
  Fault,    // proven to be wrong
  Unusual,  // true, and worth knowing, but the program may mean it
  Remark,   // normal; it says where to look if something is wrong all the same
};

struct Finding {
  std::string_view kind;  // one word, which never changes: "deadlock"
  Severity severity = Severity::Fault;
  std::string sentence;               // what was found, with its proof
  std::vector<std::string> evidence;  // more of it, one line each
  std::string next;                   // the command that shows more: "stacks 4711"; may be empty
};

struct Verdict {
  // That of the finding that decides, "healthy", or "unknown" if nothing could be looked at.
  std::string_view kind;
  std::string sentence;  // ends with that of the first finding, if there is any
  bool is_fault = false;
  std::vector<Finding> findings;       // all, the worst first
  std::vector<std::string> looked_at;  // "3 threads"
  std::string next;                    // the one command to run next; empty: none can work
};

// One kind of finding.
using Finder = void (*)(const Evidence& evidence, std::vector<Finding>& found);

// A fault first, then what is unusual, then remarks; among these, the order of the list of finders.
[[nodiscard]] Verdict judge(const Evidence& evidence);

}  // namespace heapattach::diagnose
