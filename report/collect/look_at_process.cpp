#include "report/collect/look_at_process.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "attach/process/kernel_text.h"
#include "attach/process/permission.h"
#include "attach/process/process.h"
#include "report/collect/header.h"
#include "report/collect/opened.h"
#include "report/collect/target.h"
#include "symbols/crystal/allocators.h"
#include "symbols/heap/object_allocators.h"
#include "symbols/heaps.h"
#include "symbols/runtimes.h"

namespace heapattach::snapshot {

namespace {

std::string runtime_of(const Opened& opened) {
  const Module* const program = opened.modules.main_program();
  if (program != nullptr && crystal::has_runtime(*program)) return "crystal";
  const auto strangers = runtimes::find_runtimes(opened.modules, opened.memory);
  if (!strangers.name().empty()) return std::string(strangers.name());
  if (const auto* const allocator = heap::find_object_allocator(opened.modules)) {
    return std::string(allocator->name);
  }
  return uses_cxx(opened.modules) ? "c++" : "";
}

void add_heaps(Opened& opened, const Deadline& deadline, ReadableProcess& process) {
  for (const heap::Kind* const kind : heap_kinds()) {
    if (kind->find == nullptr) continue;
    const auto found = opened.find_heap(
        *kind, [](std::string_view) {}, deadline);
    if (found) process.heaps.push_back(kind);
  }
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// What a process wrote over its arguments: one text where they were several, and then zeros. A path
// with a blank, without arguments, looks the same.
std::string title_in(std::string_view command_line, std::string_view program) {
  constexpr std::size_t kMost = 200;
  const std::string_view text = command_line.substr(0, command_line.find_last_not_of('\0') + 1);
  const std::string file(last_part(text));
  if (last_part(program) == file || last_part(program) == file + " (deleted)") return {};
  const bool is_padded = command_line.size() > text.size() + 1;
  const bool is_title = is_padded || text.find(' ') != std::string_view::npos;
  if (!is_title || text.find('\0') != std::string_view::npos) return {};
  return std::string(text.substr(0, kMost));
}

}  // namespace

Result<ReadableProcess> glance_at_process(pid_t pid) {
  const Process opened = HA_TRY(Process::open(pid));
  HA_TRY(check_may_trace(opened));
  ReadableProcess process;
  process.pid = pid;
  const std::string status = HA_TRY(opened.read_file("status"));
  process.resident_bytes = bytes_after(status, "VmRSS").value_or(0);
  process.started = start_time(opened);
  if (const auto command_line = opened.read_file("cmdline")) {
    const auto program = opened.read_link("exe");
    process.title = title_in(*command_line, program ? *program : std::string());
  }
  return process;
}

void look_at_process(std::span<const DumpedHeap* const> dumped,
                     const Deadline& deadline,
                     ReadableProcess& process) {
  Request request;
  request.pid = process.pid;
  request.deadline = deadline;
  auto opened = Opened::open(request);
  if (!opened) return;
  process.is_known = true;
  for (const DumpedHeap* const heap : dumped) {
    if (!heap->is_in(opened->modules, opened->memory)) continue;
    process.runtime = heap->kind.name;
    process.heaps = {&heap->kind};
    return;
  }
  process.runtime = runtime_of(*opened);
  add_heaps(*opened, deadline, process);
}

}  // namespace heapattach::snapshot
