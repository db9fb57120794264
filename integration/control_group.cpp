#include "integration/control_group.h"

#include <chrono>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/rounds.h"

namespace heapattach {

namespace fs = std::filesystem;

ControlGroup::ControlGroup(const fs::path& hierarchy, const std::string& needed) {
  const fs::path wanted = hierarchy / fmt::format("heapattach-test-{}", ::getpid());
  std::error_code failed;
  if (!fs::create_directory(wanted, failed)) return;
  if (fs::exists(wanted / needed)) {
    path_ = wanted;
  } else {
    ::rmdir(wanted.c_str());
  }
}

ControlGroup::~ControlGroup() {
  if (!exists()) return;
  CHECK(eventually(std::chrono::seconds(10), [&] { return ::rmdir(path_.c_str()) == 0; }));
}

bool ControlGroup::write(const std::string& file, const std::string& text) const {
  std::ofstream stream(path_ / file);
  stream << text;
  return static_cast<bool>(stream.flush());
}

std::string ControlGroup::read(const std::string& file) const {
  std::ifstream stream(path_ / file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::int64_t ControlGroup::number(const std::string& file) const {
  std::int64_t number = 0;
  std::ifstream(path_ / file) >> number;
  return number;
}

fs::path unified_hierarchy() {
  const fs::path beside = "/sys/fs/cgroup/unified";
  return fs::exists(beside) ? beside : "/sys/fs/cgroup";
}

}  // namespace heapattach
