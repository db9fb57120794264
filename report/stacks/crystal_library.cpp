#include "report/stacks/crystal_library.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace heapattach::stacks {

namespace {

// Each stack of a Crystal program goes through one of these: the main fiber begins in main.cr, the
// others in fiber.cr, and a waiting fiber is in a scheduler.
constexpr std::array<std::string_view, 4> kOnEachStack = {
    "crystal/main.cr", "crystal/scheduler.cr", "fiber/execution_context/scheduler.cr", "fiber.cr"};

struct ClassFile {
  std::string_view name;  // the prefix of a class's name
  std::string_view file;
};
// The first match counts.
constexpr std::array kClassFiles = {
    ClassFile{"Channel", "channel.cr"},
    ClassFile{"Mutex", "mutex.cr"},
    ClassFile{"Sync::CV", "sync/cv.cr"},
    ClassFile{"Sync::ConditionVariable", "sync/condition_variable.cr"},
    ClassFile{"Sync::Waiter", "sync/waiter.cr"},
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
    ClassFile{"Thread", "crystal/system/thread.cr"},
    ClassFile{"GC", "gc/boehm.cr"},
    ClassFile{"Fiber::ExecutionContext", "fiber/execution_context/scheduler.cr"},
    ClassFile{"Fiber", "fiber.cr"},
};

// Classes that have their waits from a module, IO::Evented: the symbol of such a method begins with
// the class, and is that alone where it was cut.
constexpr std::array kEventedClasses = {
    ClassFile{"File", "file.cr"},
    ClassFile{"IO::FileDescriptor", "io/file_descriptor.cr"},
    ClassFile{"IPSocket", "socket/ip_socket.cr"},
    ClassFile{"Socket", "socket.cr"},
    ClassFile{"TCPServer", "socket/tcp_server.cr"},
    ClassFile{"TCPSocket", "socket/tcp_socket.cr"},
    ClassFile{"UDPSocket", "socket/udp_socket.cr"},
    ClassFile{"UNIXServer", "socket/unix_server.cr"},
    ClassFile{"UNIXSocket", "socket/unix_socket.cr"},
};

bool begins_with_class(std::string_view function, std::string_view name) {
  if (!function.starts_with(name)) return false;
  if (name.ends_with("::")) return true;
  const std::string_view rest = function.substr(name.size());
  return rest.empty() || rest.front() == '(' || rest.front() == '#' || rest.front() == ':';
}

}  // namespace

CrystalLibrary CrystalLibrary::of(const unwind::Stacks& stacks) {
  std::vector<std::string_view> files;
  bool is_crystal = false;
  for (const unwind::CodePlaces& code : stacks.places) {
    for (const unwind::Place& place : code.places) {
      is_crystal = is_crystal || place.function.starts_with("Crystal::") ||
                   place.function.starts_with("Fiber#") || place.function == "__crystal_main";
      files.push_back(place.file);
    }
  }
  CrystalLibrary library = of_files(files);
  library.is_crystal_ = is_crystal || library.is_crystal_;
  return library;
}

CrystalLibrary CrystalLibrary::of_files(std::span<const std::string_view> files) {
  std::map<std::string_view, std::size_t> directories;
  for (const std::string_view file : files) {
    for (const std::string_view name : kOnEachStack) {
      if (!file.ends_with(name)) continue;
      const std::string_view directory = file.substr(0, file.size() - name.size());
      if (!directory.ends_with('/')) continue;
      ++directories[directory];
      break;
    }
  }
  // A file of the program may have such a name too, but it occurs less often.
  std::string_view most;
  std::size_t count = 0;
  for (const auto& [directory, places] : directories) {
    if (places > count) most = directory;
    if (places > count) count = places;
  }
  return CrystalLibrary{std::string(most)};
}

std::string_view CrystalLibrary::name_of(std::string_view file) const {
  if (directory_.empty() || !file.starts_with(directory_)) return {};
  return file.substr(directory_.size());
}

bool is_of_library(std::string_view function) {
  // The namespaces and classes that programs wait in; programs open them rarely.
  constexpr std::array<std::string_view, 26> kNames = {
      "Crystal::", "Fiber",  "Channel", "Mutex",   "Sync::",   "WaitGroup", "Process",
      "Thread",    "GC",     "IO",      "IO::",    "File",     "Socket",    "TCPServer",
      "TCPSocket", "HTTP::", "Log",     "Log::",   "Signal",   "Time",      "Array",
      "Hash",      "Deque",  "Int32",   "OpenSSL", "Indexable"};
  if (function.empty() || function.starts_with("->") || function == "(proc)") return true;
  if (function == "sleep" || function == "gets" || function == "main") return true;
  if (function.starts_with("__") || function.starts_with("UNIX")) return true;
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return begins_with_class(function, name); });
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
  if (is_of_io) return "io/evented.cr";
  // The functions that wait may be inlined into these.
  const bool may_wait = method == "unbuffered_read" || method == "unbuffered_write";
  for (const ClassFile& one : kEventedClasses) {
    if (function == one.name) return one.file;
    if (may_wait && begins_with_class(function, one.name)) return "io/evented.cr";
  }
  return function.ends_with("Socket#initialize") ? "socket/tcp_socket.cr" : std::string_view();
}

}  // namespace heapattach::stacks
