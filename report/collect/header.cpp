#include "report/collect/header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "attach/base/fd.h"

namespace heapattach::snapshot {

namespace {

using WallClock = std::chrono::system_clock;

std::string rfc3339(WallClock::time_point at, bool with_millis) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const std::string text =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(WallClock::to_time_t(seconds)));
  if (!with_millis) return text + "Z";
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(at - seconds);
  return fmt::format("{}.{:03}Z", text, millis.count());
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Heap account_of(const heap::Source& source, const heap::Contents& contents) {
  const heap::Counters& counters = contents.counters;
  const heap::BlockIndex& index = contents.index;
  Heap account;
  account.name = source.kind().name;
  account.version = source.version();
  account.layout = source.layout();
  account.collecting = counters.collecting;
  account.collections = counters.collections;
  // Without the heap's own counters, use the sum of its blocks, which is the same.
  account.heap_bytes = counters.heap_bytes.value_or(index.used_bytes + index.free_bytes);
  account.free_bytes = counters.free_bytes.value_or(index.free_bytes);
  account.unmapped_bytes = counters.unmapped_bytes.value_or(index.unmapped_bytes);
  account.facts = contents.facts;
  account.remark = contents.remark;
  return account;
}

}  // namespace

// The kernel gives a process's start in ticks since boot, and the time of boot.
std::string start_time(const Process& process) {
  const auto stat = Fd::open("/proc/stat", O_RDONLY);
  if (!stat) return "";
  const auto text = read_all(*stat, std::size_t{16} << 20);
  if (!text) return "";
  const auto at = text->find("\nbtime ");
  if (at == std::string::npos) return "";
  const char* digits = text->data() + at + 7;
  std::int64_t boot_seconds = 0;
  std::from_chars(digits, text->data() + text->size(), boot_seconds);
  const auto ticks = static_cast<std::uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const auto since_boot = static_cast<std::int64_t>(process.start_ticks() / ticks);
  return rfc3339(WallClock::time_point(std::chrono::seconds(boot_seconds + since_boot)), false);
}

// A core file does not contain the host and the start time of the process.
void fill_origin(const Opened& opened, Header& header) {
  header.tool = "heapattach " HEAPATTACH_VERSION;
  header.pid = opened.pid();
  header.resource = opened.resource;
  if (const Module* program = opened.modules.main_program()) header.build_id = program->build_id();
  if (opened.core) {
    header.exe = opened.core->program();
    return;
  }
  header.host = host_name();
  if (auto exe = opened.process->read_link("exe")) header.exe = std::move(*exe);
  header.started = start_time(*opened.process);
}

std::string moment_text(WallClock::time_point at) {
  return rfc3339(at, true);
}

void fill_header(const Target& target,
                 const HeldHeap& held,
                 const TakeOptions& options,
                 Snapshot& snapshot) {
  Header& header = snapshot.header;
  fill_origin(target, header);
  header.captured = rfc3339(held.captured, true);
  header.source = target.core ? "core" : held.is_clone ? "clone" : held.is_held ? "freeze" : "read";
  if (held.is_held && !target.core) {
    header.pause_ms = std::chrono::duration<double, std::milli>(held.freeze.pause).count();
  }
  for (std::size_t i = 0; i < held.heaps.size(); ++i) {
    snapshot.heaps.push_back(account_of(*target.heaps[i], held.heaps[i]));
  }
  header.runtime = target.runtime;
  header.live_only = !options.with_unreachable;
}

}  // namespace heapattach::snapshot
