// The functions that a fiber waits in show what it waits for. All knowledge about Crystal's library
// is in two tables.
//
// The first: the scheduler suspends a fiber (files of kind Skip), and the caller of the scheduler
// is what waits. So the first frame that is not the scheduler's decides, by its file and, if a file
// has several waits, by its method. The code of a method that takes a block is in its caller, which
// has the line of the one and the name of the other (Place::home): then only the file decides.
//
// The second: its callers, while they are still in the library, may refine it: a read is an accept
// if accept? does it.
//
// Names of methods come from debug information, and those of classes from symbols. lld cuts
// symbols, and a program without debug information has no files; the rest suffices (file_by_class).
// The releases, by file:
//
//   1.0 to 1.12   channel.cr, mutex.cr, concurrent.cr, io/evented.cr, crystal/scheduler.cr (sleep)
//   1.13          wait_group.cr; Fiber.suspend between them and the scheduler; a socket's wait is
//                 in the event loop, which crystal/system/socket.cr calls
//   1.15          channel/select.cr, crystal/event_loop/polling.cr instead of io/evented.cr
//   1.16          fiber/execution_context/*; sleep is in crystal/event_loop/*
//   1.19          sync/*, crystal/fd_lock.cr
//   1.20 …        Mutex is Sync::Mutex; crystal/event_loop/libevent/evented.cr, io_uring.cr

#include "report/stacks/wait_signs.h"

#include <algorithm>
#include <array>
#include <optional>

namespace heapattach::stacks {

namespace {

constexpr std::size_t kInnermost = 60;  // frames that are searched for a wait

enum class Means : std::uint8_t { Skip, Wait, Scheduler, Io };

// A method in a file of the library. Without a method: every method that no earlier line names. A
// file that ends with a slash covers everything in that directory.
struct Sign {
  std::string_view file;
  std::string_view method;
  Means means = Means::Skip;
  WaitKind kind = WaitKind::Unknown;
};

constexpr std::array kSigns = {
    Sign{"channel.cr", "send", Means::Wait, WaitKind::Send},
    Sign{"channel.cr", "receive", Means::Wait, WaitKind::Receive},
    Sign{"channel.cr", "receive?", Means::Wait, WaitKind::Receive},
    Sign{"channel.cr", "receive_impl", Means::Wait, WaitKind::Receive},
    Sign{"channel.cr", "next", Means::Wait, WaitKind::Receive},
    Sign{"channel.cr", "select", Means::Wait, WaitKind::Select},
    Sign{"channel.cr", "select_impl", Means::Wait, WaitKind::Select},
    Sign{"channel.cr", "", Means::Wait, WaitKind::Channel},
    Sign{"channel/select.cr", "", Means::Wait, WaitKind::Select},
    Sign{"mutex.cr", "", Means::Wait, WaitKind::Mutex},
    Sign{"sync/waiter.cr", "", Means::Skip},
    Sign{"sync/condition_variable.cr", "", Means::Wait, WaitKind::Condition},
    Sign{"sync/cv.cr", "", Means::Wait, WaitKind::Condition},
    Sign{"sync/", "", Means::Wait, WaitKind::Mutex},
    Sign{"wait_group.cr", "", Means::Wait, WaitKind::WaitGroup},
    Sign{"concurrent.cr", "sleep", Means::Wait, WaitKind::SleepForever},
    Sign{"crystal/once.cr", "", Means::Wait, WaitKind::Once},
    Sign{"crystal/fd_lock.cr", "", Means::Wait, WaitKind::Descriptor},
    Sign{"crystal/scheduler.cr", "sleep", Means::Wait, WaitKind::Sleep},
    Sign{"crystal/scheduler.cr", "yield", Means::Wait, WaitKind::Ready},
    Sign{"crystal/scheduler.cr", "run_loop", Means::Scheduler},
    Sign{"crystal/fiber_channel.cr", "", Means::Scheduler},
    Sign{"crystal/scheduler.cr", "", Means::Skip},
    Sign{"crystal/event_loop/polling.cr", "sleep", Means::Wait, WaitKind::Sleep},
    Sign{"crystal/event_loop/polling.cr", "accept", Means::Wait, WaitKind::Accept},
    Sign{"crystal/event_loop/polling.cr", "connect", Means::Wait, WaitKind::Connect},
    Sign{"crystal/event_loop/polling.cr", "wait_writable", Means::Wait, WaitKind::Write},
    Sign{"crystal/event_loop/polling.cr", "wait_readable", Means::Wait, WaitKind::Read},
    Sign{"crystal/event_loop/polling.cr", "wait", Means::Io},
    Sign{"crystal/event_loop/polling.cr", "system_run", Means::Skip},
    Sign{"crystal/event_loop/polling.cr", "run", Means::Skip},
    Sign{"crystal/event_loop/polling.cr", "", Means::Io},
    Sign{"crystal/event_loop/io_uring.cr", "sleep", Means::Wait, WaitKind::Sleep},
    Sign{"crystal/event_loop/io_uring.cr", "accept", Means::Wait, WaitKind::Accept},
    Sign{"crystal/event_loop/io_uring.cr", "connect", Means::Wait, WaitKind::Connect},
    Sign{"crystal/event_loop/io_uring.cr", "write", Means::Wait, WaitKind::Write},
    Sign{"crystal/event_loop/io_uring.cr", "wait_writable", Means::Wait, WaitKind::Write},
    Sign{"crystal/event_loop/io_uring.cr", "send_to", Means::Wait, WaitKind::Write},
    Sign{"crystal/event_loop/io_uring.cr", "read", Means::Wait, WaitKind::Read},
    Sign{"crystal/event_loop/io_uring.cr", "wait_readable", Means::Wait, WaitKind::Read},
    Sign{"crystal/event_loop/io_uring.cr", "receive_from", Means::Wait, WaitKind::Read},
    Sign{"crystal/event_loop/libevent.cr", "sleep", Means::Wait, WaitKind::Sleep},
    Sign{"crystal/event_loop/libevent/evented.cr", "evented_wait_readable", Means::Wait,
         WaitKind::Read},
    Sign{"crystal/event_loop/libevent/evented.cr", "evented_wait_writable", Means::Wait,
         WaitKind::Write},
    Sign{"crystal/event_loop/libevent/evented.cr", "", Means::Io},
    Sign{"crystal/event_loop/", "", Means::Skip},
    Sign{"io/evented.cr", "wait_readable", Means::Wait, WaitKind::Read},
    Sign{"io/evented.cr", "wait_acceptable", Means::Wait, WaitKind::Accept},
    Sign{"io/evented.cr", "wait_writable", Means::Wait, WaitKind::Write},
    Sign{"io/evented.cr", "wait_connectable", Means::Wait, WaitKind::Connect},
    Sign{"io/evented.cr", "evented_read", Means::Wait, WaitKind::Read},
    Sign{"io/evented.cr", "evented_write", Means::Wait, WaitKind::Write},
    Sign{"io/evented.cr", "unbuffered_read", Means::Wait, WaitKind::Read},
    Sign{"io/evented.cr", "unbuffered_write", Means::Wait, WaitKind::Write},
    Sign{"io/evented.cr", "", Means::Io},
    Sign{"socket/tcp_socket.cr", "initialize", Means::Wait, WaitKind::Connect},
    // Without line tables, where symbols are cut, the class of the IO is left of its methods.
    Sign{"socket/tcp_server.cr", "", Means::Wait, WaitKind::Accept},
    Sign{"socket/unix_server.cr", "", Means::Wait, WaitKind::Accept},
    Sign{"socket/", "", Means::Io},
    Sign{"socket.cr", "", Means::Io},
    Sign{"io/file_descriptor.cr", "", Means::Io},
    Sign{"file.cr", "", Means::Io},
    Sign{"fiber/execution_context/isolated.cr", "wait", Means::Wait, WaitKind::Context},
    Sign{"fiber/execution_context/isolated.cr", "join", Means::Wait, WaitKind::Context},
    Sign{"fiber/execution_context/isolated.cr", "run", Means::Scheduler},
    Sign{"fiber/execution_context/parallel/scheduler.cr", "run_loop", Means::Scheduler},
    Sign{"fiber/execution_context/multi_threaded/scheduler.cr", "run_loop", Means::Scheduler},
    Sign{"fiber/execution_context/single_threaded.cr", "run_loop", Means::Scheduler},
    Sign{"fiber/execution_context/monitor.cr", "", Means::Scheduler},
    Sign{"fiber/execution_context/thread_pool.cr", "", Means::Scheduler},
    Sign{"fiber/execution_context/scheduler.cr", "run_loop", Means::Scheduler},
    Sign{"fiber/execution_context/", "", Means::Skip},
    Sign{"fiber/", "", Means::Skip},
    Sign{"fiber.cr", "yield", Means::Wait, WaitKind::Ready},
    Sign{"fiber.cr", "run", Means::Wait, WaitKind::Ended},
    Sign{"fiber.cr", "", Means::Skip},
    Sign{"crystal/system/fiber.cr", "", Means::Skip},
    Sign{"crystal/system/unix/fiber.cr", "", Means::Skip},
    Sign{"crystal/system/unix/event_libevent.cr", "", Means::Skip},
    Sign{"crystal/system/unix/event_loop_libevent.cr", "", Means::Skip},
    Sign{"crystal/system/event_loop.cr", "", Means::Skip},
    Sign{"crystal/system/unix/epoll.cr", "", Means::Skip},
    Sign{"crystal/system/unix/pthread", "", Means::Skip},
    Sign{"crystal/system/thread", "", Means::Skip},
    Sign{"crystal/tracing.cr", "", Means::Skip},
    Sign{"crystal/spin_lock.cr", "", Means::Skip},
    Sign{"gc/", "", Means::Skip},
    Sign{"crystal/system.cr", "", Means::Skip},
};

// A caller that refines a wait.
struct Refinement {
  WaitKind from;
  std::string_view file;
  std::string_view method;
  WaitKind to;
};

constexpr std::array kRefinements = {
    Refinement{WaitKind::Sleep, "fiber.cr", "yield", WaitKind::Ready},
    Refinement{WaitKind::Sleep, "crystal/scheduler.cr", "yield", WaitKind::Ready},
    Refinement{WaitKind::Mutex, "sync/cv.cr", "wait", WaitKind::Condition},
    Refinement{WaitKind::Mutex, "sync/condition_variable.cr", "wait", WaitKind::Condition},
    Refinement{WaitKind::Receive, "process.cr", "wait", WaitKind::Process},
    Refinement{WaitKind::Channel, "process.cr", "wait", WaitKind::Process},
    Refinement{WaitKind::Receive, "crystal/system/unix/process.cr", "wait", WaitKind::Process},
    Refinement{WaitKind::Read, "crystal/system/unix/socket.cr", "system_accept", WaitKind::Accept},
    Refinement{WaitKind::Read, "socket.cr", "accept?", WaitKind::Accept},
    Refinement{WaitKind::Read, "socket.cr", "accept_impl", WaitKind::Accept},
    Refinement{WaitKind::Write, "crystal/system/unix/socket.cr", "system_connect",
               WaitKind::Connect},
    Refinement{WaitKind::Write, "socket.cr", "connect", WaitKind::Connect},
    Refinement{WaitKind::Io, "crystal/system/unix/socket.cr", "system_connect", WaitKind::Connect},
    Refinement{WaitKind::Io, "crystal/system/unix/socket.cr", "system_accept", WaitKind::Accept},
    Refinement{WaitKind::Io, "crystal/system/socket.cr", "system_connect", WaitKind::Connect},
    Refinement{WaitKind::Io, "crystal/system/socket.cr", "system_accept", WaitKind::Accept},
    Refinement{WaitKind::Io, "socket.cr", "connect", WaitKind::Connect},
    Refinement{WaitKind::Io, "socket/tcp_socket.cr", "initialize", WaitKind::Connect},
    Refinement{WaitKind::Io, "socket/unix_socket.cr", "initialize", WaitKind::Connect},
};

bool is_in(std::string_view file, std::string_view sign) {
  if (sign.ends_with('/') || !sign.ends_with(".cr")) return file.starts_with(sign);
  return file == sign;
}

const Sign* sign_of(std::string_view file, std::string_view method) {
  if (file.empty()) return nullptr;
  const auto found = std::find_if(kSigns.begin(), kSigns.end(), [&](const Sign& sign) {
    return is_in(file, sign.file) && (sign.method.empty() || sign.method == method);
  });
  return found == kSigns.end() ? nullptr : &*found;
}

bool is_capital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

// The part of the library that a frame is in.
struct Standing {
  std::string_view file;  // empty: not in the library
  std::string_view method;
  std::string_view home;  // of the function, if its code is in another one
};

Standing standing_of(const unwind::Place& place, const CrystalLibrary& library) {
  const std::string_view method = method_of(place.function);
  if (place.file.empty() && library.directory().empty()) {
    // In a symbol that was cut, only the class is left, no method.
    const bool is_class = method == place.function || (!method.empty() && is_capital(method[0]));
    const bool is_top_level = place.function == "sleep";
    return {file_by_class(place.function), is_class && !is_top_level ? "" : method, {}};
  }
  const std::string_view file = library.name_of(place.file);
  if (place.home.empty()) return {file, method, {}};
  return {file, {}, library.name_of(place.home)};
}

// "Channel(Job)" of "Channel(Job)#receive".
std::string type_in(const unwind::Place& place) {
  const std::string_view function = place.function;
  for (const std::string_view name : {"Channel(", "Mutex#", "Sync::", "WaitGroup#"}) {
    if (function.starts_with(name)) return std::string(function.substr(0, function.rfind('#')));
  }
  return {};
}

// Goes through a stack from its innermost function.
class Reading {
 public:
  Reading(const CrystalLibrary& library, WaitFrame& found) : library_(library), found_(found) {}

  // False where the library ends: its caller is the program's, and shows nothing more.
  bool take(const unwind::Place& place, std::size_t frame) {
    const Standing at = standing_of(place, library_);
    if (found_.kind == WaitKind::Unknown) {
      if (!begin(place, at, frame)) return false;
    } else if (!refine(place, at.file, at.method, frame)) {
      return false;
    }
    if (found_.is_scheduler) return false;
    if (!place.home.empty() && found_.kind != WaitKind::Unknown) {
      return refine(place, at.home, method_of(place.function), frame);
    }
    return true;
  }

 private:
  bool begin(const unwind::Place& place, const Standing& at, std::size_t frame) {
    // Below and between the library's frames there are others: libc, libevent, libgc. Without files
    // they look like the program's, which may be above the library.
    const bool may_be_own =
        library_.directory().empty() ? is_in_library_ : place.file.ends_with(".cr");
    if (at.file.empty()) return !may_be_own;
    is_in_library_ = true;
    const Sign* const sign = sign_of(at.file, at.method);
    if (sign == nullptr) return false;
    // Without line information, ignore the function that runs a fiber: any other may be inlined
    // there.
    if (sign->kind == WaitKind::Ended && place.file.empty()) return true;
    if (sign->means == Means::Scheduler) found_.is_scheduler = true;
    if (sign->means == Means::Wait) found_.kind = sign->kind;
    if (sign->means == Means::Io) found_.kind = WaitKind::Io;
    if (sign->means == Means::Skip) return true;
    found_.frame = frame;
    found_.type = type_in(place);
    return true;
  }

  // Whether the frame still belongs to the wait.
  bool refine(const unwind::Place& place,
              std::string_view file,
              std::string_view method,
              std::size_t frame) {
    if (file.empty()) return false;
    const auto more =
        std::find_if(kRefinements.begin(), kRefinements.end(), [&](const Refinement& one) {
          return one.from == found_.kind && one.file == file && one.method == method;
        });
    const bool is_more = more != kRefinements.end();
    if (is_more) found_.kind = more->to;
    const Sign* const sign = sign_of(file, method);
    // With several threads a scheduler without work reads from a pipe.
    if (sign != nullptr && sign->means == Means::Scheduler) {
      found_.is_scheduler = true;
      return false;
    }
    // A method within one of the same kind: the object is in the outer frame, too.
    const bool is_like = sign != nullptr && sign->means == Means::Wait && sign->kind == found_.kind;
    if (!is_more && !is_like) return true;
    found_.frame = frame;
    if (std::string type = type_in(place); !type.empty()) found_.type = std::move(type);
    return true;
  }

  const CrystalLibrary& library_;
  WaitFrame& found_;
  bool is_in_library_ = false;
};

}  // namespace

WaitFrame wait_by_functions(const unwind::StackRecord& record,
                            const unwind::Stacks& stacks,
                            const CrystalLibrary& library) {
  WaitFrame found;
  Reading reading(library, found);
  const std::size_t count = std::min(record.frames.size(), kInnermost);
  for (std::size_t i = 0; i < count; ++i) {
    for (const unwind::Place& place : stacks.places_of(record.frames[i].pc)) {
      if (!reading.take(place, i)) return found;
    }
  }
  return found;
}

WaitKind blocked_by_functions(const unwind::StackRecord& record, const unwind::Stacks& stacks) {
  constexpr std::size_t kOutermost = 30;
  const std::size_t count = std::min(record.frames.size(), kOutermost);
  for (std::size_t i = 0; i < count; ++i) {
    for (const unwind::Place& place : stacks.places_of(record.frames[i].pc)) {
      if (place.file.ends_with(".cr")) return WaitKind::Unknown;
      const std::string_view function = place.function;
      if (function.ends_with("getaddrinfo")) return WaitKind::Resolve;
      const bool is_join = function.find("pthread_join") != function.npos ||
                           function.find("pthread_clockjoin") != function.npos ||
                           function.find("pthread_timedjoin") != function.npos;
      if (is_join) return WaitKind::Thread;
    }
  }
  return WaitKind::Unknown;
}

bool looks_for_fibers(const unwind::StackRecord& record,
                      const unwind::Stacks& stacks,
                      const CrystalLibrary& library) {
  const std::size_t count = std::min(record.frames.size(), kInnermost);
  for (std::size_t i = 0; i < count; ++i) {
    for (const unwind::Place& place : stacks.places_of(record.frames[i].pc)) {
      const Standing at = standing_of(place, library);
      if (at.file.empty() && place.file.ends_with(".cr")) return false;
      const Sign* const sign = sign_of(at.file, at.method);
      const bool is_scheduler =
          at.file == "crystal/scheduler.cr" || at.file.starts_with("fiber/execution_context/");
      if (is_scheduler && at.method == "reschedule") return true;
      if (sign != nullptr && sign->means == Means::Scheduler) return true;
    }
  }
  return false;
}

}  // namespace heapattach::stacks
