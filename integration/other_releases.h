#pragma once

#include <string>
#include <vector>

#include "integration/tool.h"

// Programs of other packages, which change under us. A test of one requires the right answer from
// every release that was tried. Any other release may also be refused, if the tool names it.
namespace heapattach {

struct Release {
  std::string program;
  std::string number;  // as the program prints it: "3.1.7"
  bool is_tried = false;
};

// The release of which `command` prints the number, first of all that has digits and dots. `tried`
// has releases: "3.1.7", or "3.1" for all of its patch releases. Empty if it prints none.
Release release_of(const std::string& program,
                   const std::vector<std::string>& command,
                   const std::vector<std::string>& tried);

// The same of what a program printed.
Release release_in(const std::string& program,
                   const std::string& printed,
                   const std::vector<std::string>& tried);

// Whether the tool refused a release as README allows: it was not tried, the status is 5 or 7, and
// the message has its number.
bool may_refuse(const Release& release, const ToolRun& run);

// The same for a test: prints a refusal, after which the test has no answer to check.
bool is_refused(const Release& release, const ToolRun& run);

// The status of a script in consumers/ for a reader that prints in another form than the script
// knows.
inline constexpr int kOtherForm = 77;

// Prints that something other than a number says that this release was not tried.
void print_untried(const Release& release, const std::string& what);

}  // namespace heapattach
