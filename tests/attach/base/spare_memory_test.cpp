#include "attach/base/spare_memory.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "attach/base/sanitized.h"

namespace heapattach {

namespace {

constexpr std::size_t kHuge = kHugePageBytes;
#ifdef __SANITIZE_THREAD__
constexpr bool kReuses = false;
#else
constexpr bool kReuses = !kIsSanitized;
#endif

std::span<std::uint64_t> taken(std::size_t bytes) {
  void* const memory = take_memory(bytes);
  REQUIRE(memory != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % kHuge == 0);
  return {static_cast<std::uint64_t*>(memory), bytes / 8};
}

void fill(std::span<std::uint64_t> words, std::uint64_t first) {
  for (std::uint64_t& word : words) word = first++;
}

bool is_filled(std::span<const std::uint64_t> words, std::uint64_t first) {
  for (const std::uint64_t word : words) {
    if (word != first++) return false;
  }
  return true;
}

void give(std::span<std::uint64_t> words) {
  give_memory(words.data(), words.size_bytes(), words.size_bytes());
}

}  // namespace

TEST_CASE("memory that was given is used again, in whole huge pages") {
  drop_spare_memory();
  const auto first = taken(5 * kHuge + 4096);
  fill(first, 1);
  give(first);
  CHECK(spare_bytes() == (kReuses ? 5 * kHuge : 0));
  const auto second = taken(2 * kHuge);
  CHECK(spare_bytes() == (kReuses ? 3 * kHuge : 0));
  if (kReuses) CHECK(is_filled(second, 1));  // moved, not cleared
  give(second);
  drop_spare_memory();
  CHECK(spare_bytes() == 0);
}

TEST_CASE("memory made of several pieces is given, taken apart and joined again") {
  drop_spare_memory();
  std::vector<std::span<std::uint64_t>> held;
  constexpr std::uint64_t kRounds = kReuses ? 50 : 3;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 1; i <= 5; ++i) {
      held.push_back(taken((1 + (round * 7 + i * 3) % 9) * kHuge + i * 4096));
      fill(held.back(), held.size());
    }
    for (std::size_t i = 0; i < held.size(); ++i) REQUIRE(is_filled(held[i], i + 1));
    // Kept memory stays unchanged while its neighbours come and go.
    for (; held.size() > round % 4; held.pop_back()) give(held.back());
  }
  while (!held.empty()) {
    give(held.back());
    held.pop_back();
  }
  drop_spare_memory();
}

TEST_CASE("address space gets spare memory for what will be used") {
  drop_spare_memory();
  const auto first = taken(4 * kHuge);
  fill(first, 1);
  give(first);
  void* const wide = take_addresses(64 * kHuge, kHuge + 1);
  REQUIRE(wide != nullptr);
  CHECK(spare_bytes() == (kReuses ? 2 * kHuge : 0));
  give_memory(wide, 64 * kHuge, kHuge);
  CHECK(spare_bytes() == (kReuses ? 3 * kHuge : 0));
  drop_spare_memory();
}

TEST_CASE("threads take and give memory at once") {
  drop_spare_memory();
  std::vector<std::jthread> threads;
  std::vector<int> is_wrong(4);
  for (std::size_t number = 0; number < is_wrong.size(); ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t round = 0; round < 100; ++round) {
        const std::size_t bytes = (1 + (round + number) % 3) * kHuge;
        void* const memory = take_memory(bytes);
        const std::span words(static_cast<std::uint64_t*>(memory), bytes / 8);
        for (std::size_t i = 0; i < words.size(); i += 512) words[i] = number;
        for (std::size_t i = 0; i < words.size(); i += 512) is_wrong[number] += words[i] != number;
        give_memory(memory, bytes, bytes);
      }
    });
  }
  threads.clear();
  for (const int count : is_wrong) CHECK(count == 0);
  drop_spare_memory();
}

}  // namespace heapattach
