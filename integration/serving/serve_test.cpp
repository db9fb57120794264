// `heapattach serve`: its answers about a live process, who gets them, and their cost for the
// process.

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "integration/health.h"
#include "integration/live_target.h"
#include "integration/rounds.h"
#include "integration/serving/server.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

constexpr int kObjects = 5000;

// The target's objects are known. Without it, the test is skipped.
#define NEEDS_STILL()              \
  if (!is_target_built("still")) { \
    print_skip("no libgc-dev");    \
    return;                        \
  }

bool has_program(const std::string& name) {
  return run_in_shell("command -v \"$1\" >/dev/null", {name}).status == 0;
}

std::int64_t kilobytes(pid_t pid, const std::string& key) {
  const std::string line = status_line(pid, key);
  return line.empty() ? 0 : std::stol(line);
}

// The number of a process's mappings that belong to a recorder.
int mappings_of_recorder(pid_t pid) {
  const std::string maps = read_text("/proc/" + std::to_string(pid) + "/maps");
  int found = 0;
  for (std::size_t at = 0; (at = maps.find("memfd:heapattach", at)) != std::string::npos; ++at) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("serve: every page is about the live process, and the process is unharmed") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(kObjects)});
  const std::string pid = std::to_string(target.pid());
  Server server({pid});
  const HttpAnswer list = server.get("/");
  CHECK(list.status == 200);
  CHECK(list.body.find("/snapshot?pid=" + pid) != std::string::npos);
  const HttpAnswer metrics = server.get("/metrics");
  CHECK(metrics.status == 200);
  CHECK(metric_value(metrics.body, "heapattach_up{pid=\"" + pid + "\"}") == 1);
  CHECK(metric_value(metrics.body, "heapattach_objects{pid=\"" + pid + "\"}") >= kObjects);
  CHECK(metric_value(metrics.body, "heapattach_pause_seconds_total{pid=\"" + pid + "\"}") > 0);
  CHECK(server.get("/stacks").body.find("process " + pid) != std::string::npos);
  CHECK(server.get("/stacks?format=json").body.starts_with('{'));
  const HttpAnswer diagnosis = server.get("/diagnose?pid=" + pid);
  CHECK(diagnosis.status == 200);
  CHECK(diagnosis.body.find("heapattach") != std::string::npos);
  CHECK(diagnosis.headers.at("heapattach-status") == "0");
  const HttpAnswer snapshot = server.get("/snapshot");
  CHECK(snapshot.status == 200);
  const TemporaryDirectory directory;
  const std::string file = directory.file("heap.jsonl.gz");
  write_text(file, snapshot.body);
  const ToolRun counts = run_tool({"-q", "count", "-f", "json", file});
  CHECK(counts.status == 0);
  CHECK(counts.output.find(fmt::format("\"objects\":{}", kObjects)) != std::string::npos);
  if (has_program("go")) {
    const std::string url = "http://localhost:" + server.where() + "/debug/pprof/heap?pid=" + pid;
    const ToolRun top =
        run_in_shell("PPROF_TMPDIR=\"$2\" go tool pprof -top -sample_index=inuse_objects \"$1\"",
                     {url, directory.path()});
    CAPTURE(top.errors);
    CHECK(top.status == 0);
    CHECK(top.output.find("inuse_objects") != std::string::npos);
  }
  CHECK(server.get("/nothing").status == 404);
  CHECK(server.get("/stacks?pid=1").status == 404);
  CHECK(harm_done_to(target.pid()) == "");
  server.child().signal(SIGTERM);
  const auto end = server.child().wait_end(std::chrono::seconds(20));
  REQUIRE(end);
  CHECK(*end == 0);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("serve: Prometheus's own tool finds no fault in the metrics, and the rules fire") {
  NEEDS_STILL();
  if (!has_program("promtool")) {
    print_skip("no promtool");
    return;
  }
  LiveTarget target("still", {std::to_string(kObjects)});
  Server server({std::to_string(target.pid())});
  const TemporaryDirectory directory;
  const std::string file = directory.file("metrics");
  write_text(file, server.get("/metrics").body);
  const ToolRun checked = run_in_shell("promtool check metrics <\"$1\"", {file});
  CHECK(checked.status == 0);
  CHECK(checked.errors == "");
  const std::string rules = SERVING "/alerts_test.yml";
  const ToolRun tested = run_in_shell("promtool test rules \"$1\"", {rules});
  CAPTURE(tested.output);
  CAPTURE(tested.errors);
  CHECK(tested.status == 0);
}

TEST_CASE("serve: the process that reads HTTP has no rights, and a new one follows a crash") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(kObjects)});
  Server server({std::to_string(target.pid())});
  CHECK(server.get("/").status == 200);
  const pid_t front = server.front();
  REQUIRE(front != 0);
  CHECK(status_line(front, "CapEff") == "0000000000000000");
  CHECK(status_line(front, "NoNewPrivs") == "1");
  if (::geteuid() == 0) CHECK(status_line(front, "Uid").starts_with("65534"));
  ::kill(front, SIGKILL);
  CHECK(eventually(std::chrono::seconds(30), [&] { return server.get("/").status == 200; }));
  CHECK(server.front() != front);
}

TEST_CASE("serve: a thousand requests side by side cost few captures and no memory") {
  NEEDS_STILL();
  constexpr int kRequests = 1000;
  LiveTarget target("still", {std::to_string(kObjects)});
  const std::string pid = std::to_string(target.pid());
  Server server({pid});
  CHECK(server.get("/diagnose").status == 200);
  const pid_t front = server.front();
  const std::int64_t before = kilobytes(front, "VmRSS") + kilobytes(server.child().pid(), "VmRSS");
  std::vector<Fd> connections;
  for (int i = 0; i < kRequests; ++i) {
    connections.push_back(connect_to_server(server.where()));
    send_request(connections.back(), i % 2 == 0 ? "/metrics" : "/diagnose", {});
  }
  int answered = 0;
  for (const Fd& connection : connections) {
    const HttpAnswer answer = read_answer(connection, std::chrono::seconds(90));
    if (answer.status == 200 && !answer.body.empty()) ++answered;
  }
  connections.clear();
  CHECK(answered == kRequests);
  const std::string metrics = server.get("/metrics").body;
  const double captures = metric_value(metrics, "heapattach_captures_total{pid=\"" + pid + "\"}");
  const double pause = metric_value(metrics, "heapattach_pause_seconds_total{pid=\"" + pid + "\"}");
  CHECK(captures < 100);
  CHECK(pause < 2.2);  // a budget of a second per minute, of at most two
  CHECK(server.front() == front);
  const std::int64_t after = kilobytes(front, "VmRSS") + kilobytes(server.child().pid(), "VmRSS");
  CHECK(after - before < 16 << 10);
  print_figure(
      fmt::format("serve: {} requests side by side: {} captures, {:.0f} ms stopped; its own "
                  "memory {} KiB before, {} KiB after",
                  kRequests, captures, pause * 1e3, before, after));
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("serve: slow and hostile clients do not keep others from their answers") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(kObjects)});
  Server server({std::to_string(target.pid())});
  std::vector<Fd> idle;
  for (int i = 0; i < rounds(100, 600); ++i) {  // more than the limit, in the long form
    idle.push_back(connect_to_server(server.where()));
    const std::string part = "GET /metrics HTTP/1.1\r\nHost: ";
    if (i % 2 == 0) static_cast<void>(::write(idle.back().get(), part.data(), part.size()));
  }
  CHECK(server.get("/").status == 200);
  const std::vector<std::string> garbage{
      std::string(100'000, 'A'),
      "GET / HTTP/1.1\r\n" + std::string(100'000, 'h') + ": x\r\n\r\n",
      "GET " + std::string(50'000, '/') + " HTTP/1.1\r\n\r\n",
      std::string("\0\xff\x00\x01 \r\n\r\n", 9),
      "GET /stacks?pid=%00%ff&pid=&name=%%%&format[]=x HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nxxxx",
      "GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
  };
  for (const std::string& bytes : garbage) {
    const Fd client = connect_to_server(server.where());
    static_cast<void>(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    CHECK(read_answer(client, std::chrono::seconds(20)).status != 200);
  }
  CHECK(server.get("/diagnose").status == 200);
  const HttpAnswer led = http_get(server.where(), "/", {"X: y"});
  CHECK(led.status == 200);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("serve: allocations are recorded only with leave, for pprof, and shared") {
  LiveTarget target("malloc_sites", {"1", "free"});
  const std::string pid = std::to_string(target.pid());
  {
    Server closed({pid});
    const HttpAnswer refused = closed.get("/debug/pprof/allocs?seconds=1");
    CHECK(refused.status == 403);
    CHECK(refused.body.find("--allow-trace") != std::string::npos);
  }
  CHECK(mappings_of_recorder(target.pid()) == 0);
  // On a busy machine, the eight stops of a recording take long.
  Server server({"--allow-trace", "--pause-budget", "20000", "--heap", "malloc", pid});
  const std::string path = "/debug/pprof/allocs?seconds=4&pid=" + pid;
  // Two clients ask for the recording at once, and another one asks for stacks meanwhile.
  const Fd first = connect_to_server(server.where());
  const Fd second = connect_to_server(server.where());
  send_request(first, path, {});
  send_request(second, "/debug/pprof/allocs?seconds=2", {});
  CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) > 0; }));
  CHECK(server.get("/stacks").status == 200);
  const HttpAnswer one = read_answer(first, seconds(60));
  const HttpAnswer other = read_answer(second, seconds(60));
  CHECK(one.status == 200);
  CHECK(one.headers.at("heapattach-status") == "0");
  CHECK(one.body == other.body);
  CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) == 0; }));
  const std::string metrics = server.get("/metrics").body;
  CHECK(metric_value(metrics, "heapattach_captures_total{pid=\"" + pid + "\"}") == 3);
  const double pause = metric_value(metrics, "heapattach_pause_seconds_total{pid=\"" + pid + "\"}");
  CHECK(pause > 0);
  CHECK(pause < 20);
  print_figure(
      fmt::format("serve: a recording and two captures stopped for {:.0f} ms", pause * 1e3));
  CHECK(harm_done_to(target.pid()) == "");
  if (!has_program("go")) return;
  const TemporaryDirectory directory;
  const std::string url = "http://localhost:" + server.where() + path;
  const ToolRun top = run_in_shell(
      "PPROF_TMPDIR=\"$2\" go tool pprof -timeout 80 -top -sample_index=alloc_space \"$1\"",
      {url, directory.path()});
  CAPTURE(top.errors);
  CAPTURE(top.output);
  CHECK(top.status == 0);
  CHECK(top.output.find("Type: alloc_space") != std::string::npos);
  CHECK(top.output.find("Duration: 4") != std::string::npos);
  CHECK(top.output.find("make_") != std::string::npos);
}

TEST_CASE("serve: a recording ends when its clients are gone, and leaves nothing") {
  LiveTarget target("malloc_sites", {"1", "free"});
  Server server({"--allow-trace", "--pause-budget", "20000", "--heap", "malloc",
                 std::to_string(target.pid())});
  const auto begin = std::chrono::steady_clock::now();
  {
    const Fd client = connect_to_server(server.where());
    send_request(client, "/debug/pprof/allocs?seconds=60", {});
    CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) > 0; }));
    CHECK(::write(client.get(), "GET", 3) == 3);  // nobody reads it
  }
  CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) == 0; }));
  CHECK(std::chrono::steady_clock::now() - begin < seconds(55));
  // The recording also ends if the process that reads HTTP is gone.
  const Fd client = connect_to_server(server.where());
  send_request(client, "/debug/pprof/allocs?seconds=59", {});
  CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) > 0; }));
  ::kill(server.front(), SIGKILL);
  CHECK(eventually(seconds(30), [&] { return mappings_of_recorder(target.pid()) == 0; }));
  CHECK(server.get("/debug/pprof/allocs?seconds=61").status == 400);
  CHECK(eventually(seconds(30), [&] { return harm_done_to(target.pid()).empty(); }));
}

TEST_CASE("serve: whoever started the server may have ignored that children end") {
  LiveTarget target("deadlock");
  ChildProcess server(
      {"/bin/sh", "-c",
       "exec env --ignore-signal=CHLD \"$0\" serve --listen 127.0.0.1:0 \"$1\" 2>&1", tool_path(),
       std::to_string(target.pid())});
  const std::string line = server.read_line(seconds(60)).value_or("");
  REQUIRE(line.find("listening on") != std::string::npos);
  const std::size_t colon = line.rfind(':');
  const std::string port = line.substr(colon + 1, line.rfind('/') - colon - 1);
  CHECK(http_get(port, "/stacks").status == 200);
  server.signal(SIGTERM);
  CHECK(server.wait_end(seconds(60)) == 0);
}

TEST_CASE("serve: a process is not stopped for longer than its budget") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(kObjects)});
  const std::string pid = std::to_string(target.pid());
  Server server({"--pause-budget", "40", pid});
  HttpAnswer refused;
  const std::vector<std::string> pages{
      "/stacks",           "/diagnose", "/stacks?format=json", "/diagnose?format=json",
      "/debug/pprof/heap", "/snapshot"};
  const bool is_used_up = eventually(std::chrono::seconds(40), [&] {
    for (const std::string& page : pages) {
      refused = server.get(page);
      if (refused.status == 429) return true;
    }
    return false;
  });
  REQUIRE(is_used_up);
  CHECK(std::stoi(refused.headers.at("retry-after")) > 0);
  CHECK(refused.body.find("40 ms per minute") != std::string::npos);
  const std::string metrics = server.get("/metrics").body;
  CHECK(metric_value(metrics, "heapattach_pause_budget_seconds") == 0.04);
  CHECK(harm_done_to(target.pid()) == "");
}

TEST_CASE("serve: other machines need a token, and a Unix socket is for its owner") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(kObjects)});
  const std::string pid = std::to_string(target.pid());
  CHECK(run_tool({"serve", "--listen", "0.0.0.0:0", pid}).status == 2);
  const TemporaryDirectory directory;
  const std::string token = directory.file("token");
  write_text(token, "0123456789abcdef\n");
  ::chmod(token.c_str(), 0644);
  CHECK(run_tool({"serve", "--listen", "0.0.0.0:0", "--token-file", token, pid}).status == 2);
  ::chmod(token.c_str(), 0600);
  {
    Server server({"--listen", "0.0.0.0:0", "--token-file", token, pid});
    CHECK(server.get("/").status == 401);
    CHECK(server.get("/metrics", {"Authorization: Bearer 0123456789abcdeX"}).status == 401);
    CHECK(server.get("/", {"Authorization: Bearer 0123456789abcdef"}).status == 200);
  }
  const std::string socket = directory.file("socket");
  Server server({"--listen", socket, pid});
  struct stat status {};
  REQUIRE(::stat(socket.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(server.get("/stacks").status == 200);
  server.child().signal(SIGKILL);  // a killed server cannot remove its socket
  CHECK(server.child().wait_end(std::chrono::seconds(20)));
  Server second({"--listen", socket, pid});
  CHECK(second.get("/").status == 200);
  second.child().signal(SIGINT);
  CHECK(second.child().wait_end(std::chrono::seconds(20)) == 0);
  CHECK(::access(socket.c_str(), F_OK) != 0);
}

TEST_CASE("serve: when it is killed, nothing of it is left, and the process goes on") {
  NEEDS_STILL();
  LiveTarget target("still", {std::to_string(rounds(200'000, 2'000'000))});
  Server server({std::to_string(target.pid())});
  CHECK(server.get("/").status == 200);
  const pid_t front = server.front();
  const Fd client = connect_to_server(server.where());
  send_request(client, "/snapshot", {});
  CHECK(eventually(std::chrono::seconds(30), [&] {
    return status_line(target.pid(), "TracerPid") != "0" ||
           kilobytes(server.child().pid(), "VmRSS") == 0;
  }));
  server.child().signal(SIGKILL);
  CHECK(server.child().wait_end(std::chrono::seconds(20)));
  CHECK(eventually(std::chrono::seconds(30), [&] { return status_line(front, "Pid").empty(); }));
  CHECK(eventually(std::chrono::seconds(30), [&] { return harm_done_to(target.pid()).empty(); }));
}

}  // namespace heapattach
