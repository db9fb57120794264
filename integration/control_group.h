#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace heapattach {

// A control group for one test. The destructor removes it; its last process must have left it then.
class ControlGroup {
 public:
  // Makes the group below `hierarchy`. There is no group if that fails, or if the group would lack
  // the file `needed`.
  ControlGroup(const std::filesystem::path& hierarchy, const std::string& needed);
  ~ControlGroup();
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  [[nodiscard]] bool exists() const { return !path_.empty(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool write(const std::string& file, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& file) const;
  [[nodiscard]] std::int64_t number(const std::string& file) const;

 private:
  std::filesystem::path path_;  // empty if there is no group
};

// The root of the control groups of version 2.
std::filesystem::path unified_hierarchy();

// A control group with a limit on memory, whichever version this machine has.
class LimitedGroup {
 public:
  explicit LimitedGroup(std::uint64_t bytes);

  // If there is no group, prints why.
  [[nodiscard]] bool exists() const;
  [[nodiscard]] const ControlGroup& group() const { return first_.exists() ? first_ : second_; }
  [[nodiscard]] bool limit(std::uint64_t bytes) const;
  [[nodiscard]] bool take(pid_t pid) const;
  // The command that runs `words` in the group.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words) const;

 private:
  ControlGroup first_;
  ControlGroup second_;
};

// The command that runs `words` in the group.
std::vector<std::string> command_in(const ControlGroup& group,
                                    const std::vector<std::string>& words);

}  // namespace heapattach
