#include "integration/rounds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace heapattach {

bool is_long_run() {
  const char* value = std::getenv("HEAPATTACH_LONG");
  return value != nullptr && !std::string_view(value).empty() && std::string_view(value) != "0";
}

void print_figure(const std::string& line) {
  fmt::print("figure: {}\n", line);
  std::fflush(stdout);
}

void print_skip(const std::string& reason) {
  fmt::print("skipped: {}\n", reason);
  std::fflush(stdout);
}

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(fraction * last)];
}

std::string spread_of(const std::vector<double>& milliseconds) {
  return fmt::format("p50 {:.3f} p99 {:.3f} max {:.3f} ms", quantile(milliseconds, 0.5),
                     quantile(milliseconds, 0.99), quantile(milliseconds, 1.0));
}

}  // namespace heapattach
