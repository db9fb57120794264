#include "integration/cloning.h"

#include <fstream>
#include <sstream>

#include <fcntl.h>

#include "attach/memory/live_memory.h"
#include "integration/health.h"
#include "integration/rounds.h"

namespace heapattach {

namespace {

// A busy machine may leave the target without a processor for long.
constexpr std::chrono::seconds kPatience{30};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Whether the mapping is the part of a malloc arena that no allocation has needed yet. That part
// becomes smaller, or appears with a new arena.
bool is_reserved_by_malloc(const Mapping& mapping) {
  constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20U;
  const bool is_closed = !mapping.readable && !mapping.writable && !mapping.executable;
  return mapping.is_anonymous() && is_closed && mapping.range.end().value % kArenaBytes == 0;
}

std::uint64_t sum_of_code(const MemoryReader& memory, const MemoryMap& map) {
  std::uint64_t sum = 0;
  for (const Mapping& mapping : map.mappings()) {
    if (!mapping.executable || !mapping.readable) continue;
    std::vector<std::uint64_t> words(mapping.range.bytes / sizeof(std::uint64_t));
    if (!memory.read(mapping.range.start, std::as_writable_bytes(std::span(words)))) continue;
    for (const std::uint64_t word : words) sum = sum * 1099511628211U + word;
  }
  return sum;
}

}  // namespace

Result<FreezeReport> clone_once(pid_t pid,
                                const CloneOptions& options,
                                const std::function<Result<void>(const Clone&)>& work) {
  const Process process = HA_TRY(Process::open(pid));
  CloneOptions patient = options;
  patient.freeze.budget = patient.freeze.thread_deadline = kPatience;
  Clone clone = HA_TRY(Clone::make(process, patient));
  if (work) HA_TRY(work(clone));
  FreezeReport report = clone.freeze();
  HA_TRY(clone.end());
  return report;
}

std::string signals_of(pid_t pid) {
  std::string all;
  for (const pid_t tid : threads_of(pid)) {
    const std::string status = text_of_file(fmt::format("/proc/{}/task/{}/status", pid, tid));
    // The kernel's threads for io_uring always block every signal that can be blocked.
    if (status.starts_with("Name:\tiou-")) continue;
    std::istringstream lines(status);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("SigBlk", 0) == 0 || line.rfind("SigIgn", 0) == 0 ||
          line.rfind("SigCgt", 0) == 0) {
        all += fmt::format("{} {}\n", tid, line);
      }
    }
  }
  return all;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t tid : threads_of(pid)) {
    std::istringstream text(text_of_file(fmt::format("/proc/{}/task/{}/children", pid, tid)));
    for (pid_t child = 0; text >> child;) children.push_back(child);
  }
  return children;
}

Traces traces_of(pid_t pid) {
  // A new thread may not have run yet, and until then the C library makes it block every signal
  // that can be blocked.
  (void)eventually(kPatience, [&] {
    return signals_of(pid).find("SigBlk:\tfffffffffffbfeff") == std::string::npos;
  });
  Traces traces;
  traces.files = open_files(pid);
  traces.children = children_of(pid);
  traces.signals = signals_of(pid);
  traces.oom_score_adj = text_of_file(fmt::format("/proc/{}/oom_score_adj", pid));
  const auto process = Process::open(pid);
  if (!process) return traces;
  const auto map = process->maps();
  auto mem = LiveMemory::open_mem(*process);
  if (!map || !mem) return traces;
  for (const Mapping& mapping : map->mappings()) {
    const bool may_grow = mapping.is_anonymous() && mapping.writable;
    if (may_grow || is_reserved_by_malloc(mapping)) continue;
    traces.mappings +=
        fmt::format("{}-{} {}{}{} {}\n", mapping.range.start, mapping.range.end(), mapping.readable,
                    mapping.writable, mapping.executable, mapping.path);
  }
  traces.code = sum_of_code(LiveMemory(*process, std::move(*mem)), *map);
  return traces;
}

std::string difference(const Traces& before, const Traces& after) {
  std::string text;
  if (before.mappings != after.mappings) {
    text += fmt::format("mappings:\n{}became\n{}", before.mappings, after.mappings);
  }
  if (before.files != after.files) text += "open files; ";
  if (before.children != after.children) {
    text += fmt::format("{} children became {}; ", before.children.size(), after.children.size());
  }
  if (before.signals != after.signals) {
    text += fmt::format("signals:\n{}became\n{}", before.signals, after.signals);
  }
  if (before.oom_score_adj != after.oom_score_adj) text += "oom_score_adj; ";
  if (before.code != after.code) text += "code; ";
  return text;
}

}  // namespace heapattach
