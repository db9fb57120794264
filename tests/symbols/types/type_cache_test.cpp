#include "symbols/dwarf/type_cache.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/types/model_bytes.h"
#include "tests/support/temporary_directory.h"
#include "tests/symbols/types/cache_in.h"

namespace heapattach::types {

namespace {

namespace fs = std::filesystem;

// A cached entry that is cheap to load: a model of two types.
struct Kept {
  TypeCache cache;
  TypeCache::Entry entry{"c0de.types", "c0de the key"};
  std::vector<std::byte> model;
  std::string path;

  explicit Kept(const TemporaryDirectory& home)
      : cache(cache_in(home)), path(home.file("heapattach/c0de.types")) {
    TypeModel small;
    small.intern("int");
    small.intern("struct node");
    small.notes = {"one unit"};
    model = to_bytes(small);
    REQUIRE(cache.store(entry, model));
  }
  [[nodiscard]] bool is_found() const {
    const auto found = cache.load(entry);
    return found && *found && to_bytes(**found) == model;
  }
  // Why the entry is not used; empty if it is used, or does not exist.
  [[nodiscard]] std::string refusal() const {
    const auto found = cache.load(entry);
    return found ? "" : found.error().message();
  }
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Sets or removes a variable of the environment, and restores it at the end of its life.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The exit status of a child that runs `work`.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("any damage to a kept file is noticed") {
  const TemporaryDirectory home;
  const Kept kept(home);
  const std::string whole = read_file(kept.path);
  REQUIRE(kept.is_found());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {0x01, 0x20, 0x80, 0xff}) {
      std::string wrong = whole;
      wrong[at] = static_cast<char>(wrong[at] ^ bits);
      write_file(kept.path, wrong);
      CAPTURE(at);
      CHECK(kept.refusal().find("is damaged") != std::string::npos);
    }
    write_file(kept.path, whole.substr(0, at));
    CHECK(kept.refusal().find("is damaged") != std::string::npos);
  }
  write_file(kept.path, whole + '\0');
  CHECK(kept.refusal().find("is damaged") != std::string::npos);
  write_file(kept.path, whole);
  CHECK(kept.is_found());
}

TEST_CASE("a kept file with a right checksum and wrong contents does no harm") {
  const TemporaryDirectory home;
  const Kept kept(home);
  for (std::size_t size = 0; size < kept.model.size(); ++size) {
    REQUIRE(kept.cache.store(kept.entry, std::span(kept.model).first(size)));
    CHECK(kept.refusal().find("not a model") != std::string::npos);
  }
  for (std::size_t at = 0; at < kept.model.size(); ++at) {
    for (const int wrong : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto changed = kept.model;
      changed[at] = std::byte(wrong);
      REQUIRE(kept.cache.store(kept.entry, changed));
      static_cast<void>(kept.cache.load(kept.entry));
    }
  }
}

TEST_CASE("what others could have written is not used") {
  const TemporaryDirectory home;
  const Kept kept(home);
  const std::string other = home.file("other");
  const std::string directory = home.file("heapattach");
  REQUIRE(kept.is_found());
  std::string why;
  SUBCASE("a file that its group may write") {
    REQUIRE(::chmod(kept.path.c_str(), 0620) == 0);
    why = "can be written by others";
  }
  SUBCASE("a file that everybody may write") {
    REQUIRE(::chmod(kept.path.c_str(), 0602) == 0);
    why = "can be written by others";
  }
  SUBCASE("a directory that its group may write") {
    REQUIRE(::chmod(directory.c_str(), 0770) == 0);
    why = "can be written by others";
  }
  SUBCASE("another user's file") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(kept.path.c_str(), 1000, 1000) == 0);
    why = "belongs to another user";
  }
  SUBCASE("another user's directory") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(directory.c_str(), 1000, 1000) == 0);
    why = "belongs to another user";
  }
  SUBCASE("another user's home") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(home.file("").c_str(), 1000, 1000) == 0);
    why = "belongs to another user";
  }
  SUBCASE("a symbolic link to a file") {
    fs::rename(kept.path, other);
    fs::create_symlink(other, kept.path);
    why = "symbolic links";
  }
  SUBCASE("a symbolic link to a directory") {
    fs::rename(directory, other);
    fs::create_directory_symlink(other, directory);
    why = "open heapattach: ";
  }
  SUBCASE("a FIFO") {
    fs::remove(kept.path);
    REQUIRE(::mkfifo(kept.path.c_str(), 0600) == 0);
    why = "is of another kind";
  }
  SUBCASE("a directory instead of a file") {
    fs::remove(kept.path);
    fs::create_directory(kept.path);
    fs::permissions(kept.path, fs::perms(0700));
    why = "is of another kind";
  }
  SUBCASE("a file instead of a directory") {
    fs::remove_all(directory);
    write_file(directory, "");
    why = "open heapattach: ";
  }
  SUBCASE("a file that is too large") {
    REQUIRE(::truncate(kept.path.c_str(), off_t{1} << 40) == 0);
    why = "is too large";
  }
  CAPTURE(kept.refusal());
  CHECK(kept.refusal().find(why) != std::string::npos);
}

TEST_CASE("what lies in the way of a new file is replaced or left alone") {
  const TemporaryDirectory home;
  const Kept kept(home);
  const std::string other = home.file("other");
  write_file(other, "theirs");
  fs::remove(kept.path);
  SUBCASE("a link is replaced, and the file behind it is not written") {
    fs::create_symlink(other, kept.path);
    CHECK(kept.cache.store(kept.entry, kept.model));
    CHECK(kept.is_found());
  }
  SUBCASE("a FIFO is replaced") {
    REQUIRE(::mkfifo(kept.path.c_str(), 0600) == 0);
    CHECK(kept.cache.store(kept.entry, kept.model));
    CHECK(kept.is_found());
  }
  SUBCASE("a directory stays") {
    fs::create_directory(kept.path);
    CHECK_FALSE(kept.cache.store(kept.entry, kept.model));
    CHECK(fs::is_directory(kept.path));
  }
  SUBCASE("a directory of another name behind a link stays empty") {
    fs::remove_all(home.file("heapattach"));
    fs::create_directory(home.file("theirs"));
    fs::create_directory_symlink(home.file("theirs"), home.file("heapattach"));
    CHECK_FALSE(kept.cache.store(kept.entry, kept.model));
    CHECK(fs::is_empty(home.file("theirs")));
  }
  CHECK(read_file(other) == "theirs");
}

TEST_CASE("a file that cannot be written whole leaves nothing behind") {
  const TemporaryDirectory home;
  const Kept kept(home);
  const std::vector<std::byte> large(100'000);
  CHECK(status_of_child([&] {
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit most{10'000, 10'000};
          if (::setrlimit(RLIMIT_FSIZE, &most) != 0) return 1;
          return kept.cache.store(kept.entry, large) ? 2 : 0;
        }) == 0);
  CHECK(kept.is_found());
  CHECK(fs::directory_iterator(home.file("heapattach"))->path() == kept.path);
  CHECK(std::distance(fs::directory_iterator(home.file("heapattach")), {}) == 1);
}

TEST_CASE("the cache is in XDG_CACHE_HOME, or below HOME") {
  const TemporaryDirectory home;
  const Environment cache_home("XDG_CACHE_HOME", nullptr);
  const Environment user_home("HOME", home.file("").c_str());
  const TypeCache::Entry entry{"c0de.types", "key"};
  const auto store = [&entry] {
    const auto cache = TypeCache::of_user();
    return cache && cache->store(entry, to_bytes(TypeModel()));
  };
  SUBCASE("below HOME, for the user alone") {
    CHECK(store());
    struct stat status {};
    for (const char* made : {".cache", ".cache/heapattach"}) {
      REQUIRE(::stat(home.file(made).c_str(), &status) == 0);
      CHECK((status.st_mode & 0777) == 0700);
    }
    REQUIRE(::stat(home.file(".cache/heapattach/c0de.types").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  SUBCASE("XDG_CACHE_HOME comes first") {
    const TemporaryDirectory other;
    const Environment own("XDG_CACHE_HOME", other.file("").c_str());
    CHECK(store());
    CHECK(fs::exists(other.file("heapattach/c0de.types")));
    CHECK(home.entries() == 0);
  }
  SUBCASE("XDG_CACHE_HOME that does not exist is not made") {
    const Environment own("XDG_CACHE_HOME", home.file("none").c_str());
    CHECK_FALSE(store());
    CHECK(home.entries() == 0);
  }
  SUBCASE("a relative XDG_CACHE_HOME does not count") {
    const Environment own("XDG_CACHE_HOME", "relative");
    CHECK(store());
    CHECK(fs::exists(home.file(".cache/heapattach/c0de.types")));
  }
  SUBCASE("neither is set") {
    const Environment none("HOME", nullptr);
    CHECK_FALSE(TypeCache::of_user());
  }
  SUBCASE("HOME is not a directory") {
    const Environment none("HOME", "/dev/null");
    CHECK_FALSE(store());
  }
  SUBCASE("HOME of another user, as sudo may leave it") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(home.file("").c_str(), 1000, 1000) == 0);
    CHECK_FALSE(store());
    CHECK(home.entries() == 0);
  }
}

TEST_CASE("several writers at once leave one whole file") {
  const TemporaryDirectory home;
  const Kept kept(home);
  std::vector<pid_t> writers;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool is_good = true;
      for (int round = 0; round < 100; ++round) {
        is_good = is_good && kept.cache.store(kept.entry, kept.model);
      }
      ::_exit(is_good ? 0 : 1);
    }
    writers.push_back(child);
  }
  for (int round = 0; round < 1000; ++round) CHECK(kept.is_found());
  for (const pid_t writer : writers) {
    int status = -1;
    CHECK(::waitpid(writer, &status, 0) == writer);
    CHECK(status == 0);
  }
  CHECK(kept.is_found());
  CHECK(std::distance(fs::directory_iterator(home.file("heapattach")), {}) == 1);
}

TEST_CASE("the oldest files are removed when the cache is full") {
  const TemporaryDirectory home;
  const TypeCache cache = cache_in(home, {.most_bytes = 3000});
  const std::string left_behind = home.file("heapattach/dead.types.4711");
  const std::string strange = home.file("heapattach/notes");
  const auto path_of = [&home](char name) {
    return home.file(std::string("heapattach/") + name + ".types");
  };
  const std::vector<std::byte> model(900);
  auto time = fs::file_time_type::clock::now() - std::chrono::hours(10);
  for (const char name : {'a', 'b', 'c'}) {
    REQUIRE(cache.store({std::string(1, name) + ".types", "key"}, model));
    fs::last_write_time(path_of(name), time += std::chrono::hours(1));
  }
  write_file(left_behind, "half");
  write_file(strange, std::string(5000, 'x'));
  fs::last_write_time(left_behind, time - std::chrono::hours(100));
  fs::last_write_time(strange, time - std::chrono::hours(100));
  REQUIRE(cache.store({"d.types", "key"}, model));
  CHECK_FALSE(fs::exists(path_of('a')));
  for (const char name : {'b', 'c', 'd'}) CHECK(fs::exists(path_of(name)));
  CHECK_FALSE(fs::exists(left_behind));
  // A file whose time is in the future would otherwise always be the newest.
  write_file(path_of('f'), std::string(3000, 'x'));
  fs::last_write_time(path_of('f'), fs::file_time_type::clock::now() + std::chrono::hours(100));
  REQUIRE(cache.store({"d.types", "key"}, model));
  CHECK(fs::exists(path_of('d')));
  CHECK_FALSE(fs::exists(path_of('f')));
  CHECK(fs::exists(strange));
  CHECK_FALSE(cache.store({"e.types", "key"}, std::vector<std::byte>(4000)));
  CHECK(fs::exists(path_of('d')));
}

}  // namespace heapattach::types
