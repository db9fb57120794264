#include "integration/measured_run.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heapattach {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestRun = std::chrono::seconds(90);
constexpr useconds_t kBetweenLooks = 3'000;

std::uint64_t own_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "Pss:" && file >> kilobytes) return kilobytes << 10U;
  }
  return 0;
}

// The memory of a process and all its descendants.
std::uint64_t bytes_of_tree(pid_t pid) {
  std::uint64_t sum = own_bytes(pid);
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child = 0; children >> child;) sum += bytes_of_tree(child);
  return sum;
}

}  // namespace

MeasuredRun run_measured(const std::vector<std::string>& arguments) {
  const TemporaryDirectory directory;
  const std::string output = directory.file("output");
  const std::string errors = directory.file("errors");
  // The output goes to files, so that nothing has to be read while the tool runs.
  std::vector<std::string> command = {
      "/bin/bash", "-c", "exec \"$0\" \"$@\" >" + output + " 2>" + errors, tool_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  MeasuredRun measured;
  const auto start = Clock::now();
  ChildProcess child(command);
  std::optional<int> end;
  while (!(end = child.wait_end(std::chrono::milliseconds(0)))) {
    measured.peak_bytes = std::max(measured.peak_bytes, bytes_of_tree(child.pid()));
    if (Clock::now() - start > kLongestRun) throw std::runtime_error("heapattach did not end");
    ::usleep(kBetweenLooks);
  }
  measured.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  measured.run.status = WIFEXITED(*end) ? WEXITSTATUS(*end) : -WTERMSIG(*end);
  measured.run.output = read_text(output);
  measured.run.errors = read_text(errors);
  return measured;
}

}  // namespace heapattach
