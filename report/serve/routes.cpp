#include "report/serve/routes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include "report/exit_status.h"
#include "report/text/terminal_text.h"

namespace heapattach::serve {

namespace {

// Takes equally long for the right token and for a wrong one.
bool is_equal(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char letter = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(letter ^ token[i]);
  }
  return difference == 0;
}

std::string decoded_base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  unsigned value = 0;
  for (const char letter : text) {
    const std::size_t digit = kLetters.find(letter);
    if (digit == std::string_view::npos) break;
    value = (value << 6 | static_cast<unsigned>(digit)) & 0xffffU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(value >> bits & 0xffU);
  }
  return bytes;
}

// HTTP ignores the case of a scheme's name.
bool is_scheme(std::string_view given, std::string_view name) {
  return given.size() == name.size() && ::strncasecmp(given.data(), name.data(), name.size()) == 0;
}

// The token of "Bearer TOKEN", or the password of "Basic …", which clients send for
// http://USER:TOKEN@HOST/.
std::string given_token(std::string_view authorization) {
  const std::size_t space = std::min(authorization.find(' '), authorization.size());
  const std::string_view scheme = authorization.substr(0, space);
  const std::string_view rest = authorization.substr(std::min(space + 1, authorization.size()));
  if (is_scheme(scheme, "bearer")) return std::string(rest);
  if (!is_scheme(scheme, "basic")) return {};
  const std::string pair = decoded_base64(rest);
  const std::size_t colon = pair.find(':');
  return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
}

// Whether a Host header names this machine. The owner of another site can make a name of that site
// resolve to 127.0.0.1, but the browser then sends that name.
bool names_this_machine(std::string_view host) {
  std::string_view name = host;
  const std::size_t end = name.starts_with('[') ? name.find(']') : 0;
  if (end == std::string_view::npos) return false;
  name = name.substr(0, name.find(':', end));
  const bool is_address =
      name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
  return name.empty() || name == "localhost" || name == "[::1]" || is_address;
}

// Whether a page of another site, or of another port, made a browser send the request. The page
// could not read the answer, but a report stops a process. Other pages may link to the list,
// because it stops nothing.
bool is_sent_from_elsewhere(const RequestText& request) {
  const bool is_elsewhere = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  return is_elsewhere && request.path != "/";
}

std::optional<pid_t> read_pid(std::string_view text) {
  pid_t pid = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || pid <= 0) return {};
  return pid;
}

constexpr std::string_view kNoRecording =
    "recording allocations puts code into the process, which only heapattach serve --allow-trace "
    "permits\n";

// Returns false if the text is not the length of a recording.
bool read_length(std::string_view text, std::chrono::seconds& length) {
  length = kUsualRecording;
  if (text.empty()) return true;
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  length = std::chrono::seconds(number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && number > 0 &&
         length <= kLongestRecording;
}

Refusal no_such_page(std::string_view path) {
  std::vector<std::string_view> paths{"/", "/metrics"};
  for (const Page& page : kPages) {
    if (!page.as_json) paths.push_back(page.path);
  }
  return {404, fmt::format("there is no page {}; the pages are {}\n", terminal_text(path),
                           fmt::join(paths, ", "))};
}

std::string listed(const ServerState& state) {
  std::string text;
  for (const Account& account : state.accounts) {
    text +=
        fmt::format("  ?pid={}  {}\n", account.process.pid, terminal_text(account.process.name));
  }
  return text.empty() ? "no process is served at the moment\n" : "these are served:\n" + text;
}

}  // namespace

std::optional<Refusal> refuse_stranger(const RequestText& request, const Admission& admission) {
  if (is_sent_from_elsewhere(request)) {
    return Refusal{403,
                   "a page of another site made this request; start at /, or type the address\n"};
  }
  if (!admission.token.empty()) {
    if (is_equal(given_token(request.authorization), admission.token)) return {};
    return Refusal{401, "the token is missing or wrong; send \"Authorization: Bearer TOKEN\"\n"};
  }
  if (admission.is_local_socket || names_this_machine(request.host)) return {};
  return Refusal{403, "without --token-file, the URL must name localhost or a loopback address\n"};
}

std::optional<Refusal> read_route(const RequestText& request,
                                  const Admission& admission,
                                  Route& route) {
  if (request.path == "/") return {};
  if (request.path == "/metrics") {
    route.kind = Route::Kind::Metrics;
    route.is_openmetrics =
        request.accept.find("application/openmetrics-text") != std::string_view::npos;
    return {};
  }
  const bool as_json = request.format == "json";
  const auto* const page = std::find_if(kPages.begin(), kPages.end(), [&](const Page& one) {
    return one.path == request.path && (request.format.empty() || (as_json && one.as_json));
  });
  if (page == kPages.end()) {
    const bool has_path = std::any_of(kPages.begin(), kPages.end(),
                                      [&](const Page& one) { return one.path == request.path; });
    if (has_path) return Refusal{400, "?format=json is for /diagnose and /stacks\n"};
    return no_such_page(request.path);
  }
  route.kind = Route::Kind::Page;
  route.page = page;
  route.name = request.name.substr(0, 64);
  if (is_recording(page->what)) {
    if (!admission.allows_recording) return Refusal{403, std::string(kNoRecording)};
    if (!read_length(request.seconds, route.length)) {
      return Refusal{400, fmt::format("?seconds= must be 1 to {}\n", kLongestRecording.count())};
    }
  }
  if (request.pid.empty()) return {};
  route.pid = read_pid(request.pid);
  if (!route.pid) return Refusal{400, "?pid= is not a process id\n"};
  return {};
}

std::optional<Refusal> choose_process(const Route& route, const ServerState& state, pid_t& pid) {
  std::vector<pid_t> chosen;
  for (const Account& account : state.accounts) {
    const bool is_wanted = (!route.pid || *route.pid == account.process.pid) &&
                           (route.name.empty() || route.name == account.process.name);
    if (is_wanted) chosen.push_back(account.process.pid);
  }
  if (chosen.size() == 1) {
    pid = chosen.front();
    return {};
  }
  if (chosen.empty()) return Refusal{404, "no such process; " + listed(state)};
  return Refusal{400, "several processes match; add ?pid= or ?name=; " + listed(state)};
}

unsigned http_status_of(const AnswerMessage& answer) {
  switch (answer.outcome) {
    case Outcome::NoSuchPid: return 404;
    case Outcome::OverBudget: return 429;
    case Outcome::Busy: return 503;
    case Outcome::Finished: break;
  }
  return http_status_of(answer.status);
}

}  // namespace heapattach::serve
