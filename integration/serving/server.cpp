#include "integration/serving/server.h"

#include <algorithm>
#include <stdexcept>

#include "integration/health.h"
#include "integration/rounds.h"
#include "integration/tool.h"
#include "report/cli/find_processes.h"

namespace heapattach {

namespace {

std::vector<std::string> command_of(std::vector<std::string> arguments) {
  const bool has_address =
      std::find(arguments.begin(), arguments.end(), "--listen") != arguments.end();
  std::vector<std::string> command{"/bin/sh", "-c", "exec \"$0\" serve \"$@\" 2>&1", tool_path()};
  if (!has_address) command.insert(command.end(), {"--listen", "127.0.0.1:0"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

Server::Server(std::vector<std::string> arguments) : child_(command_of(std::move(arguments))) {
  const std::string line = child_.read_line(std::chrono::seconds(60)).value_or("");
  constexpr std::string_view kListening = "listening on ";
  const std::size_t at = line.find(kListening);
  if (at == std::string::npos) throw std::runtime_error("serve did not begin: " + line);
  where_ = line.substr(at + kListening.size());
  if (where_.starts_with('/')) return;
  where_.pop_back();  // the slash
  where_ = where_.substr(where_.rfind(':') + 1);
}

// The front is the child whose user has no rights.
pid_t Server::front() const {
  for (const ListedProcess& one : list_processes()) {
    if (one.parent == child_.pid() && status_line(one.pid, "Seccomp") == "2") return one.pid;
  }
  return 0;
}

double metric_value(const std::string& text, const std::string& sample) {
  const std::size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
}

}  // namespace heapattach
