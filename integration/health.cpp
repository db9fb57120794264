#include "integration/health.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heapattach {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string line_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t", key.size() + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::string task_directory(pid_t pid) {
  return "/proc/" + std::to_string(pid) + "/task";
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(task_directory(pid), gone)) {
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

char state_of(pid_t pid, pid_t tid) {
  const std::string stat = text_of(task_directory(pid) + "/" + std::to_string(tid) + "/stat");
  const std::size_t name_end = stat.rfind(") ");  // the name may contain any characters
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '?' : stat[name_end + 2];
}

std::string status_line(pid_t pid, const std::string& key) {
  return line_of(text_of("/proc/" + std::to_string(pid) + "/status"), key);
}

std::vector<std::string> open_files(pid_t pid) {
  std::vector<std::string> files;
  std::error_code gone;
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(directory, gone)) {
    files.push_back(entry.path().filename().string() + " -> " +
                    std::filesystem::read_symlink(entry.path(), gone).string());
  }
  return files;
}

std::string harm_done_to(pid_t pid) {
  const std::vector<pid_t> threads = threads_of(pid);
  if (threads.empty()) return "process " + std::to_string(pid) + " is gone";
  for (const pid_t tid : threads) {
    const std::string name = "thread " + std::to_string(tid);
    const std::string status = text_of(task_directory(pid) + "/" + std::to_string(tid) + "/status");
    const std::string tracer = line_of(status, "TracerPid");
    if (!tracer.empty() && tracer != "0") return name + " is still traced by " + tracer;
    const char state = state_of(pid, tid);
    if (state == 't' || state == 'T') return name + " is left in state " + state;
  }
  return "";
}

int threads_not_frozen(pid_t pid) {
  int moving = 0;
  for (const pid_t tid : threads_of(pid)) {
    const char state = state_of(pid, tid);
    if (state == 'R' || state == 'S' || state == 'D' || state == 'T') ++moving;
  }
  return moving;
}

}  // namespace heapattach
