#pragma once

#include <string>
#include <vector>

#include "integration/child_process.h"
#include "integration/serving/http_client.h"

namespace heapattach {

// A running `heapattach serve`. Unless the arguments say otherwise, it listens on a free port of
// the loopback.
class Server {
 public:
  explicit Server(std::vector<std::string> arguments);

  // The port, or the path of the Unix socket.
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] ChildProcess& child() { return child_; }
  [[nodiscard]] HttpAnswer get(const std::string& path,
                               const std::vector<std::string>& headers = {}) const {
    return http_get(where_, path, headers);
  }
  // The process that reads HTTP; 0 if it does not exist.
  [[nodiscard]] pid_t front() const;

 private:
  ChildProcess child_;
  std::string where_;
};

// The value of a sample in the text of /metrics. `sample` is everything before the value. Returns
// -1 if there is no such sample.
double metric_value(const std::string& text, const std::string& sample);

}  // namespace heapattach
