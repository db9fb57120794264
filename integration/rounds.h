#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace heapattach {

// HEAPATTACH_LONG=1 in the environment asks for the long forms of all tests.
bool is_long_run();

// The number of times to repeat something that may race.
inline int rounds(int in_short, int in_long) {
  return is_long_run() ? in_long : in_short;
}

// Prints a measured figure on a line that scripts can find: "A1: 1000 freezes, p99 0.3 ms".
void print_figure(const std::string& line);

// Prints why the running test cannot run here; the test then returns.
void print_skip(const std::string& reason);

// Whether this kernel takes memory for untouched pages of another process when they are only read;
// usually it shows the page of zeros. If so, prints that as the reason why the running test is
// skipped.
bool skips_as_reading_takes_memory();

// The value that `fraction` of `values` are below; 0 without values.
double quantile(std::vector<double> values, double fraction);

// "p50 0.20 p99 0.31 max 2.10" of a set of milliseconds.
std::string spread_of(const std::vector<double>& milliseconds);

// Returns true as soon as `question` does, and false after `timeout`. A virtual machine may be
// suspended for seconds, in which nothing makes progress, so attempts are counted as well.
template <class Question>
bool eventually(std::chrono::milliseconds timeout, const Question& question) {
  constexpr std::chrono::milliseconds kBetweenLooks{1};
  constexpr int kFewestLooks = 200;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (int looks = 0; !question(); ++looks) {
    if (looks >= kFewestLooks && std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

}  // namespace heapattach
