#include "integration/live_target.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "integration/rounds.h"

namespace heapattach {

namespace {

std::vector<std::string> command_of(const std::string& name,
                                    const std::vector<std::string>& arguments) {
  std::vector<std::string> command{target_path(name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// "word key=1 other=-2": words without a number are left out.
Answer parse_answer(const std::string& line) {
  Answer answer;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    if (const std::size_t equals = word.find('='); equals != std::string::npos) {
      answer[word.substr(0, equals)] = std::strtoll(word.c_str() + equals + 1, nullptr, 10);
    }
    at = end + 1;
  }
  return answer;
}

}  // namespace

std::string target_path(const std::string& name) {
  return name.starts_with('/') ? name : TARGET_DIR "/target_" + name;
}

LiveTarget::LiveTarget(const std::string& name,
                       const std::vector<std::string>& arguments,
                       const ChildOptions& options)
    : name_(name), child_(command_of(name, arguments), options) {
  const std::string line = read_line();
  if (line.rfind("ready", 0) != 0) throw std::runtime_error(name + " is not ready: " + line);
  greeting_ = parse_answer(line);
}

Answer LiveTarget::ask(const std::string& question, std::chrono::milliseconds timeout) {
  child_.send_line(question);
  return parse_answer(read_line(timeout));
}

std::string LiveTarget::read_line(std::chrono::milliseconds timeout) {
  auto line = child_.read_line(timeout);
  if (!line) {
    throw std::runtime_error("target " + name_ +
                             (child_.is_running() ? " does not answer" : " has ended"));
  }
  return std::move(*line);
}

bool is_target_built(const std::string& name) {
  if (::access(target_path(name).c_str(), X_OK) == 0) return true;
  print_skip(fmt::format("{} was not built", name));
  return false;
}

}  // namespace heapattach
