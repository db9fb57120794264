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

// The kernel counts a process's start in ticks since boot, and has the time of boot.
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

Heap account_of(const glibc::Account& malloc) {
  using glibc::ArenaAccount;
  Heap account;
  account.name = kMallocsHeap.name;
  account.layout = name_of(boehm::Layout::Source::Structure);
  account.heap_bytes = malloc.heap_bytes();
  account.free_bytes = malloc.free_bytes();
  account.unmapped_bytes = 0;
  // As mallinfo2() counts.
  account.facts = {
      {"arenas", {}, malloc.arenas.size()},
      {"bin_bytes", "free, between what is in use (fragmentation)",
       malloc.sum(&ArenaAccount::free)},
      {"fast_bin_bytes", "free, in fast bins", malloc.sum(&ArenaAccount::fast)},
      {"cache_bytes", "free, in the caches of threads", malloc.sum(&ArenaAccount::cached)},
      {"top_bytes", "free, at the ends of arenas", malloc.sum(&ArenaAccount::top)},
      {"mapped_allocations", {}, malloc.mapped_chunks},
      {"mapped_allocation_bytes", {}, malloc.mapped_bytes}};
  account.remark =
      fmt::format("{} arena{}; {} bytes of the heap are {} mapped allocation{}",
                  malloc.arenas.size(), malloc.arenas.size() == 1 ? "" : "s", malloc.mapped_bytes,
                  malloc.mapped_chunks, malloc.mapped_chunks == 1 ? "" : "s");
  return account;
}

Heap account_of(const Target& target, const HeldHeap& held) {
  Heap account;
  account.version = target.collector.version;
  account.layout = name_of(target.collector.layout.source);
  account.collecting = held.counters.collecting;
  account.collections = held.counters.collections;
  // If the collector's own counters are unavailable, its blocks add up to the same.
  account.heap_bytes =
      held.counters.heap_bytes.value_or(held.index.used_bytes + held.index.free_bytes);
  account.free_bytes = held.counters.free_bytes.value_or(held.index.free_bytes);
  account.unmapped_bytes = held.counters.unmapped_bytes.value_or(held.index.unmapped_bytes);
  return account;
}

}  // namespace

std::string_view name_of(boehm::Layout::Source source) {
  switch (source) {
    case boehm::Layout::Source::Accessors: return "accessors";
    case boehm::Layout::Source::DebugInfo: return "debug info";
    case boehm::Layout::Source::Structure: return "structure";
  }
  return "";
}

void fill_origin(const Process& process, const Modules& modules, Header& header) {
  header.tool = "heapattach " HEAPATTACH_VERSION;
  header.pid = process.pid();
  header.host = host_name();
  if (auto exe = process.read_link("exe")) header.exe = std::move(*exe);
  header.started = start_time(process);
  if (const Module* program = modules.main_program()) header.build_id = program->build_id();
}

std::string moment_text(WallClock::time_point at) {
  return rfc3339(at, true);
}

void fill_header(const Target& target,
                 const HeldHeap& held,
                 const TakeOptions& options,
                 Snapshot& snapshot) {
  Header& header = snapshot.header;
  if (target.core) {
    // A core file does not have the machine and the start time of the process.
    header.tool = "heapattach " HEAPATTACH_VERSION;
    header.pid = target.pid();
    header.exe = target.core->program();
    if (const Module* program = target.modules.main_program()) {
      header.build_id = program->build_id();
    }
  } else {
    fill_origin(*target.process, target.modules, header);
  }
  header.captured = rfc3339(held.captured, true);
  header.source = target.core ? "core" : held.is_clone ? "clone" : held.is_held ? "freeze" : "read";
  if (held.is_held && !target.core) {
    header.pause_ms = std::chrono::duration<double, std::milli>(held.freeze.pause).count();
  }
  if (!target.is_malloc) snapshot.heaps.push_back(account_of(target, held));
  if (held.malloc) snapshot.heaps.push_back(account_of(held.malloc->account));
  header.runtime = target.runtime;
  header.live_only = !options.with_unreachable;
}

}  // namespace heapattach::snapshot
