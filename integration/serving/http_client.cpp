#include "integration/serving/http_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace heapattach {

namespace {

Fd connect_socket(int family, const void* address, socklen_t size) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const where = static_cast<const sockaddr*>(address);
  return ::connect(socket.get(), where, size) == 0 ? std::move(socket) : Fd();
}

HttpAnswer parse_answer(const std::string& text) {
  HttpAnswer answer;
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || text.size() < 12) return answer;
  std::from_chars(text.data() + 9, text.data() + 12, answer.status);
  answer.body = text.substr(end + 4);
  std::size_t at = text.find("\r\n") + 2;
  while (at < end) {
    const std::size_t next = text.find("\r\n", at);
    std::string line = text.substr(at, next - at);
    const std::size_t colon = std::min(line.find(": "), line.size());
    std::transform(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), line.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (colon < line.size()) answer.headers[line.substr(0, colon)] = line.substr(colon + 2);
    at = next + 2;
  }
  return answer;
}

}  // namespace

Fd connect_to_server(const std::string& where) {
  if (where.starts_with('/')) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    where.copy(address.sun_path, sizeof address.sun_path - 1);
    return connect_socket(AF_UNIX, &address, sizeof address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect_socket(AF_INET, &address, sizeof address);
}

void send_request(const Fd& to, const std::string& path, const std::vector<std::string>& headers) {
  std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& header : headers) request += header + "\r\n";
  request += "\r\n";
  ::send(to.get(), request.data(), request.size(), MSG_NOSIGNAL);
}

HttpAnswer read_answer(const Fd& from, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string text;
  std::array<char, 65536> bytes{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{from.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t got = ::read(from.get(), bytes.data(), bytes.size());
    if (got <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return parse_answer(text);
}

HttpAnswer http_get(const std::string& where,
                    const std::string& path,
                    const std::vector<std::string>& headers) {
  const Fd connection = connect_to_server(where);
  if (connection.empty()) return {};
  send_request(connection, path, headers);
  return read_answer(connection, std::chrono::seconds(90));
}

}  // namespace heapattach
