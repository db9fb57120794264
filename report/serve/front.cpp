// The front is one thread with one event loop: libmicrohttpd parses requests and sends answers.
// Each request is suspended until the keeper has answered every question that it needs.
//
// Requests with the same route share one `Gathering`, whose answer is made once and sent to all.
// So a thousand clients cost a thousand sockets and one answer. Everything has a limit:
// connections, the memory of each, how long a request may take to arrive, how long an answer may
// take to leave, the number of gatherings, and the memory of the whole process.

#include "report/serve/front.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/sandbox/sandbox_walls.h"
#include "report/serve/pages.h"
#include "report/serve/wire.h"

// Debian's libmicrohttpd is linked with GnuTLS, for TLS, which we do not use. No report should load
// GnuTLS and its dependencies, and Debian has no static form of it. So it is left out:
// report/CMakeLists.txt makes all references to it weak, hence null. Without TLS, only the first
// two of these are called; the third is a variable, whose address the linker needs.
extern "C" {
__attribute__((visibility("hidden"))) int gnutls_global_init();
__attribute__((visibility("hidden"))) void gnutls_global_deinit();
__attribute__((visibility("hidden"))) extern void* (*gnutls_malloc)(std::size_t);

int gnutls_global_init() {
  return 0;
}
void gnutls_global_deinit() {}
void* (*gnutls_malloc)(std::size_t) = nullptr;
}

namespace heapattach::serve {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned kMostConnections = 256;
constexpr std::size_t kConnectionBytes = std::size_t{16} << 10;
constexpr unsigned kSilentSeconds = 10;     // for a connection on which nothing is sent
constexpr seconds kForRequestInCrowd{1};    // like kForRequest, if most connections are taken
constexpr seconds kForRequest{10};          // from the connection to the request's last header
constexpr seconds kForAnswer{600};          // from the request to the answer's last byte
constexpr milliseconds kForMetrics{8'000};  // Prometheus waits for ten seconds
constexpr std::size_t kMostGatherings = 64;
constexpr std::size_t kMostHeldBytes = std::size_t{48} << 20;  // of answers not sent yet
constexpr std::uint64_t kMemoryBytes = std::uint64_t{256} << 20;

struct DropResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using Response = std::unique_ptr<MHD_Response, DropResponse>;

// The text of a response, which lives as long as a client reads it.
struct HeldText {
  explicit HeldText(std::string what) : text(std::move(what)) { all_bytes += text.size(); }
  ~HeldText() { all_bytes -= text.size(); }
  HeldText(const HeldText&) = delete;
  HeldText& operator=(const HeldText&) = delete;

  std::string text;
  static inline std::size_t all_bytes = 0;  // of all texts
};

void drop_text(void* held) {
  delete static_cast<HeldText*>(held);
}

Response text_response(std::string text, const std::string& type) {
  auto held = std::make_unique<HeldText>(std::move(text));
  Response response(MHD_create_response_from_buffer_with_free_callback_cls(
      held->text.size(), held->text.data(), drop_text, held.get()));
  if (response == nullptr) return response;
  static_cast<void>(held.release());  // drop_text() deletes it
  MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, type.c_str());
  return response;
}

void add_header(const Response& response, const char* name, const std::string& value) {
  MHD_add_response_header(response.get(), name, value.c_str());
}

// The parts of one answer, as they arrive from the keeper, for all requests with the same route.
struct Gathering {
  Route route;
  Clock::time_point until;
  std::vector<MHD_Connection*> suspended{};
  std::map<std::uint64_t, pid_t> asked{};  // open questions, by number; pid 0: the list
  std::optional<ServerState> state{};
  std::map<pid_t, ProcessCounts> counts{};
  Response response{};
  unsigned status = 0;    // of HTTP; 0: the answer is not finished
  std::size_t users = 0;  // the requests that refer to this
};

// One request of one connection.
struct Request {
  Gathering* gathering = nullptr;  // while it waits
};

struct Connection {
  MHD_socket socket = -1;
  Clock::time_point since;  // when it was connected, or when the current phase began
  Clock::time_point until;
  bool has_request = false;
};

// The contents of a file; empty if it has more than `most` bytes.
std::string bytes_of(const Fd& file, std::size_t most) {
  std::string text;
  struct stat status {};
  if (file.empty() || ::fstat(file.get(), &status) != 0) return text;
  if (static_cast<std::size_t>(status.st_size) > most) return text;
  text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

const char* or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

class Front {
 public:
  explicit Front(const FrontOptions& options) : options_(options) {}
  ~Front() {
    // A daemon must not be stopped while connections are suspended.
    for (Gathering& gathering : gatherings_) resume(gathering);
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  [[nodiscard]] bool start() {
    const MHD_OptionItem items[] = {
        {MHD_OPTION_LISTEN_SOCKET, options_.socket, nullptr},
        {MHD_OPTION_CONNECTION_LIMIT, kMostConnections, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, nullptr},
        {MHD_OPTION_CONNECTION_TIMEOUT, kSilentSeconds, nullptr},
        {MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&Front::on_completed), this},
        {MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&Front::on_connection), this},
        {MHD_OPTION_END, 0, nullptr},
    };
    daemon_ = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr,
                               &Front::on_request, this, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    return daemon_ != nullptr;
  }

  // Returns once the keeper is gone.
  void run() {
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    while (!is_over_) {
      pollfd waits[] = {{info->epoll_fd, POLLIN, 0}, {options_.wire, POLLIN, 0}};
      ::poll(waits, 2, longest_wait());
      take_answers();
      finish_late();
      leave_gone();
      drop_done();
      MHD_run(daemon_);
      cut_off_late();
    }
  }

 private:
  // NOLINTNEXTLINE(readability-function-size): the library's form
  static MHD_Result on_request(void* self,
                               MHD_Connection* connection,
                               const char* path,
                               const char* method,
                               const char* /*version*/,
                               const char* /*body*/,
                               std::size_t* body_bytes,
                               void** request) {
    return static_cast<Front*>(self)->answer(connection, path, method, body_bytes, request);
  }

  static void on_completed(void* self,
                           MHD_Connection* connection,
                           void** request,
                           MHD_RequestTerminationCode /*why*/) {
    auto* const known = static_cast<Request*>(*request);
    if (known == nullptr) return;
    if (known->gathering != nullptr) {
      std::erase(known->gathering->suspended, connection);
      --known->gathering->users;
    }
    static_cast<Front*>(self)->set_limit(connection, kForRequest, false);
    delete known;
    *request = nullptr;
  }

  static void on_connection(void* self,
                            MHD_Connection* connection,
                            void** /*kept*/,
                            MHD_ConnectionNotificationCode what) {
    auto& connections = static_cast<Front*>(self)->connections_;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      connections.erase(connection);
      return;
    }
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const auto now = Clock::now();
    connections[connection] = {info->connect_fd, now, now + kForRequest};
  }

  void set_limit(MHD_Connection* connection, seconds time, bool has_request) {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    found->second.since = Clock::now();
    found->second.until = found->second.since + time;
    found->second.has_request = has_request;
  }

  MHD_Result answer(MHD_Connection* connection,
                    const char* path,
                    const char* method,
                    std::size_t* body_bytes,
                    void** kept) {
    auto* request = static_cast<Request*>(*kept);
    if (request == nullptr) {
      *kept = new Request;  // on_completed() deletes it
      const bool is_read = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
      // Refuses other methods at once, before a long body is read.
      return is_read ? MHD_YES : refuse(connection, {405, "only GET and HEAD are allowed\n"});
    }
    if (*body_bytes != 0) {
      *body_bytes = 0;  // nobody reads it
      return MHD_YES;
    }
    if (request->gathering != nullptr) return send_gathered(connection, *request);
    set_limit(connection, kForAnswer, true);
    const RequestText text = text_of(connection, path);
    if (const auto refusal = refuse_stranger(text, options_.admission)) {
      return refuse(connection, *refusal);
    }
    Route route;
    if (const auto refusal = read_route(text, options_.admission, route)) {
      return refuse(connection, *refusal);
    }
    Gathering* const gathering = gathering_for(route);
    if (gathering == nullptr) {
      return refuse(connection, {503, "too many different requests are waiting\n"});
    }
    request->gathering = gathering;
    ++gathering->users;
    gathering->suspended.push_back(connection);
    MHD_suspend_connection(connection);
    return MHD_YES;
  }

  static RequestText text_of(MHD_Connection* connection, const char* path) {
    const auto parameter = [&](const char* name) {
      return or_empty(MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name));
    };
    const auto header = [&](const char* name) {
      return or_empty(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
    };
    RequestText text;
    text.path = path;
    text.pid = parameter("pid");
    text.name = parameter("name");
    text.format = parameter("format");
    text.seconds = parameter("seconds");
    text.accept = header("Accept");
    text.host = header("Host");
    text.authorization = header("Authorization");
    text.fetch_site = header("Sec-Fetch-Site");
    return text;
  }

  static MHD_Result refuse(MHD_Connection* connection, const Refusal& refusal) {
    const Response response = text_response(refusal.text, "text/plain; charset=utf-8");
    if (response == nullptr) return MHD_NO;
    if (refusal.status == 401) {
      add_header(response, "WWW-Authenticate", "Basic realm=\"heapattach\"");
    }
    if (refusal.status == 405) add_header(response, "Allow", "GET, HEAD");
    if (refusal.status == 503) add_header(response, "Retry-After", "1");
    return queue(connection, refusal.status, response);
  }

  static MHD_Result queue(MHD_Connection* connection, unsigned status, const Response& response) {
    add_once(response, "X-Content-Type-Options", "nosniff");
    add_once(response, "Cache-Control", "no-store");
    add_once(response, "Connection", "close");  // an idle client holds no connection
    add_once(response, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    return MHD_queue_response(connection, status, response.get());
  }

  static void add_once(const Response& response, const char* name, const char* value) {
    if (MHD_get_response_header(response.get(), name) != nullptr) return;
    MHD_add_response_header(response.get(), name, value);
  }

  static MHD_Result send_gathered(MHD_Connection* connection, Request& request) {
    Gathering& gathering = *std::exchange(request.gathering, nullptr);
    --gathering.users;
    if (gathering.response == nullptr) return MHD_NO;
    return queue(connection, gathering.status, gathering.response);
  }

  // The unfinished gathering for the route, or a new one; null if there are too many.
  Gathering* gathering_for(const Route& route) {
    for (Gathering& one : gatherings_) {
      if (one.route == route && one.status == 0) return &one;
    }
    if (gatherings_.size() >= kMostGatherings) return nullptr;
    const auto patience = route.kind == Route::Kind::Metrics ? kForMetrics : kForAnswer / 2;
    gatherings_.push_back(Gathering{route, Clock::now() + patience});
    Gathering& made = gatherings_.back();
    ask(made, What::Processes, 0);
    return &made;
  }

  void ask(Gathering& gathering, What what, pid_t pid) {
    const std::uint64_t number = ++last_number_;
    gathering.asked[number] = pid;
    AskMessage message;
    message.asker = number;
    message.what = what;
    message.pid = pid;
    message.seconds = gathering.route.length.count();
    if (!send(options_.wire, message)) is_over_ = true;
  }

  void take_answers() {
    while (true) {
      ReceivedAnswer answer;
      const Received received = receive(options_.wire, answer);
      if (received == Received::End) is_over_ = true;
      if (received != Received::Message) return;
      for (Gathering& gathering : gatherings_) {
        const auto asked = gathering.asked.find(answer.message.asker);
        if (asked == gathering.asked.end()) continue;
        const pid_t pid = asked->second;
        gathering.asked.erase(asked);
        if (gathering.status == 0) take(gathering, pid, std::move(answer));
        break;
      }
    }
  }

  void take(Gathering& gathering, pid_t pid, ReceivedAnswer answer) {
    if (pid == 0) {
      const std::string bytes = bytes_of(answer.output, kMostCountBytes);
      const auto state = decode(std::as_bytes(std::span(bytes)));
      if (!state) return finish(gathering, {500, "the list of processes is damaged\n"});
      if (gathering.state) {  // this is the second list, which includes the cost of the counts
        gathering.state = state;
        return finish_metrics(gathering);
      }
      gathering.state = state;
      return go_on(gathering);
    }
    if (gathering.route.kind == Route::Kind::Page) return finish_page(gathering, answer);
    ProcessCounts& counts = gathering.counts[pid];
    counts.is_late = false;
    counts.answer = answer.message;
    counts.text = bytes_of(answer.output, room_for_counts(gathering.state->accounts.size()));
    if (gathering.asked.empty()) ask(gathering, What::Processes, 0);
  }

  // Called once the list of processes has arrived.
  void go_on(Gathering& gathering) {
    switch (gathering.route.kind) {
      case Route::Kind::List: return finish_list(gathering);
      case Route::Kind::Metrics:
        for (const Account& account : gathering.state->accounts) {
          ask(gathering, What::Counts, account.process.pid);
        }
        if (gathering.asked.empty()) finish_metrics(gathering);
        return;
      case Route::Kind::Page: break;
    }
    pid_t pid = 0;
    if (const auto refusal = choose_process(gathering.route, *gathering.state, pid)) {
      return finish(gathering, *refusal);
    }
    ask(gathering, gathering.route.page->what, pid);
  }

  void finish_list(Gathering& gathering) {
    finish(gathering, 200,
           text_response(list_page(*gathering.state, options_.admission.allows_recording),
                         "text/html; charset=utf-8"));
  }

  void finish_metrics(Gathering& gathering) {
    const bool is_new = gathering.route.is_openmetrics;
    std::string text = metrics_page(*gathering.state, gathering.counts, is_new);
    gathering.counts.clear();
    if (HeldText::all_bytes + text.size() > kMostHeldBytes) {
      return finish(gathering, {503, "too many answers are waiting for slow clients\n"});
    }
    finish(gathering, 200,
           text_response(std::move(text),
                         is_new ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8"));
  }

  void finish_page(Gathering& gathering, ReceivedAnswer& answer) {
    const AnswerMessage& message = answer.message;
    const std::string why(message.message.data(),
                          ::strnlen(message.message.data(), message.message.size()));
    if (!message.has_output || answer.output.empty()) {
      finish(gathering, {http_status_of(message), why + "\n"});
      if (message.retry_after_s > 0) {
        add_header(gathering.response, "Retry-After", std::to_string(message.retry_after_s));
      }
      return;
    }
    struct stat status {};
    if (::fstat(answer.output.get(), &status) != 0) {
      return finish(gathering, {500, "the report is lost\n"});
    }
    const Page& page = *gathering.route.page;
    Response response(MHD_create_response_from_fd64(static_cast<std::uint64_t>(status.st_size),
                                                    answer.output.release()));
    if (response == nullptr) return finish(gathering, {500, "out of memory\n"});
    add_header(response, "Content-Type", std::string(page.type));
    add_header(response, "Age", std::to_string(message.age_ms / 1000));
    add_header(response, "Heapattach-Status", std::to_string(static_cast<int>(message.status)));
    add_header(response, "Heapattach-Pause-Ms",
               fmt::format("{:.1f}", static_cast<double>(message.pause_ns) / 1e6));
    add_header(response, "Heapattach-Budget-Left-Ms",
               std::to_string(message.budget_left_ns / 1'000'000));
    if (!page.file_ending.empty()) {
      add_header(response, "Content-Disposition",
                 fmt::format("attachment; filename=\"heap.{}\"", page.file_ending));
    }
    finish(gathering, 200, std::move(response));
  }

  void finish(Gathering& gathering, const Refusal& refusal) {
    finish(gathering, refusal.status, text_response(refusal.text, "text/plain; charset=utf-8"));
  }

  void finish(Gathering& gathering, unsigned status, Response response) {
    gathering.status = status;
    gathering.response = std::move(response);
    resume(gathering);
  }

  static void resume(Gathering& gathering) {
    for (MHD_Connection* const connection : gathering.suspended) MHD_resume_connection(connection);
    gathering.suspended.clear();
  }

  void finish_late() {
    const auto now = Clock::now();
    for (Gathering& gathering : gatherings_) {
      if (gathering.status != 0 || now < gathering.until) continue;
      if (gathering.route.kind == Route::Kind::Metrics && gathering.state) {
        finish_metrics(gathering);
      } else {
        finish(gathering, {504, "the report was not ready in time\n"});
      }
    }
  }

  // Ends recordings whose clients have all disconnected. libmicrohttpd does not watch the sockets
  // of suspended requests.
  void leave_gone() {
    for (Gathering& gathering : gatherings_) {
      if (gathering.status != 0 || gathering.route.length == seconds(0)) continue;
      const auto first_gone =
          std::partition(gathering.suspended.begin(), gathering.suspended.end(),
                         [this](MHD_Connection* connection) { return !is_closed(connection); });
      const std::vector<MHD_Connection*> gone(first_gone, gathering.suspended.end());
      gathering.suspended.erase(first_gone, gathering.suspended.end());
      for (MHD_Connection* const connection : gone) MHD_resume_connection(connection);
      if (!gone.empty() && gathering.suspended.empty()) give_up(gathering);
    }
  }

  bool is_closed(MHD_Connection* connection) const {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return true;
    pollfd closed{found->second.socket, POLLRDHUP, 0};  // unread bytes may precede the end
    return ::poll(&closed, 1, 0) > 0;
  }

  void give_up(Gathering& gathering) {
    gathering.status = 499;  // never sent: all clients are gone
    for (const auto& [number, pid] : gathering.asked) {
      AskMessage message;
      message.asker = number;
      message.is_over = true;
      if (!send(options_.wire, message)) is_over_ = true;
    }
  }

  void drop_done() {
    std::erase_if(gatherings_,
                  [](const Gathering& one) { return one.status != 0 && one.users == 0; });
  }

  int longest_wait() {
    unsigned long long of_http = 0;
    constexpr int kTick = 500;  // the precision of all time limits
    if (MHD_get_timeout(daemon_, &of_http) != MHD_YES) return kTick;
    return static_cast<int>(std::min<unsigned long long>(of_http, kTick));
  }

  // Shuts down connections that are too slow. libmicrohttpd notices that and cleans up.
  void cut_off_late() {
    const auto now = Clock::now();
    const bool is_crowd = connections_.size() > kMostConnections * 3 / 4;
    for (auto& [connection, one] : connections_) {
      const bool is_slow = is_crowd && !one.has_request && now > one.since + kForRequestInCrowd;
      if (now < one.until && !is_slow) continue;
      ::shutdown(one.socket, SHUT_RDWR);
      one.until = now + kForRequest;
    }
  }

  const FrontOptions& options_;
  MHD_Daemon* daemon_ = nullptr;
  std::list<Gathering> gatherings_;
  std::map<MHD_Connection*, Connection> connections_;
  std::uint64_t last_number_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::string run_front(const FrontOptions& options) {
  Front front(options);
  if (!front.start()) return "libmicrohttpd could not start";
  const ServerWalls walls{options.keeper, kMemoryBytes};
  if (!put_up_walls_to_serve(walls)) return "no system call filter could be installed";
  front.run();
  return {};
}

}  // namespace heapattach::serve
