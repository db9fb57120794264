#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace heapattach {

// A control group for one test. It is removed at the end, when its last process must have left it.
class ControlGroup {
 public:
  // Below `hierarchy`; there is none if it cannot be made, or would lack the file `needed`.
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

}  // namespace heapattach
