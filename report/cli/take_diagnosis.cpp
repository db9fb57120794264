#include "report/cli/take_diagnosis.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "attach/base/fd.h"
#include "attach/process/thread_activity.h"
#include "report/cli/file_kind.h"
#include "report/cli/sources.h"
#include "report/cli/take_file.h"
#include "report/cli/take_heap.h"
#include "report/collect/memory_account.h"
#include "report/collect/see_memory.h"
#include "report/diagnose/gather.h"
#include "report/stacks/join_waits.h"
#include "report/stacks/saved_stacks.h"
#include "report/stacks/take_stacks.h"

namespace heapattach {

namespace {

using diagnose::Evidence;
using snapshot::Snapshot;

// As an argument for a shell.
std::string quoted(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char letter) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    return is_letter || (letter >= '0' && letter <= '9') ||
           std::string_view("/._-+:@%").find(letter) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

bool can_be_read_again(const std::string& file) {
  const bool is_descriptor =
      file == "/dev/stdin" || file.starts_with("/dev/fd/") || file.starts_with("/proc/");
  if (is_descriptor) return false;
  const auto found = Fd::open(file, O_PATH);  // stat() is forbidden while a file is read
  struct stat status {};
  return found && ::fstat(found->get(), &status) == 0 && S_ISREG(status.st_mode);
}

// Whether the process can be looked at although its heap was not read.
bool leaves_the_process(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Unsupported:
    case ErrorKind::Malformed:
    case ErrorKind::Impossible:
    case ErrorKind::Fault:
    case ErrorKind::Os: return true;
    default: return false;
  }
}

Result<void> add_baseline(const Options& options,
                          const Deadline& deadline,
                          Console& console,
                          const Snapshot& snapshot,
                          Evidence& evidence) {
  if (options.baseline.empty()) return {};
  Options saved = options;
  saved.file = options.baseline;
  const Snapshot baseline = HA_TRY(take_from_file(saved, deadline, console));
  diagnose::add_growth(baseline, quoted(options.baseline), snapshot, evidence);
  return {};
}

Result<Evidence> from_saved(const Options& options, const Deadline& deadline, Console& console) {
  Evidence evidence;
  evidence.source = can_be_read_again(options.file) ? quoted(options.file) : std::string();
  const Snapshot snapshot = HA_TRY(take_from_file(options, deadline, console));
  evidence.pid = snapshot.header.pid;
  if (!snapshot.threads.empty()) evidence.stacks = stacks::saved_stacks(snapshot);
  diagnose::add_heap(snapshot, evidence);
  HA_TRY(add_baseline(options, deadline, console, snapshot, evidence));
  return evidence;
}

// The stacks alone, of a process whose heap was taken without them.
void add_stacks(const Request& request, Evidence& evidence) {
  auto report = stacks::take_stacks(request);
  if (!report) {
    evidence.not_examined.push_back("threads: " + report.error().message());
    evidence.is_partial = true;
    return;
  }
  if (evidence.exe.empty()) evidence.exe = report->exe;
  if (evidence.resource.empty()) evidence.resource = report->resource;
  const double pause = std::chrono::duration<double, std::milli>(report->pause).count();
  evidence.pause_ms = evidence.pause_ms.value_or(0) + pause;
  if (report->is_partial) {
    for (const std::string& warning : report->warnings) {
      evidence.not_examined.push_back("threads: " + warning);
    }
    evidence.is_partial = true;
  }
  evidence.stacks = std::move(*report);
}

// Adds the findings for which the whole heap was needed, with the fibers that they are about.
void add_stuck_fibers(const Snapshot& snapshot, stacks::StackReport& report) {
  if (report.fibers.size() != snapshot.fibers.size()) return;
  report.findings = stacks::statements_of(snapshot.header.findings);
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    report.fibers[i].finding = snapshot.fibers[i].finding;
  }
}

// Memory by use, of a process whose heap was taken without it.
void add_memory_of(const Process& process, Evidence& evidence) {
  auto seen = snapshot::see_memory(process, {}, {}, {}, {});
  if (seen) diagnose::add_memory(*seen, evidence);
}

Result<Evidence> from_target(const Options& options, const Deadline& deadline, Console& console) {
  const Request request = heap_request(options, deadline, console);
  Evidence evidence;
  evidence.pid = options.pid;
  evidence.is_live = options.file.empty();
  evidence.source = evidence.is_live ? std::to_string(options.pid) : quoted(options.file);
  std::optional<Process> process;
  std::vector<ThreadActivity> before;
  if (evidence.is_live) {
    process = HA_TRY(Process::open(options.pid));
    before = HA_TRY(observe_activity(*process));
    evidence.facts = diagnose::read_facts(*process);
  }
  const stacks::WaitJoiner waits(
      std::move(before), [&](const stacks::StackReport& report) { evidence.stacks = report; });
  snapshot::TakeOptions what = take_options(options, request);
  what.with_unreachable = true;
  what.waits = &waits;
  what.on_memory = [&](const snapshot::SeenMemory& seen) { diagnose::add_memory(seen, evidence); };
  auto taken = take_from_process(options, what);
  if (!taken && !leaves_the_process(taken.error())) return taken.error();
  if (taken) {
    if (evidence.stacks) add_stuck_fibers(*taken, *evidence.stacks);
    diagnose::add_repeated(*taken, evidence);
    taken->values = {};  // a large part of the memory, and no longer needed
    diagnose::add_heap(*taken, evidence);
    HA_TRY(add_baseline(options, deadline, console, *taken, evidence));
  } else {
    evidence.not_examined.push_back("the heap: " + taken.error().message());
    evidence.is_partial = taken.error().kind != ErrorKind::Unsupported;
  }
  if (!evidence.stacks && options.hold != snapshot::Hold::Nothing) add_stacks(request, evidence);
  if (process && !evidence.memory) add_memory_of(*process, evidence);
  return evidence;
}

}  // namespace

Result<Evidence> take_diagnosis(const Options& options,
                                const Deadline& deadline,
                                Console& console) {
  const bool is_saved = !options.file.empty() && !is_elf_file(options.file);
  Evidence evidence = HA_TRY(is_saved ? from_saved(options, deadline, console)
                                      : from_target(options, deadline, console));
  if (evidence.stacks && !evidence.is_live) {
    evidence.not_examined.emplace_back(
        "busy threads, and some of the waits: only the live process shows them");
  }
  return evidence;
}

}  // namespace heapattach
