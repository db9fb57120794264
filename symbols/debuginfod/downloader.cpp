#include "symbols/debuginfod/downloader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "attach/sandbox/sandbox_walls.h"

namespace heapattach::debuginfod {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRequests = 4;        // at the same time
constexpr std::size_t kLongestLine = 4096;  // written as a whole (PIPE_BUF)
constexpr std::uint64_t kShareOfFree = 4;   // of the disk, for one file

// The functions of libdebuginfod.so.1 that are used here; all are in its first release.
struct Library {
  using Client = void;
  using Progress = int (*)(Client*, long, long);

  Client* (*begin)() = nullptr;
  void (*end)(Client*) = nullptr;
  void (*set_progress)(Client*, Progress) = nullptr;
  int (*find)(Client*, const unsigned char* build_id, int bytes, char** path) = nullptr;

  bool load() {
    void* const library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && get(library, "debuginfod_begin", begin) &&
           get(library, "debuginfod_end", end) &&
           get(library, "debuginfod_set_progressfn", set_progress) &&
           get(library, "debuginfod_find_debuginfo", find);
  }

 private:
  template <class Function>
  static bool get(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
};

// The state of the worker's process.
std::atomic<bool> is_cancelled = false;
int lines_to = -1;

void cancel(int /*signal*/) {
  is_cancelled = true;
}

void write_line(const std::string& line) {
  if (line.size() >= kLongestLine) return;
  const std::string whole = line + '\n';
  ssize_t count = 0;
  do {
    count = ::write(lines_to, whole.data(), whole.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) ::_exit(1);  // nobody reads them
}

// The transfer of a thread, which has only one at a time.
struct Current {
  std::size_t index = 0;
  Clock::time_point told{};
};
thread_local Current current;

int tell_progress(Library::Client* /*client*/, long done, long all) {
  constexpr std::chrono::milliseconds kBetween{100};
  if (is_cancelled) return 1;
  if (const auto now = Clock::now(); now - current.told >= kBetween) {
    current.told = now;
    write_line(fmt::format("at {} {} {}", current.index, std::max(done, 0L), std::max(all, 0L)));
  }
  return 0;
}

// Limits the size of files, because a server may send more than it announces, or than fits on the
// disk.
void limit_file_size(const Download& download) {
  struct statvfs disk {};
  std::uint64_t most = download.most_file_bytes;
  if (::statvfs(download.cache.c_str(), &disk) == 0 && disk.f_blocks != 0) {
    most = std::min(most, disk.f_bavail * disk.f_frsize / kShareOfFree);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

void fetch(const Library& library, Library::Client* client, const Download& download) {
  limit_file_size(download);
  write_line(fmt::format("begin {}", current.index));
  char* path = nullptr;
  const auto* const id =
      reinterpret_cast<const unsigned char*>(download.build_ids[current.index].c_str());
  const int file = library.find(client, id, 0, &path);  // 0: it is a text
  const bool has_path = path != nullptr && std::string_view(path).find('\n') == std::string::npos;
  if (file >= 0 && has_path) {
    write_line(fmt::format("found {} {}", current.index, path));
  } else {
    write_line(fmt::format("failed {} {}", current.index, file < 0 ? -file : EINVAL));
  }
  if (file >= 0) ::close(file);
  std::free(path);  // NOLINT(cppcoreguidelines-no-malloc): the library allocated it
}

void fetch_from(const Library& library,
                const Download& download,
                std::atomic<std::size_t>& next,
                std::size_t until) {
  Library::Client* const client = library.begin();
  if (client == nullptr) return write_line("missing debuginfod_begin() failed");
  library.set_progress(client, tell_progress);
  while (!is_cancelled) {
    const std::size_t index = next.fetch_add(1);
    if (index >= until) break;
    current = {.index = index};
    fetch(library, client, download);
  }
  library.end(client);
}

// Makes the first request alone: it creates the cache, which several requests cannot do at once.
void fetch_all(const Library& library, const Download& download) {
  const std::size_t count = download.build_ids.size();
  std::atomic<std::size_t> first = 0;
  fetch_from(library, download, first, std::min<std::size_t>(count, 1));
  std::atomic<std::size_t> next = 1;
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(count, kRequests + 1); ++i) {
    threads.emplace_back([&] { fetch_from(library, download, next, count); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Makes the directories above the cache, because the library makes only the last one.
void make_way_to(const std::string& cache) {
  const mode_t before = ::umask(077);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(cache).parent_path(), ignored);
  ::umask(before);
}

// Removes the variables that make the library print what servers send, and sets its cache and its
// limits.
void set_environment(const Download& download) {
  for (const char* const name : {"DEBUGINFOD_VERBOSE", "DEBUGINFOD_PROGRESS"}) ::unsetenv(name);
  ::setenv("DEBUGINFOD_CACHE_PATH", download.cache.c_str(), 1);
  ::setenv("DEBUGINFOD_MAXSIZE", std::to_string(download.most_file_bytes).c_str(), 1);
}

[[noreturn]] void be_downloader(const Download& download, int output, pid_t parent) {
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::signal(SIGTERM, cancel);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  give_up_privileges(output, parent);
  lines_to = output;
  set_environment(download);
  make_way_to(download.cache);
  Library library;
  if (library.load()) {
    fetch_all(library, download);
  } else {
    const char* const why = ::dlerror();
    write_line(fmt::format("missing {}", why == nullptr ? "libdebuginfod.so.1" : why));
  }
  ::_exit(0);
}

}  // namespace

Result<pid_t> fork_downloader(const Download& download, int output) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os_error("fork", errno);
  if (pid == 0) be_downloader(download, output, parent);
  return pid;
}

}  // namespace heapattach::debuginfod
