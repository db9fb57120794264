#include "report/cli/debug_files.h"

#include <csignal>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "attach/sandbox/confined.h"
#include "report/text/human_bytes.h"
#include "symbols/debuginfod/debuginfod.h"

namespace heapattach {

namespace {

std::string progress_text(const DebuginfodEvents::Progress& progress) {
  std::string text =
      fmt::format("asking for debug files: {} of {} modules", progress.asked, progress.all);
  if (!progress.name.empty()) {
    text += fmt::format("; {}: {} of {}", progress.name, human_bytes(progress.done),
                        human_bytes(progress.bytes));
  }
  return text;
}

// The process that asks the broker. When it has exited, nobody waits for a download any more.
pid_t asking_process = 0;

std::optional<int> has_asker_gone() noexcept {
  return ::getppid() == asking_process ? std::nullopt : std::optional(SIGTERM);
}

// Asks through the broker, one file at a time.
class BrokeredServer : public DebugServer {
 public:
  explicit BrokeredServer(Console& console) : console_(console) {}

  std::vector<Found> find(std::span<const Wanted> wanted, const Deadline& deadline) override {
    std::vector<Found> found(wanted.size());
    for (std::size_t i = 0; i < wanted.size() && !has_given_up_; ++i) {
      console_.draw_progress(progress_text({.asked = i, .all = wanted.size(), .done = 0}));
      auto file = find_debug_file_by_broker(wanted[i].build_id);
      if (deadline.is_interrupted()) break;
      if (file && !file->empty()) found[i] = {std::move(*file), "debuginfod's file"};
      if (file) continue;
      has_given_up_ = true;
      console_.say(fmt::format("no debug file for {}: {}", wanted[i].name, file.error().message()));
    }
    console_.end_progress();
    return found;
  }

  void reject(const Wanted& wanted, const std::string& why) override {
    console_.say(fmt::format("debuginfod sent a wrong debug file for {}: {}", wanted.name, why));
  }

 private:
  Console& console_;
  bool has_given_up_ = false;
};

}  // namespace

std::shared_ptr<DebugServer> debug_server(const Options& options, Console& console) {
  if (!options.with_debuginfod) return nullptr;
  DebuginfodEvents events;
  const bool is_redacted = options.redact;
  events.on_step = [&console, is_redacted](std::string_view step) {
    if (!is_redacted) console.step(step);
  };
  events.on_warning = [&console, is_redacted](std::string_view text) {
    console.say(is_redacted ? "a warning is hidden; run without --redact to see it" : text);
  };
  events.on_progress = [&console, is_redacted](DebuginfodEvents::Progress progress) {
    if (is_redacted) progress.name = {};
    console.draw_progress(progress_text(progress));
  };
  events.on_end = [&console] { console.end_progress(); };
  return Debuginfod::of_environment(std::move(events));
}

FindDebugFile duty_to_ask_servers(const Options& options, const Deadline& deadline) {
  if (!options.with_debuginfod) return {};
  const auto problem = std::make_shared<std::string>();
  DebuginfodEvents events;
  events.on_warning = [problem](std::string_view text) { *problem = text; };
  const auto server = Debuginfod::of_environment(std::move(events));
  if (!server) return {};
  asking_process = ::getpid();
  Deadline until = deadline;
  until.interrupted = has_asker_gone;
  return [server, problem, until](const std::string& build_id) -> Result<Fd> {
    const DebugServer::Wanted wanted{build_id, build_id};
    std::vector<DebugServer::Found> found = server->find(std::span(&wanted, 1), until);
    if (!problem->empty()) return Error{ErrorKind::Os, *problem};
    return std::move(found.front().file);
  };
}

std::shared_ptr<DebugServer> brokered_debug_server(Console& console) {
  return std::make_shared<BrokeredServer>(console);
}

}  // namespace heapattach
