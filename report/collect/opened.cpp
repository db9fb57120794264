#include "report/collect/opened.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attach/base/interrupt.h"
#include "attach/memory/process_context.h"
#include "report/collect/core_warnings.h"
#include "symbols/elf/core_modules.h"

namespace heapattach::snapshot {

namespace {

// Whether the process has ended, or is about to: it gives up its memory before the kernel shows it
// as dead.
bool is_gone(const Process& process) {
  if (!process.is_alive()) return true;
  const auto map = process.maps();
  return !map || map->mappings().empty();
}

}  // namespace

Opened::Opened(std::unique_ptr<const Process> opened, Fd mem)
    : process(std::move(opened)),
      live(std::make_unique<const LiveMemory>(*process, std::move(mem))),
      memory(*live) {}
Opened::Opened(std::unique_ptr<CoreFile> opened) : core(std::move(opened)), memory(*core) {}

Result<Opened> Opened::open(const Request& request) {
  auto opened = [&]() -> Result<Opened> {
    if (!request.file.empty()) return Opened(HA_TRY(CoreFile::open(request.file)));
    auto found = std::make_unique<const Process>(HA_TRY(Process::open(request.pid)));
    Fd mem = HA_TRY(LiveMemory::open_mem(*found));
    return Opened(std::move(found), std::move(mem));
  }();
  if (!opened) return opened;
  if (auto read = opened->read_modules(request); !read) {
    return opened->explain(std::move(read).error());
  }
  opened->read_resource(request);
  return opened;
}

Result<void> Opened::read_modules(const Request& request) {
  map = core ? core->map() : HA_TRY(process->maps());
  modules = HA_TRY(core ? load_modules(*core, request.symbols, request.deadline)
                        : Modules::load(*process, memory, map, request.symbols, request.deadline));
  return {};
}

void Opened::read_resource(const Request& request) {
  auto found = read_process_context(memory, map);
  if (found) {
    resource = *std::move(found);
  } else {
    no_resource = found.error().message();
    request.note("no names of the service: " + no_resource);
  }
}

Result<std::unique_ptr<heap::Source>> Opened::find_heap(
    const heap::Kind& kind,
    const std::function<void(std::string_view)>& note,
    const Deadline& deadline,
    bool is_alone) {
  return find_as_map_grows([&] {
    return kind.find({modules, memory, map, note, deadline, is_alone});
  });
}

Error Opened::explain(Error error) const {
  if (auto interrupted = check_interrupt(); !interrupted) return std::move(interrupted).error();
  if (process && is_gone(*process)) {
    return Error{ErrorKind::Gone, fmt::format("process {} exited", pid())};
  }
  if (core) {
    for (const std::string& text : warnings_of(*core, modules)) error.reason += "; " + text;
  }
  return error;
}

bool uses_cxx(const Modules& modules) {
  return std::any_of(modules.all().begin(), modules.all().end(), [](const Module& module) {
    return module.name().starts_with("libstdc++.so") || module.name().starts_with("libc++.so");
  });
}

}  // namespace heapattach::snapshot
