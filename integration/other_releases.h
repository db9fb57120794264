#pragma once

#include <string>
#include <vector>

#include "integration/tool.h"

// Programs of other packages, which are updated independently. For every release that was tried, a
// test requires the right answer. Any other release may also be refused, if the tool names it.
namespace heapattach {

struct Release {
  std::string program;
  std::string number;  // as the program prints it: "3.1.7"
  bool is_tried = false;
};

// The release that `command` prints, as its first word of digits and dots. The number is empty if
// there is none. `tried` lists releases: "3.1.7", or "3.1" for all patch releases of 3.1.
Release release_of(const std::string& program,
                   const std::vector<std::string>& command,
                   const std::vector<std::string>& tried);

// The same for text that a program has already printed.
Release release_in(const std::string& program,
                   const std::string& printed,
                   const std::vector<std::string>& tried);

// Whether the tool refused a release as README allows: the release was not tried, the status is 5
// or 7, and the message has the release's number.
bool may_refuse(const Release& release, const ToolRun& run);

// Prints a refusal that may_refuse() allows. The test then has no answer to check.
bool is_refused(const Release& release, const ToolRun& run);

// The exit status of a script in consumers/ if the reader's release prints in a form that the
// script does not know.
inline constexpr int kOtherForm = 77;

// Prints that this release was not tried, and `what` differs with it.
void print_untried(const Release& release, const std::string& what);

}  // namespace heapattach
