#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "attach/base/fd.h"

namespace heapattach {

// An answer over HTTP. The status is 0 if there was no answer.
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// A connection to a port of this machine, or to a Unix socket; empty if it was refused.
Fd connect_to_server(const std::string& where);

// Asks for a path. `where` is a port, or the path of a Unix socket.
HttpAnswer http_get(const std::string& where,
                    const std::string& path,
                    const std::vector<std::string>& headers = {});

// The same in two steps, for many requests at once.
void send_request(const Fd& to, const std::string& path, const std::vector<std::string>& headers);
// Reads to the end of the connection.
HttpAnswer read_answer(const Fd& from, std::chrono::milliseconds timeout);

}  // namespace heapattach
