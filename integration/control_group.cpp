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

LimitedGroup::LimitedGroup(std::uint64_t bytes)
    : first_("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
      second_(unified_hierarchy(), "memory.max") {
  if (exists()) REQUIRE(limit(bytes));
}

bool LimitedGroup::exists() const {
  if (first_.exists() || second_.exists()) return true;
  print_skip("no control group for memory can be made");
  return false;
}

bool LimitedGroup::limit(std::uint64_t bytes) const {
  const std::string text = std::to_string(bytes);
  if (first_.exists()) return first_.write("memory.limit_in_bytes", text);
  static_cast<void>(second_.write("memory.swap.max", "0"));
  return second_.write("memory.max", text);
}

bool LimitedGroup::take(pid_t pid) const {
  return group().write("cgroup.procs", std::to_string(pid));
}

std::vector<std::string> LimitedGroup::command(const std::vector<std::string>& words) const {
  return command_in(group(), words);
}

std::vector<std::string> command_in(const ControlGroup& group,
                                    const std::vector<std::string>& words) {
  std::vector<std::string> all{"/bin/bash", "-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\"",
                               group.path()};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace heapattach
