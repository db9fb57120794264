#include "symbols/heap/exchange.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach::boehm {

using namespace heap;
namespace {

using Packet = std::vector<int>;

Packet packet(int value) {
  return {value};
}

TEST_CASE("a worker takes packets given to it before those of others") {
  Exchange<Packet> exchange(2);
  Packet first = packet(1);
  Packet second = packet(2);
  CHECK(exchange.give(1, first));
  CHECK(exchange.give(0, second));
  CHECK(first.empty());
  CHECK(exchange.has_for(0));
  Packet taken;
  CHECK(exchange.take(0, taken));
  CHECK(taken == packet(2));
  CHECK_FALSE(exchange.take_own(0, taken));
  CHECK(exchange.take(0, taken));
  CHECK(taken == packet(1));
  CHECK_FALSE(exchange.has_for(1));
}

TEST_CASE("a packet without room stays with its sender") {
  Exchange<Packet> exchange(2);
  int given = 0;
  for (Packet next = packet(0); exchange.give(1, next); next = packet(++given)) {
    REQUIRE(given < 100'000);
  }
  CHECK(given > 0);
  Packet refused = packet(-1);
  CHECK_FALSE(exchange.give(1, refused));
  CHECK(refused == packet(-1));
}

TEST_CASE("the work is done when all workers wait, and not before") {
  Exchange<Packet> exchange(3);
  std::atomic<int> sum{0};
  {
    std::vector<std::jthread> workers;
    for (unsigned worker = 0; worker < 3; ++worker) {
      workers.emplace_back([&, worker] {
        Packet mine = packet(worker == 0 ? 12 : 0);
        do {  // halve each packet and pass it on until nothing is left
          for (const int value : mine) {
            sum += value;
            Packet half = packet(value / 2);
            if (value > 1) REQUIRE(exchange.give((worker + 1) % 3, half));
          }
        } while (exchange.take(worker, mine));
      });
    }
  }
  CHECK(sum == 12 + 6 + 3 + 1);
  CHECK_FALSE(exchange.has_for(0));
}

TEST_CASE("a heap has a few regions for each worker, and all workers own some") {
  const Owners owners(100'000, 3);
  std::array<int, 3> blocks{};
  int changes = 0;
  for (std::uint32_t block = 0; block < 100'000; ++block) {
    ++blocks.at(owners.of(block));
    if (block > 0 && owners.of(block) != owners.of(block - 1)) ++changes;
  }
  for (const int owned : blocks) CHECK(owned > 20'000);
  CHECK(changes < 3 * 16);
  CHECK(Owners(0, 4).of(0) == 0);
}

TEST_CASE("no worker waits for a packet once the work is abandoned") {
  Exchange<Packet> exchange(2);
  std::atomic<bool> is_taken{true};
  {
    // This thread waits for the other one, which has failed and never waits itself.
    const std::jthread waiting([&] {
      Packet mine;
      is_taken = exchange.take(1, mine);
    });
    exchange.abandon();
  }
  CHECK_FALSE(is_taken);
  Packet late = packet(1);
  CHECK(exchange.give(0, late));
  CHECK_FALSE(exchange.take(0, late));
}

}  // namespace
}  // namespace heapattach::boehm
