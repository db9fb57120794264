#pragma once

#include <string>
#include <vector>

#include "integration/tool.h"

// Programs of other packages, which are updated independently. Their tests require the right answer
// for every release that was tried. Any other release may also be refused, if the tool names it.
namespace heapattach {

struct Release {
  std::string program;
  std::string number;  // as the program prints it: "3.1.7"
  bool is_tried = false;
};

// The release that `command` prints, as the first word of digits and dots; its number is empty if
// there is none. `tried` lists releases: "3.1.7", or "3.1" for all of its patch releases.
Release release_of(const std::string& program,
                   const std::vector<std::string>& command,
                   const std::vector<std::string>& tried);

// The release in text that a program has printed.
Release release_in(const std::string& program,
                   const std::string& printed,
                   const std::vector<std::string>& tried);

// Whether the tool refused a release as README allows: it was not tried, the status is 5 or 7, and
// the message has its number.
bool may_refuse(const Release& release, const ToolRun& run);

// Prints a refusal that may_refuse() allows. The test then has no answer to check.
bool is_refused(const Release& release, const ToolRun& run);

// The status of a script in consumers/ if the reader's release prints in a form that the script
// does not know.
inline constexpr int kOtherForm = 77;

// Prints that this release was not tried, and `what` differs with it.
void print_untried(const Release& release, const std::string& what);

}  // namespace heapattach
