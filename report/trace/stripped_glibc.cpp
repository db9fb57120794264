// In a static program, malloc's functions (malloc.c) are one piece of code, most of which names
// main_arena. The functions that other code calls are the public ones. What they call shows which
// of them is which, in all releases since 2.26:
//
//     realloc     calls two public functions, and only these: malloc and free
//     calloc      shares most internal functions with malloc
//     memalign, posix_memalign, valloc, pvalloc    reach malloc through one internal function
//
// Which of the two is malloc is left to the proof (prove_malloc.h). A public function that no code
// calls is not needed: a static program has no other way to find it.

#include "report/trace/stripped_glibc.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace heapattach::trace {

namespace {

using Functions = std::set<RemoteAddr>;

// All of malloc's code takes about 24 KiB.
constexpr std::uint64_t kMostCode = std::uint64_t{256} << 10;
// The public functions behind the last one that names main_arena.
constexpr std::uint64_t kBehind = 1024;

Error unlike_malloc(std::string_view what) {
  return Error{ErrorKind::Impossible, fmt::format("the program has no symbols for malloc's "
                                                  "functions, and they were not found: {}",
                                                  what)};
}

Functions both(const Functions& one, const Functions& other) {
  Functions found;
  std::ranges::set_intersection(one, other, std::inserter(found, found.end()));
  return found;
}

class Guesser {
 public:
  Guesser(const ProgramCode& code, const Range& arena)
      : code_(code), users_(code.users_of(arena)) {}

  Result<std::vector<Guess>> run() {
    const Functions own = malloc_c();
    if (own.empty()) return unlike_malloc("no function uses main_arena");
    const RemoteAddr end = code_.function_at(*own.rbegin())->end() + kBehind;
    if (end - *own.begin() > kMostCode) {
      return unlike_malloc("the functions that use main_arena are too far apart");
    }
    read_zone({*own.begin(), end - *own.begin()});
    const auto resizes = HA_TRY(find_realloc());
    const Functions pair = both(calls_[resizes], public_);
    std::vector<Guess> guesses;
    for (const auto& [allocates, frees] :
         {std::pair(*pair.begin(), *pair.rbegin()), std::pair(*pair.rbegin(), *pair.begin())}) {
      Guess guess{.allocates = allocates, .frees = frees, .resizes = resizes};
      guess.aligning = find_aligning(guess);
      guess.zeroes = find_calloc(guess);
      if (guess.zeroes) guesses.push_back(std::move(guess));
    }
    if (guesses.empty()) return unlike_malloc("no function looks like calloc");
    const auto aligning = [](const Guess& guess) { return guess.aligning.size(); };
    std::ranges::stable_sort(guesses, std::greater(), aligning);
    return guesses;
  }

 private:
  // Most users of main_arena, which are close together. The compiler may have moved rarely used
  // parts of functions elsewhere.
  [[nodiscard]] Functions malloc_c() const {
    constexpr std::uint64_t kFarthest = std::uint64_t{32} << 10;
    Functions most;
    Functions near;
    for (const RemoteAddr function : users_) {
      if (!near.empty() && function - *near.rbegin() > kFarthest) near.clear();
      near.insert(function);
      if (near.size() > most.size()) most = near;
    }
    return most;
  }

  void read_zone(const Range& zone) {
    Functions all;
    for (const Range& function : code_.functions()) {
      if (!zone.contains(function.start)) continue;
      all.insert(function.start);
      calls_[function.start] = code_.branches_of(function);
    }
    public_ = code_.in_data(all);
    for (const auto& [function, users] : code_.users_of(all)) {
      const bool is_called =
          std::ranges::any_of(users, [&](RemoteAddr user) { return !zone.contains(user); });
      if (is_called) public_.insert(function);
    }
    for (auto& [function, called] : calls_) called = both(called, all);
  }

  Result<RemoteAddr> find_realloc() {
    Functions found;
    for (const RemoteAddr function : users_) {
      if (both(calls_[function], public_).size() == 2) found.insert(function);
    }
    if (found.size() == 1) return *found.begin();
    return unlike_malloc(found.empty() ? "no function looks like realloc"
                                       : "several functions look like realloc");
  }

  // The functions that call or jump to an internal function which calls or jumps to malloc.
  std::vector<RemoteAddr> find_aligning(const Guess& guess) {
    Functions between;
    for (const auto& [function, called] : calls_) {
      const bool is_internal = !public_.contains(function) && function != guess.resizes;
      if (is_internal && called.contains(guess.allocates)) between.insert(function);
    }
    std::vector<RemoteAddr> found;
    for (const RemoteAddr function : public_) {
      if (!both(calls_[function], between).empty()) found.push_back(function);
    }
    return found;
  }

  // The internal functions that a function reaches.
  Functions reached_from(RemoteAddr function) {
    Functions seen;
    std::vector<RemoteAddr> next{function};
    while (!next.empty()) {
      const RemoteAddr one = next.back();
      next.pop_back();
      for (const RemoteAddr called : calls_[one]) {
        if (!public_.contains(called) && seen.insert(called).second) next.push_back(called);
      }
    }
    return seen;
  }

  std::optional<RemoteAddr> find_calloc(const Guess& guess) {
    constexpr std::size_t kFewest = 2;
    const Functions of_malloc = reached_from(guess.allocates);
    std::optional<RemoteAddr> best;
    std::size_t most = kFewest - 1;
    for (const RemoteAddr function : public_) {
      const bool is_known = function == guess.allocates || function == guess.frees ||
                            function == guess.resizes ||
                            std::ranges::count(guess.aligning, function) != 0;
      const std::size_t shared = both(reached_from(function), of_malloc).size();
      if (is_known || shared < most) continue;
      best = shared == most ? std::nullopt : std::optional(function);
      most = shared;
    }
    return best;
  }

  const ProgramCode& code_;
  Functions users_;  // of main_arena
  // The functions of malloc's code, and those of them that they call or jump to.
  std::map<RemoteAddr, Functions> calls_;
  Functions public_;  // those that other code uses
};

}  // namespace

Result<std::vector<Guess>> guess_glibc(const ProgramCode& code, const Range& arena) {
  return Guesser(code, arena).run();
}

// In the words of glibc's malloc.c, a chunk begins 16 bytes before the program's memory. Its second
// word has its size, and flags: 1 if the chunk before it is in use, 2 if it has a mapping.
bool is_chunk(const MemoryReader& memory, RemoteAddr at, std::uint64_t bytes) {
  constexpr std::uint64_t kUnit = 16;
  constexpr std::uint64_t kSmallest = 32;
  constexpr std::uint64_t kMostMore = 32;  // if a smaller chunk cannot remain
  constexpr std::uint64_t kFlags = 7;
  constexpr std::uint64_t kInUse = 1;
  constexpr std::uint64_t kMapped = 2;
  constexpr std::uint64_t kPage = 4096;
  if (at.value % kUnit != 0) return false;
  const auto word = memory.read_as<std::uint64_t>(at - 8);
  if (!word) return false;
  const std::uint64_t size = *word & ~kFlags;
  if ((*word & kMapped) != 0) return size > bytes && size - bytes <= kPage + kUnit;
  const std::uint64_t needed = std::max(kSmallest, (bytes + 8 + kUnit - 1) / kUnit * kUnit);
  if (size < needed || size > needed + kMostMore) return false;
  const auto next = memory.read_as<std::uint64_t>(at + size - 8);
  return next && (*next & kInUse) != 0;
}

}  // namespace heapattach::trace
