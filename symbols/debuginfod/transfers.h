#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heapattach::debuginfod {

// A file that the worker was told to download.
struct Transfer {
  enum class State : std::uint8_t { Waiting, Begun, Found, Failed };
  State state = State::Waiting;
  int failure = 0;         // errno, if it failed
  std::uint64_t done = 0;  // bytes
  std::uint64_t all = 0;   // bytes; 0 if unknown
  std::string path;        // of the file, if it was found
  std::uint64_t seen = 0;  // `done` when it last advanced
  std::chrono::steady_clock::time_point advanced;
};

// The states of all transfers, from the lines that the worker writes:
//
//   begin INDEX
//   at INDEX DONE ALL
//   found INDEX PATH
//   failed INDEX ERRNO
//   missing TEXT             the library cannot be loaded
class Transfers {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Transfers(std::size_t count) : transfers_(count) {}

  // Ignores a line of any other form.
  void read(std::string_view line, Time now);

  [[nodiscard]] const std::vector<Transfer>& all() const { return transfers_; }
  [[nodiscard]] std::size_t ended() const;
  [[nodiscard]] bool is_over() const {
    return !loading_problem_.empty() || ended() == all().size();
  }
  // Why the library cannot be loaded; empty if it can.
  [[nodiscard]] const std::string& loading_problem() const { return loading_problem_; }
  // A transfer that has not advanced for at least `limit`. Before it is connected, the library
  // reports its rounds of waiting as if they were bytes, so an advance of a few bytes does not
  // count.
  [[nodiscard]] std::optional<std::size_t> stalled(Time now, std::chrono::milliseconds limit) const;

 private:
  std::vector<Transfer> transfers_;
  std::string loading_problem_;
};

}  // namespace heapattach::debuginfod
