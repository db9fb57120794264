#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integration/live_target.h"
#include "integration/other_releases.h"
#include "integration/tool.h"

// Programs of Ruby under test, and the counts of their objects.
namespace heapattach {

inline constexpr const char* kRuby = "/usr/bin/ruby";

// Whether there is no Ruby; prints then that the test is skipped.
[[nodiscard]] bool is_ruby_missing();

[[nodiscard]] Release installed_ruby();

// Whether the installed release was not tried, and is refused for a report that reads the heap from
// outside.
[[nodiscard]] bool is_refused_outside(pid_t pid, bool with_references);

// The source of a program in targets/.
[[nodiscard]] std::string ruby_script(const std::string& name);

// A Ruby program, once it has printed "ready" and its counts.
class RubyProgram {
 public:
  RubyProgram(const std::string& name, const std::string& argument);

  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] std::int64_t count(const std::string& name) const { return counts_.at(name); }
  // The number of rounds of work that the program has done.
  std::int64_t rounds_done();

 private:
  ChildProcess child_;
  Answer counts_;
};

struct RubyCount {
  std::int64_t objects = 0;
  std::int64_t bytes = 0;
};

// The rows of --count, by type.
[[nodiscard]] std::map<std::string, RubyCount> rows_of(const ToolRun& run, int status);
[[nodiscard]] std::map<std::string, RubyCount> rows_of(const std::string& source);
[[nodiscard]] ToolRun count_run(const std::string& source, std::vector<std::string> more = {});
// A class without a name counts as "unnamed".
[[nodiscard]] std::int64_t count_in(const std::map<std::string, RubyCount>& rows,
                                    const std::string& type);

}  // namespace heapattach
