#include "report/cli/find_processes.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace heapattach {

TEST_CASE("a process is parsed from its line, whatever its name is") {
  const auto plain = parse_listed("4711 (app) S 12 4711 4711 0 -1");
  REQUIRE(plain);
  CHECK(plain->pid == 4711);
  CHECK(plain->parent == 12);
  CHECK(plain->name == "app");
  const auto odd = parse_listed("8 (a) R 1 (b\n) S 9 8 8");
  REQUIRE(odd);
  CHECK(odd->name == "a) R 1 (b\n");
  CHECK(odd->parent == 9);
  for (const char* broken : {"", "8", "8 (a", "8 (a)", "8 (a) S", "8 (a) S x 1", "x (a) S 1 1"}) {
    CHECK(!parse_listed(broken));
  }
}

TEST_CASE("a tree has the parents before their children, each once") {
  const std::vector<ListedProcess> all = {{1, 0, "init"}, {5, 9, "late"}, {7, 1, "make"},
                                          {8, 7, "sh"},   {9, 8, "test"}, {20, 1, "other"}};
  CHECK(tree_of(all, 7) == std::vector<pid_t>{7, 8, 9, 5});
  CHECK(tree_of(all, 20) == std::vector<pid_t>{20});
  CHECK(tree_of(all, 99).empty());
  // Pids were reused during this listing.
  CHECK(tree_of({{2, 3, "a"}, {3, 2, "b"}}, 2) == std::vector<pid_t>{2, 3});
}

TEST_CASE("processes are found by a name pattern") {
  const std::vector<ListedProcess> all = {{1, 0, "init"}, {7, 1, "web-1"}, {8, 1, "web-2"}};
  CHECK(named_like(all, "web-*") == std::vector<pid_t>{7, 8});
  CHECK(named_like(all, "web").empty());
}

TEST_CASE("a listing includes our parent and excludes ourselves") {
  bool has_parent = getppid() == 0;  // the parent is in another pid namespace
  for (const ListedProcess& one : list_processes()) {
    CHECK(one.pid != getpid());
    has_parent = has_parent || one.pid == getppid();
  }
  CHECK(has_parent);
}

}  // namespace heapattach
