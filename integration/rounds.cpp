#include "integration/rounds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

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

namespace {

long resident_kb() {
  std::ifstream status("/proc/self/status");
  long kb = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) kb = std::stol(line.substr(8));
  }
  return kb;
}

}  // namespace

bool skips_as_reading_takes_memory() {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  void* const untouched =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (untouched == MAP_FAILED) return false;
  std::vector<char> into(kBytes, 'x');
  const long before = resident_kb();
  const iovec to{into.data(), kBytes};
  const iovec from{untouched, kBytes};
  const ssize_t got = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  const bool takes_memory = got > 0 && resident_kb() > before + 4096;
  ::munmap(untouched, kBytes);
  if (takes_memory) print_skip("reading takes memory with this kernel");
  return takes_memory;
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
