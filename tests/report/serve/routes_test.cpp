#include "report/serve/routes.h"

#include <doctest/doctest.h>

#include "report/serve/listening.h"
#include "report/serve/pages.h"

namespace heapattach::serve {

namespace {

RequestText get(std::string_view path) {
  RequestText request;
  request.path = path;
  request.host = "localhost:9748";
  return request;
}

unsigned status_of(const std::optional<Refusal>& refusal) {
  return refusal ? refusal->status : 200;
}

ServerState two_shops() {
  ServerState state;
  for (const pid_t pid : {7, 8}) {
    Account account;
    account.process.pid = pid;
    account.process.name = pid == 7 ? "shop" : "<b>\"bank\"\n";
    state.accounts.push_back(account);
    state.budget_left_ns.push_back(5'000'000);
  }
  return state;
}

}  // namespace

TEST_CASE("a path and its parameters choose the page") {
  Route route;
  CHECK(status_of(read_route(get("/"), {}, route)) == 200);
  CHECK(route.kind == Route::Kind::List);
  RequestText request = get("/stacks");
  request.pid = "42";
  request.format = "json";
  CHECK(status_of(read_route(request, {}, route)) == 200);
  CHECK(route.page->what == What::StacksJson);
  CHECK(route.pid == 42);
  request = get("/metrics");
  request.accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
  CHECK(status_of(read_route(request, {}, route)) == 200);
  CHECK(route.is_openmetrics);
}

TEST_CASE("what is not a request for a page is refused") {
  Route route;
  CHECK(status_of(read_route(get("/etc/passwd"), {}, route)) == 404);
  CHECK(status_of(read_route(get("/call"), {}, route)) == 404);
  RequestText request;
  for (const char* pid : {"0", "-1", "12x", "99999999999999"}) {
    request = get("/stacks");
    request.pid = pid;
    CHECK(status_of(read_route(request, {}, route)) == 400);
  }
  request = get("/snapshot");
  request.format = "json";
  CHECK(status_of(read_route(request, {}, route)) == 400);
  request = get("/diagnose");
  request.format = "xml";
  CHECK(status_of(read_route(request, {}, route)) == 400);
}

TEST_CASE("a recording needs leave, and has a length within limits") {
  Route route;
  RequestText request = get("/debug/pprof/allocs");
  const auto refused = read_route(request, {}, route);
  REQUIRE(refused);
  CHECK(refused->status == 403);
  CHECK(refused->text.find("--allow-trace") != std::string::npos);
  Admission open;
  open.allows_recording = true;
  CHECK(status_of(read_route(request, open, route)) == 200);
  CHECK(route.page->what == What::Allocations);
  CHECK(route.length == kUsualRecording);
  request.seconds = "60";
  CHECK(status_of(read_route(request, open, route)) == 200);
  CHECK(route.length == kLongestRecording);
  for (const char* seconds : {"0", "-1", "61", "1s", "1.5", "99999999999999999999"}) {
    request.seconds = seconds;
    CHECK(status_of(read_route(request, open, route)) == 400);
  }
  CHECK(list_page(two_shops(), false).find("allocs") == std::string::npos);
  CHECK(list_page(two_shops(), true).find("/debug/pprof/allocs?pid=7") != std::string::npos);
}

TEST_CASE("a page is about the only process, the one with the pid, or the one with the name") {
  const ServerState state = two_shops();
  pid_t pid = 0;
  Route route;
  CHECK(status_of(choose_process(route, state, pid)) == 400);
  route.name = "shop";
  CHECK(status_of(choose_process(route, state, pid)) == 200);
  CHECK(pid == 7);
  route.pid = 8;
  CHECK(status_of(choose_process(route, state, pid)) == 404);
  route.name.clear();
  CHECK(status_of(choose_process(route, state, pid)) == 200);
  CHECK(pid == 8);
}

TEST_CASE("strangers are refused") {
  Admission open;
  CHECK(status_of(refuse_stranger(get("/"), open)) == 200);
  RequestText led = get("/");  // an attacker's host name resolves to this machine
  led.host = "evil.example:9748";
  CHECK(status_of(refuse_stranger(led, open)) == 403);
  for (const char* host : {"127.0.0.1", "127.0.0.1:9748", "[::1]:9748", "localhost"}) {
    led.host = host;
    CHECK(status_of(refuse_stranger(led, open)) == 200);
  }
  for (const char* host : {"127.0.0.1.evil.example", "[::1].evil.example", "[", "[::1"}) {
    led.host = host;
    CHECK(status_of(refuse_stranger(led, open)) == 403);
  }
  Admission closed;
  closed.token = "0123456789abcdef";
  RequestText request = get("/");
  CHECK(status_of(refuse_stranger(request, closed)) == 401);
  request.authorization = "Bearer 0123456789abcdef";
  CHECK(status_of(refuse_stranger(request, closed)) == 200);
  request.authorization = "Bearer 0123456789abcdeF";
  CHECK(status_of(refuse_stranger(request, closed)) == 401);
  request.authorization = "Basic cHByb2Y6MDEyMzQ1Njc4OWFiY2RlZg==";  // pprof:TOKEN
  CHECK(status_of(refuse_stranger(request, closed)) == 200);
  for (const char* same : {"bearer 0123456789abcdef", "BEARER 0123456789abcdef"}) {
    request.authorization = same;
    CHECK(status_of(refuse_stranger(request, closed)) == 200);
  }
  for (const char* refused :
       {"Bearer", "Bearer ", "Bearers 0123456789abcdef", "0123456789abcdef"}) {
    request.authorization = refused;
    CHECK(status_of(refuse_stranger(request, closed)) == 401);
  }
}

TEST_CASE("a page of another site cannot make a browser stop a process") {
  Admission open;
  Admission closed;  // a browser sends a known password with every request, whoever causes it
  closed.token = "0123456789abcdef";
  for (const char* path : {"/metrics", "/snapshot", "/debug/pprof/allocs"}) {
    CAPTURE(path);
    RequestText request = get(path);
    request.authorization = "Basic cHByb2Y6MDEyMzQ1Njc4OWFiY2RlZg==";
    for (const char* site : {"", "none", "same-origin"}) {
      request.fetch_site = site;
      CHECK(status_of(refuse_stranger(request, open)) == 200);
      CHECK(status_of(refuse_stranger(request, closed)) == 200);
    }
    for (const char* site : {"cross-site", "same-site"}) {
      request.fetch_site = site;
      CHECK(status_of(refuse_stranger(request, open)) == 403);
      CHECK(status_of(refuse_stranger(request, closed)) == 403);
    }
  }
  RequestText link = get("/");
  link.fetch_site = "cross-site";
  CHECK(status_of(refuse_stranger(link, open)) == 200);
}

TEST_CASE("an address is a number with a port, or a path") {
  CHECK(parse_address("127.0.0.1:1")->is_loopback);
  CHECK(parse_address("[::1]:1")->is_loopback);
  CHECK(parse_address("localhost:80")->host == "127.0.0.1");
  CHECK_FALSE(parse_address("0.0.0.0:1")->is_loopback);
  CHECK_FALSE(parse_address(":9748")->is_loopback);
  CHECK_FALSE(parse_address("[::]:1")->is_loopback);
  CHECK(parse_address("/run/x.sock")->unix_path == "/run/x.sock");
  for (const char* bad : {"", "9748", "example.org:1", "127.0.0.1:x", "127.0.0.1:70000"}) {
    CHECK_FALSE(parse_address(bad));
  }
}

TEST_CASE("the counts of all processes have room, and each its own share") {
  for (const std::size_t processes : {std::size_t{1}, std::size_t{3}, kMostProcesses}) {
    CHECK(processes * room_for_counts(processes) <= kMostCountBytes);
    CHECK(room_for_counts(processes) >= kMostCountBytes / kMostProcesses);
  }
  CHECK(room_for_counts(0) == kMostCountBytes);
}

TEST_CASE("names that a process has chosen do no harm in the list or in metrics") {
  const ServerState state = two_shops();
  const std::string page = list_page(state, false);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("&lt;b&gt;&quot;bank&quot;") != std::string::npos);
  const std::string metrics = metrics_page(state, {}, false);
  CHECK(metrics.find("name=\"<b>\\\"bank\\\"\\\\n\"") != std::string::npos);
  CHECK(metrics.find("# EOF") == std::string::npos);
  CHECK(metrics.find("# TYPE heapattach_captures_total counter\n") != std::string::npos);
  const std::string open = metrics_page(state, {}, true);
  CHECK(open.ends_with("# EOF\n"));
  CHECK(open.find("# TYPE heapattach_captures counter\n") != std::string::npos);
  CHECK(open.find("heapattach_captures_total{pid=\"7\"} 0\n") != std::string::npos);
}

TEST_CASE("the state of the server survives its way to the front, and damage is noticed") {
  Schedule schedule(std::chrono::milliseconds(100));
  schedule.update({{7, 70, 4096, "shop"}});
  auto bytes = encode(schedule, std::chrono::milliseconds(100), Schedule::Time{});
  const auto state = decode(bytes);
  REQUIRE(state);
  CHECK(state->accounts[0].process.name == "shop");
  CHECK(state->budget_left_ns[0] == 100'000'000);
  bytes.resize(bytes.size() - 1);
  CHECK_FALSE(decode(bytes));
}

}  // namespace heapattach::serve
