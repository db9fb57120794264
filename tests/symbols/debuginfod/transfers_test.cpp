#include "symbols/debuginfod/transfers.h"

#include <cerrno>

#include <doctest/doctest.h>

namespace heapattach::debuginfod {

using namespace std::chrono_literals;

namespace {

Transfers::Time at(std::chrono::milliseconds time) {
  return Transfers::Time() + 1h + time;
}

}  // namespace

TEST_CASE("transfers are over once each has ended") {
  Transfers transfers(2);
  transfers.read("begin 0", at(0s));
  transfers.read("at 0 5000 20000", at(1s));
  CHECK(transfers.all()[0].done == 5000);
  CHECK(transfers.all()[0].all == 20000);
  transfers.read("found 0 /cache/c0de/a file", at(2s));
  CHECK(transfers.all()[0].state == Transfer::State::Found);
  CHECK(transfers.all()[0].path == "/cache/c0de/a file");
  CHECK_FALSE(transfers.is_over());
  transfers.read("failed 1 2", at(3s));
  CHECK(transfers.all()[1].failure == ENOENT);
  CHECK(transfers.ended() == 2);
  CHECK(transfers.is_over());
}

TEST_CASE("lines of another form change nothing") {
  Transfers transfers(2);
  for (const char* const line :
       {"", "begin", "begin 2", "begin -1", "begin x", "begin 99999999999999999999", "found 0",
        "found 0 relative", "found 7 /a", "at 0 1", "at 0 x 5", "other 0", " begin 0"}) {
    transfers.read(line, at(0s));
  }
  for (const Transfer& one : transfers.all()) {
    CHECK(one.state == Transfer::State::Waiting);
    CHECK(one.all == 0);
  }
}

TEST_CASE("a transfer that has ended stays as it is") {
  Transfers transfers(1);
  transfers.read("failed 0 111", at(0s));
  transfers.read("found 0 /late", at(0s));
  CHECK(transfers.all()[0].state == Transfer::State::Failed);
  CHECK(transfers.all()[0].failure == ECONNREFUSED);
}

TEST_CASE("a transfer has stalled if no bytes came for a while, whatever the library counts") {
  Transfers transfers(2);
  CHECK_FALSE(transfers.stalled(at(1h), 10s));  // no transfer has begun
  transfers.read("begin 1", at(0s));
  CHECK_FALSE(transfers.stalled(at(9s), 10s));
  for (int round = 1; round <= 10; ++round) {
    transfers.read("at 1 " + std::to_string(round) + " 0", at(round * 1s));
  }
  CHECK(transfers.stalled(at(10s), 10s) == 1);
  SUBCASE("the size of the file is progress") {
    transfers.read("at 1 0 100000", at(9s));
    CHECK_FALSE(transfers.stalled(at(10s), 10s));
    CHECK(transfers.stalled(at(19s), 10s) == 1);
  }
  SUBCASE("bytes are progress") {
    transfers.read("at 1 4096 0", at(9s));
    CHECK_FALSE(transfers.stalled(at(10s), 10s));
  }
  SUBCASE("its end is") {
    transfers.read("failed 1 2", at(9s));
    CHECK_FALSE(transfers.stalled(at(1h), 10s));
  }
}

TEST_CASE("a library that cannot be loaded ends everything") {
  Transfers transfers(3);
  transfers.read("missing libdebuginfod.so.1: cannot open shared object file", at(0s));
  CHECK(transfers.is_over());
  CHECK(transfers.loading_problem() == "libdebuginfod.so.1: cannot open shared object file");
}

}  // namespace heapattach::debuginfod
