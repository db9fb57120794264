// Tests which wait the functions on a fiber's stack show. The stacks are those of several releases
// of Crystal, written as the stack walk returns them.

#include "report/stacks/wait_signs.h"

#include <doctest/doctest.h>

namespace heapattach::stacks {

namespace {

const CrystalLibrary kLibrary("/usr/share/crystal/src/");

// A function. A relative file is one of Crystal's library; a function of the program has a path.
unwind::Place place(const std::string& function, const std::string& file) {
  const bool is_path = file.empty() || file.front() == '/' || file.front() == '.';
  return {function, is_path ? file : kLibrary.directory() + file, 12, 3, false};
}

// Code of a library's method that takes a block, which is inlined into its caller.
unwind::Place expanded(const std::string& function,
                       const std::string& file,
                       const std::string& home) {
  unwind::Place made = place(function, file);
  made.home = place({}, home).file;
  return made;
}

struct Stack {
  unwind::StackRecord record;
  unwind::Stacks all;
};

Stack stack_of(const std::vector<unwind::Place>& places) {
  Stack made;
  std::uint64_t pc = 0x1000;
  for (const unwind::Place& one : places) {
    made.record.frames.push_back(
        {RemoteAddr{pc}, RemoteAddr{pc + 0x7000}, RemoteAddr{pc + 0x7010}});
    made.all.places.push_back({RemoteAddr{pc}, {one}});
    pc += 0x10;
  }
  return made;
}

// The functions that suspend a fiber: in 1.6, in 1.13, and since 1.16 with execution contexts.
std::vector<unwind::Place> old_scheduler() {
  return {place("Crystal::Scheduler#resume", "crystal/scheduler.cr"),
          place("Fiber#resume", "fiber.cr"),
          place("Crystal::Scheduler#reschedule", "crystal/scheduler.cr"),
          place("Crystal::Scheduler::reschedule", "crystal/scheduler.cr")};
}
std::vector<unwind::Place> contexts() {
  return {place("Fiber::ExecutionContext::Parallel::Scheduler#swapcontext",
                "fiber/execution_context/scheduler.cr"),
          place("Fiber::ExecutionContext::Parallel::Scheduler#reschedule",
                "fiber/execution_context/parallel/scheduler.cr"),
          place("Fiber::ExecutionContext::reschedule", "fiber/execution_context.cr"),
          place("Fiber::suspend", "fiber.cr")};
}

std::vector<unwind::Place> operator+(std::vector<unwind::Place> inner,
                                     const std::vector<unwind::Place>& outer) {
  inner.insert(inner.end(), outer.begin(), outer.end());
  return inner;
}

std::vector<unwind::Place> own() {
  return {place("Shop::Worker#run", "/srv/shop/worker.cr"), place("Fiber#run", "fiber.cr")};
}

WaitFrame wait_of(const std::vector<unwind::Place>& places) {
  const Stack made = stack_of(places);
  return wait_by_functions(made.record, made.all, kLibrary);
}

struct Example {
  WaitKind kind;
  std::vector<unwind::Place> waiting;
};

void check(const std::vector<unwind::Place>& scheduler, const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    CAPTURE(example.waiting.front().function);
    CAPTURE(example.waiting.front().file);
    const WaitFrame found = wait_of(scheduler + example.waiting + own());
    CHECK(found.kind == example.kind);
    CHECK_FALSE(found.is_scheduler);
    CHECK(found.frame >= scheduler.size());
    CHECK(found.frame < scheduler.size() + example.waiting.size());
  }
}

}  // namespace

TEST_CASE("each wait of Crystal 1.0 to 1.12 is recognised by its functions") {
  check(old_scheduler(),
        {{WaitKind::Receive, {place("Channel(Int32)#receive", "channel.cr")}},
         {WaitKind::Receive, {place("Channel(Int32)#receive?", "channel.cr")}},
         {WaitKind::Send, {place("Channel(Int32)#send", "channel.cr")}},
         {WaitKind::Channel, {expanded("Log::Dispatcher#run", "channel.cr", "log/dispatch.cr")}},
         {WaitKind::Select, {place("Channel::select_impl", "channel.cr")}},
         {WaitKind::Mutex, {place("Mutex#lock_slow", "mutex.cr"), place("Mutex#lock", "mutex.cr")}},
         {WaitKind::Read, {place("TCPSocket#wait_readable", "io/evented.cr")}},
         {WaitKind::Write, {place("File#wait_writable", "io/evented.cr")}},
         {WaitKind::Accept,
          {place("TCPServer#wait_acceptable", "io/evented.cr"),
           place("TCPServer#system_accept", "crystal/system/unix/socket.cr")}},
         {WaitKind::Connect,
          {expanded("TCPSocket#initialize", "io/evented.cr", "socket/tcp_socket.cr")}},
         {WaitKind::Sleep,
          {place("Crystal::Scheduler#sleep", "crystal/scheduler.cr"),
           place("Crystal::Scheduler::sleep", "crystal/scheduler.cr"),
           place("sleep", "concurrent.cr")}},
         {WaitKind::SleepForever, {place("sleep", "concurrent.cr")}},
         {WaitKind::Ready,
          {place("Crystal::Scheduler#sleep", "crystal/scheduler.cr"),
           place("Crystal::Scheduler#yield", "crystal/scheduler.cr"),
           place("Fiber::yield", "fiber.cr")}},
         {WaitKind::Process,
          {place("Channel(Int32)#receive", "channel.cr"),
           place("Crystal::System::Process#wait", "crystal/system/unix/process.cr"),
           place("Process#wait", "process.cr")}}});
}

TEST_CASE("what a socket of Crystal 1.13 or 1.14 waits for is recognised by the caller") {
  const std::string loop = "crystal/system/unix/event_loop_libevent.cr";
  check(old_scheduler(), {{WaitKind::Accept,
                           {expanded("Crystal::LibEvent::EventLoop#accept", "io/evented.cr", loop),
                            place("TCPServer#system_accept", "crystal/system/socket.cr")}},
                          {WaitKind::Connect,
                           {expanded("Crystal::LibEvent::EventLoop#connect", "io/evented.cr", loop),
                            place("TCPSocket#system_connect", "crystal/system/socket.cr")}}});
}

TEST_CASE("each wait of Crystal 1.15 and later is recognised by its functions") {
  const std::string polling = "crystal/event_loop/polling.cr";
  check(contexts(),
        {{WaitKind::Receive, {place("Channel(Job)#receive", "channel.cr")}},
         {WaitKind::Send, {place("Channel(Job)#send", "channel.cr")}},
         {WaitKind::Select, {place("Channel::select_impl", "channel/select.cr")}},
         {WaitKind::Mutex,
          {place("Sync::Waiter#wait", "sync/waiter.cr"),
           place("Sync::MU#lock_slow_impl", "sync/mu.cr"),
           place("Sync::MU#lock_slow", "sync/mu.cr"), place("Sync::Mutex#lock", "sync/mutex.cr")}},
         {WaitKind::Condition,
          {place("Sync::Waiter#wait", "sync/waiter.cr"), place("Sync::CV#wait", "sync/cv.cr"),
           place("Sync::Mutex#wait", "sync/mutex.cr"),
           place("Sync::ConditionVariable#wait", "sync/condition_variable.cr")}},
         {WaitKind::WaitGroup, {place("WaitGroup#wait", "wait_group.cr")}},
         {WaitKind::Once, {place("Crystal::Once::exec", "crystal/once.cr")}},
         {WaitKind::Descriptor, {place("Crystal::FdLock#lock_slow", "crystal/fd_lock.cr")}},
         {WaitKind::Context,
          {place("Fiber::ExecutionContext::Isolated#wait", "fiber/execution_context/isolated.cr")}},
         {WaitKind::Read, {place("Crystal::EventLoop::Polling#wait_readable", polling)}},
         {WaitKind::Write, {place("Crystal::EventLoop::Polling#wait_writable", polling)}},
         {WaitKind::Accept, {place("Crystal::EventLoop::Polling#accept", polling)}},
         {WaitKind::Connect, {place("Crystal::EventLoop::Polling#connect", polling)}},
         {WaitKind::Io, {place("Crystal::EventLoop::Polling#recvmsg", polling)}},
         {WaitKind::Sleep,
          {place("Crystal::EventLoop::Polling#sleep", polling), place("sleep", "concurrent.cr")}},
         {WaitKind::SleepForever, {place("sleep", "concurrent.cr")}},
         {WaitKind::Ready,
          {place("Crystal::EventLoop::Polling#sleep", polling), place("Fiber::yield", "fiber.cr")}},
         {WaitKind::Process,
          {place("Channel(Int32)#receive", "channel.cr"),
           place("Crystal::System::Process#wait", "crystal/system/unix/process.cr"),
           place("Process#wait", "process.cr")}}});
}

TEST_CASE("a cut symbol of an IO shows only that the fiber waits for the IO") {
  const auto wait_without_lines = [](const std::vector<unwind::Place>& outer) {
    std::vector<unwind::Place> places = old_scheduler() + outer;
    for (unwind::Place& one : places) one.file.clear();
    const Stack made = stack_of(places);
    return wait_by_functions(made.record, made.all, CrystalLibrary::of(made.all)).kind;
  };
  const auto at = [&](const std::string& function) { return std::vector{place(function, "")}; };
  CHECK(wait_without_lines(at("IO::FileDescriptor")) == WaitKind::Io);
  CHECK(wait_without_lines(at("UNIXSocket")) == WaitKind::Io);
  CHECK(wait_without_lines(at("TCPServer")) == WaitKind::Accept);
  CHECK(wait_without_lines(at("TCPSocket#initialize")) == WaitKind::Connect);
  CHECK(wait_without_lines(at("IO::FileDescriptor#wait_readable")) == WaitKind::Read);
  // These methods are the program's own, and may wait for anything.
  CHECK(wait_without_lines(at("UNIXSocket#settle")) == WaitKind::Unknown);
  CHECK(wait_without_lines(at("Socket::Addrinfo")) == WaitKind::Unknown);
  CHECK(wait_without_lines(at("Shop::Socket")) == WaitKind::Unknown);
}

TEST_CASE("the program's own methods are not mistaken for library methods of the same name") {
  for (const char* method : {"receive", "lock", "sleep", "select", "wait_readable", "yield"}) {
    CAPTURE(method);
    const std::string function = std::string("Shop::Queue#") + method;
    CHECK(wait_of(contexts() + std::vector{place(function, "/srv/shop/channel.cr")}).kind ==
          WaitKind::Unknown);
    CHECK(wait_of(contexts() + std::vector{place("Channel(Job)#send", "channel.cr"),
                                           place(function, "/srv/shop/mutex.cr")})
              .kind == WaitKind::Send);
  }
}

TEST_CASE("a lock around code of the program is found in the program's own function") {
  const WaitFrame found =
      wait_of(old_scheduler() + std::vector{place("Mutex#lock_slow", "mutex.cr"),
                                            place("Mutex#lock", "mutex.cr"),
                                            expanded("Blog::publish", "mutex.cr", "/srv/blog.cr"),
                                            place("->", "/srv/blog.cr")});
  CHECK(found.kind == WaitKind::Mutex);
  CHECK(found.type == "Mutex");
  CHECK(found.frame == old_scheduler().size() + 2);
}

TEST_CASE("the class of the awaited object is recognised by its outermost function") {
  const WaitFrame found =
      wait_of(contexts() + std::vector{place("Sync::MU#rlock_slow", "sync/mu.cr"),
                                       place("Sync::RWLock#read", "sync/rw_lock.cr"),
                                       place("Shop#read", "/srv/shop.cr")});
  CHECK(found.type == "Sync::RWLock");
  CHECK(wait_of(contexts() + std::vector{place("Channel(Job)#receive", "channel.cr")}).type ==
        "Channel(Job)");
}

TEST_CASE("the loop of a scheduler waits for nothing") {
  const std::vector<unwind::Place> idle = {
      place("epoll_wait", "../sysdeps/unix/sysv/linux/epoll_wait.c"),
      place("Crystal::System::Epoll#wait", "crystal/system/unix/epoll.cr"),
      expanded("Fiber::ExecutionContext::Parallel::Scheduler#run_evloop",
               "crystal/event_loop/epoll.cr", "fiber/execution_context/parallel/scheduler.cr"),
      place("Fiber::ExecutionContext::Parallel::Scheduler#run_loop",
            "fiber/execution_context/parallel/scheduler.cr"),
      place("->", "fiber/execution_context/parallel/scheduler.cr"),
      place("Fiber#run", "fiber.cr")};
  CHECK(wait_of(idle).is_scheduler);
  CHECK(wait_of(idle).kind == WaitKind::Unknown);
  const Stack made = stack_of(idle);
  CHECK(looks_for_fibers(made.record, made.all, kLibrary));
  const Stack monitor = stack_of(
      {place("nanosleep", "../nanosleep.c"), place("->", "gc/boehm.cr"),
       place("GC_do_blocking", ""), place("GC::syscall", "gc/boehm.cr"),
       place("Fiber::ExecutionContext::Monitor#run_loop", "fiber/execution_context/monitor.cr")});
  CHECK(wait_by_functions(monitor.record, monitor.all, kLibrary).is_scheduler);
}

TEST_CASE(
    "with several threads, a thread that waits for the scheduler's pipe is looking for fibers") {
  CHECK(wait_of(old_scheduler() +
                std::vector{place("IO::FileDescriptor#wait_readable", "io/evented.cr"),
                            place("IO::FileDescriptor#read_bytes", "io.cr"),
                            place("Crystal::FiberChannel#receive", "crystal/fiber_channel.cr"),
                            place("Crystal::Scheduler#run_loop", "crystal/scheduler.cr")})
            .is_scheduler);
}

TEST_CASE("a thread that looks for fibers on the stack of a waiting fiber is idle") {
  const std::vector<unwind::Place> libevent = {
      place("epoll_wait", ""), place("event_base_loop", ""),
      place("Crystal::EventLoop::run_once", "crystal/system/unix/event_loop_libevent.cr")};
  const Stack idle = stack_of(libevent + old_scheduler() +
                              std::vector{place("Channel(Job)#receive", "channel.cr")} + own());
  CHECK(looks_for_fibers(idle.record, idle.all, kLibrary));
  CHECK(wait_by_functions(idle.record, idle.all, kLibrary).kind == WaitKind::Receive);
  // The fiber that runs the event loop may have ended before.
  const Stack ended =
      stack_of(libevent + old_scheduler() +
               std::vector{place("Fiber#run", "fiber.cr"), place("->", "fiber.cr")});
  CHECK(looks_for_fibers(ended.record, ended.all, kLibrary));
  CHECK(wait_by_functions(ended.record, ended.all, kLibrary).kind == WaitKind::Ended);
  const Stack busy = stack_of(own());
  CHECK_FALSE(looks_for_fibers(busy.record, busy.all, kLibrary));
}

TEST_CASE("without files, as without debug information, classes say where a function is") {
  const CrystalLibrary none;
  const auto told = [&](const std::vector<std::string>& functions) {
    std::vector<unwind::Place> places;
    for (const std::string& function : functions) places.push_back(place(function, ""));
    const Stack made = stack_of(places);
    return wait_by_functions(made.record, made.all, none).kind;
  };
  CHECK(told({"Crystal::Scheduler#reschedule", "Channel(Job)#receive", "Shop#run"}) ==
        WaitKind::Receive);
  CHECK(told({"Crystal::Scheduler#reschedule", "Mutex#lock_slow", "Shop#run"}) == WaitKind::Mutex);
  CHECK(told({"Fiber::suspend", "WaitGroup#wait", "Shop#run"}) == WaitKind::WaitGroup);
  CHECK(told({"Fiber::suspend", "Crystal::EventLoop::Polling#sleep", "sleep"}) == WaitKind::Sleep);
  CHECK(told({"Fiber::suspend", "Process#wait"}) == WaitKind::Unknown);
  // lld leaves only a part of a method's symbol, the class.
  CHECK(told({"Fiber::ExecutionContext::Parallel::Scheduler", "Fiber::suspend", "Channel(Job)"}) ==
        WaitKind::Channel);
  CHECK(told({"Fiber::suspend", "Crystal::EventLoop::Polling", "TCPSocket"}) == WaitKind::Io);
  CHECK(told({"Fiber::suspend", "Channel(Int32)", "Process#wait"}) == WaitKind::Process);
  CHECK(told({"Fiber::suspend", "Shop::Channel#receive"}) == WaitKind::Unknown);
  // An unknown function in between may be a wait, so the fiber may not have ended.
  for (const char* between : {"", "TCPSocket#open", "Shop#run", "->"}) {
    CAPTURE(between);
    CHECK(told({"epoll_wait", "", "Crystal::Scheduler#reschedule", between, "Fiber#run"}) ==
          WaitKind::Unknown);
  }
  // In optimized code, the function that runs a fiber may contain everything that the fiber does.
  CHECK(told({"epoll_wait", "", "Crystal::Scheduler#reschedule", "Fiber#run"}) ==
        WaitKind::Unknown);
  CHECK(told({"->", "Fiber#run"}) == WaitKind::Unknown);
  // Functions that read and write also contain others.
  CHECK(told({"IO::FileDescriptor#unbuffered_read", "IO::FileDescriptor#peek", "Fiber#run"}) ==
        WaitKind::Read);
  CHECK(told({"UNIXSocket#unbuffered_write", "Shop#run"}) == WaitKind::Write);
  CHECK(told({"Shop::Socket#unbuffered_read", "Fiber#run"}) == WaitKind::Unknown);
}

TEST_CASE("without files, the program's own function is the first that is not the library's") {
  for (const char* of_library :
       {"Crystal::Scheduler#resume", "Fiber#run", "Channel(Job)#receive", "HTTP::Server#listen", "",
        "->", "Log::AsyncDispatcher#write_logs", "__crystal_main", "Array(Int32)#each", "main"}) {
    CAPTURE(of_library);
    CHECK(is_of_library(of_library));
  }
  for (const char* own :
       {"Blog::publish", "Channels#run", "run_all", "Fibers::start", "Logger#log"}) {
    CAPTURE(own);
    CHECK_FALSE(is_of_library(own));
  }
}

TEST_CASE("the library's directory is the one that most stacks go through") {
  unwind::Stacks stacks;
  stacks.places.push_back({RemoteAddr{1}, {place("Fiber#run", "/srv/shop/fiber.cr")}});
  CHECK(CrystalLibrary::of(stacks).directory() == "/srv/shop/");
  stacks.places.push_back({RemoteAddr{2}, {place("main", "crystal/main.cr")}});
  stacks.places.push_back({RemoteAddr{3}, {place("Fiber#run", "fiber.cr")}});
  const CrystalLibrary library = CrystalLibrary::of(stacks);
  CHECK(library.directory() == kLibrary.directory());
  CHECK(library.name_of("/usr/share/crystal/src/io/evented.cr") == "io/evented.cr");
  CHECK(library.name_of("/srv/shop/fiber.cr").empty());
  CHECK(CrystalLibrary::of({}).directory().empty());
}

TEST_CASE(
    "a fiber on a thread that waits for a host's name or a thread differs from a running one") {
  const auto told = [](const std::vector<unwind::Place>& places) {
    const Stack made = stack_of(places);
    return blocked_by_functions(made.record, made.all);
  };
  const unwind::Place caller = place("Shop#run", "/srv/shop.cr");
  CHECK(told({place("poll", ""), place("__GI_getaddrinfo", "../getaddrinfo.c"), caller}) ==
        WaitKind::Resolve);
  CHECK(told({place("__pthread_clockjoin_ex", "pthread_join_common.c"), caller}) ==
        WaitKind::Thread);
  CHECK(told({place("poll", ""), caller, place("getaddrinfo", "")}) == WaitKind::Unknown);
}

}  // namespace heapattach::stacks
