#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/serve/capture.h"
#include "report/serve/wire.h"

// The meaning of a request. Everything here is a pure function of texts.
namespace heapattach::serve {

// The data to gather for a request. Requests for the same data have equal routes, and share one
// answer.
struct Route {
  enum class Kind : std::uint8_t { List, Metrics, Page };
  Kind kind = Kind::List;
  const Page* page = nullptr;     // of kPages
  std::optional<pid_t> pid{};     // of ?pid=
  std::string name{};             // of ?name=
  bool is_openmetrics = false;    // the format of metrics; false: Prometheus's older text
  std::chrono::seconds length{};  // of a recording

  bool operator==(const Route& other) const = default;
};

// The parts of a request that matter; absent ones are empty.
struct RequestText {
  std::string_view path;
  std::string_view pid{};  // parameters
  std::string_view name{};
  std::string_view format{};
  std::string_view seconds{};
  std::string_view accept{};  // headers
  std::string_view host{};
  std::string_view authorization{};
  std::string_view fetch_site{};  // Sec-Fetch-Site, which every browser sends to this machine
};

// An answer with a status other than 200.
struct Refusal {
  unsigned status = 500;
  std::string text;
};

// Who may ask, and for what.
struct Admission {
  std::string token;             // empty: nobody needs one
  bool is_local_socket = false;  // a Unix socket, which no web page can reach
  bool allows_recording = false;
};

// A refusal if the request may not be answered.
[[nodiscard]] std::optional<Refusal> refuse_stranger(const RequestText& request,
                                                     const Admission& admission);
// Sets the route. For an unknown path, returns a refusal that lists the known ones.
[[nodiscard]] std::optional<Refusal> read_route(const RequestText& request,
                                                const Admission& admission,
                                                Route& route);

// Sets `pid` to the process that a page is about: the one with the route's pid or name, or the only
// one that is served.
[[nodiscard]] std::optional<Refusal> choose_process(const Route& route,
                                                    const ServerState& state,
                                                    pid_t& pid);

// The HTTP status for a capture that gave no report.
[[nodiscard]] unsigned http_status_of(const AnswerMessage& answer);

}  // namespace heapattach::serve
