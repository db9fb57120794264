#include "report/stacks/crystal_library.h"

#include <array>
#include <map>

namespace heapattach::stacks {

namespace {

// Each stack of a Crystal program goes through one of these: the main fiber begins in main.cr, the
// others in fiber.cr, and who waits is in a scheduler.
constexpr std::array<std::string_view, 4> kOnEachStack = {
    "crystal/main.cr", "crystal/scheduler.cr", "fiber/execution_context/scheduler.cr", "fiber.cr"};

struct ClassFile {
  std::string_view name;  // that a class's name begins with
  std::string_view file;
};
// The first that fits counts.
constexpr std::array kClassFiles = {
    ClassFile{"Channel", "channel.cr"},
    ClassFile{"Mutex", "mutex.cr"},
    ClassFile{"Sync::", "sync/mutex.cr"},
    ClassFile{"WaitGroup", "wait_group.cr"},
    ClassFile{"Process", "process.cr"},
    ClassFile{"Crystal::System::Process", "process.cr"},
    ClassFile{"Crystal::Scheduler", "crystal/scheduler.cr"},
    ClassFile{"Crystal::EventLoop::Polling", "crystal/event_loop/polling.cr"},
    ClassFile{"Crystal::EventLoop::Epoll", "crystal/event_loop/polling.cr"},
    ClassFile{"Crystal::EventLoop", "crystal/event_loop/libevent.cr"},
    ClassFile{"Crystal::FdLock", "crystal/fd_lock.cr"},
    ClassFile{"Crystal::Once", "crystal/once.cr"},
    ClassFile{"Crystal::", "crystal/system.cr"},
    ClassFile{"Fiber::ExecutionContext", "fiber/execution_context/scheduler.cr"},
    ClassFile{"Fiber", "fiber.cr"},
};

bool begins_with_class(std::string_view function, std::string_view name) {
  if (!function.starts_with(name)) return false;
  if (name.ends_with("::")) return true;
  const std::string_view rest = function.substr(name.size());
  return rest.empty() || rest.front() == '(' || rest.front() == '#' || rest.front() == ':';
}

}  // namespace

CrystalLibrary CrystalLibrary::of(const stack::Stacks& stacks) {
  std::map<std::string_view, std::size_t> directories;
  for (const stack::CodePlaces& code : stacks.places) {
    for (const stack::Place& place : code.places) {
      for (const std::string_view name : kOnEachStack) {
        const std::string_view file = place.file;
        if (!file.ends_with(name)) continue;
        const std::string_view directory = file.substr(0, file.size() - name.size());
        if (!directory.ends_with('/')) continue;
        ++directories[directory];
        break;
      }
    }
  }
  // A file of the program may have such a name too, but not as many places.
  std::string_view most;
  std::size_t count = 0;
  for (const auto& [directory, places] : directories) {
    if (places > count) most = directory;
    if (places > count) count = places;
  }
  return CrystalLibrary(std::string(most));
}

std::string_view CrystalLibrary::name_of(std::string_view file) const {
  if (directory_.empty() || !file.starts_with(directory_)) return {};
  return file.substr(directory_.size());
}

std::string_view method_of(std::string_view function) {
  const std::size_t mark = function.find_last_of("#.:");
  return mark == std::string_view::npos ? function : function.substr(mark + 1);
}

std::string_view file_by_class(std::string_view function) {
  if (function == "sleep") return "concurrent.cr";
  for (const ClassFile& one : kClassFiles) {
    if (begins_with_class(function, one.name)) return one.file;
  }
  const std::string_view method = method_of(function);
  const bool is_of_io = method == "wait_readable" || method == "wait_writable" ||
                        method == "wait_acceptable" || method == "wait_connectable" ||
                        method == "evented_read" || method == "evented_write";
  return is_of_io ? "io/evented.cr" : std::string_view();
}

}  // namespace heapattach::stacks
