// musl's code has no unwind tables, so a function is known only by the calls of it. Every part of
// the program's code that may be a call or a jump is looked at, if it would lead to a place of
// interest: close before code that uses malloc's data. It is one if instructions that are decoded
// from several places before it agree on that.
//
// The functions that use malloc's data, or call one that does, include these (find_musl.cpp
// explains what calls what):
//
//     realloc          calls two of them: malloc and free
//     aligned_alloc    uses the data and calls malloc
//     calloc           calls malloc, and another one, which no other function calls
//
// Which of the two is malloc is left to the proof (prove_malloc.h). So is which of several
// functions is realloc: a part of malloc may call two other parts. The likeliest calls the
// functions that are called most.

#include "report/trace/stripped_musl.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "report/trace/reached_code.h"
#include "symbols/boehm/arch/code_uses.h"
#include "symbols/code/arch/branches.h"
#include "symbols/musl/groups.h"

namespace heapattach::trace {

namespace {

using Places = std::set<RemoteAddr>;

Error unlike_malloc(std::string_view what) {
  return Error{ErrorKind::Impossible, fmt::format("the program has no symbols for malloc's "
                                                  "functions, and they were not found: {}",
                                                  what)};
}

// A call or a jump that is always taken.
struct Going {
  RemoteAddr from;  // the start of the instruction
  bool is_call = false;
};

class MuslGuesser {
 public:
  MuslGuesser(const Module& program,
              const MemoryReader& memory,
              const Disassembler& disassembler,
              const Range& context)
      : program_(program),
        disassembler_(disassembler),
        context_(context),
        reader_(
            program, memory, disassembler, [this](RemoteAddr at) { return starts_.contains(at); }) {
  }

  Result<MuslGuesses> run() {
    Places near;
    each_use([&](RemoteAddr at, RemoteAddr target) {
      if (context_.contains(target)) near.insert(at);
    });
    learn_starts(near);
    read_all();
    if (users_.empty()) return unlike_malloc("no function uses malloc's data");
    learn_starts(callers_of(users_));
    read_all();
    count_uses();
    std::vector<Guess> guesses = guess_with_realloc();
    const auto is_accounted = [&](RemoteAddr at) { return is_known(at) || !names_data(at); };
    if (std::ranges::all_of(near, is_accounted)) {
      guess_without_realloc(guesses);
    }
    choose(guesses);
    if (guesses.empty()) return unlike_malloc("no functions look like malloc and free");
    MuslGuesses found{.guesses = std::move(guesses), .functions = {}};
    for (const auto& [at, function] : functions_) found.functions.emplace(at, function.range());
    return found;
  }

 private:
  using Functions = std::map<RemoteAddr, Reached>;

  template <class Visit>
  void each_use(const Visit& visit) const {
    const auto segments = program_.segments();
    const Range extent{segments.front().range.start,
                       segments.back().range.end() - segments.front().range.start};
    for (const Segment& segment : segments) {
      if (!segment.executable) continue;
      const RemoteAddr start = segment.range.start;
      boehm::each_use({program_.file_bytes(start), start, extent, program_.bias() == 0}, visit);
    }
  }

  [[nodiscard]] const cs_insn* decode(RemoteAddr at) const {
    return disassembler_.decode(program_.file_bytes(at), at);
  }

  // The start of the instruction that contains `at`, as most of the places before it show: decoding
  // from a wrong place soon meets the right instructions.
  [[nodiscard]] std::optional<RemoteAddr> instruction_around(RemoteAddr at) const {
    constexpr std::uint64_t kNearest = 64;
    constexpr std::uint64_t kPlaces = 8;
    std::map<RemoteAddr, std::uint64_t> seen;
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
      RemoteAddr from = at - kNearest - i;
      for (RemoteAddr next = from; next <= at;) {
        from = next;
        const cs_insn* const one = decode(from);
        next = from + (one == nullptr ? 1 : one->size);
      }
      if (++seen[from] > kPlaces / 2) return from;
    }
    return std::nullopt;
  }

  // The call or jump to `target` whose operand is at `at`. A quick look comes first.
  [[nodiscard]] std::optional<Going> going(RemoteAddr at, RemoteAddr target) const {
    const auto leads_there = [&](RemoteAddr from) {
      const cs_insn* const one = decode(from);
      const Branch branch = one == nullptr ? Branch() : branch_of(*one, from);
      const bool is_it = branch.to == target && (branch.is_call || branch.always_jumps());
      return is_it ? std::optional(Going{from, branch.is_call}) : std::nullopt;
    };
    if (!leads_there(at - 1)) return std::nullopt;
    const auto from = instruction_around(at);
    return from ? leads_there(*from) : std::nullopt;
  }

  // Whether the instruction with this operand names malloc's data.
  [[nodiscard]] bool names_data(RemoteAddr at) const {
    const auto from = instruction_around(at);
    const cs_insn* const one = from ? decode(*from) : nullptr;
    bool names = false;
    if (one != nullptr) {
      boehm::each_target(*one,
                         [&](RemoteAddr target) { names = names || context_.contains(target); });
    }
    return names;
  }

  // Learns the functions that begin close before these places: those that are called, or that a
  // called function jumps to at once.
  void learn_starts(const Places& places) {
    const auto is_near = [&](RemoteAddr target) {
      const auto next = places.lower_bound(target);
      return next != places.end() && *next - target <= ReachedCode::kMostCode;
    };
    std::map<RemoteAddr, Places> jumps;  // the goals of jumps, by where they begin
    each_use([&](RemoteAddr at, RemoteAddr target) {
      if (!is_near(target) || starts_.contains(target)) return;
      const auto going_there = going(at, target);
      if (!going_there) return;
      if (going_there->is_call) {
        starts_.insert(target);
      } else {
        jumps[going_there->from].insert(target);
      }
    });
    each_use([&](RemoteAddr at, RemoteAddr target) {
      const auto jump = jumps.find(target);
      if (jump == jumps.end()) return;
      const auto going_there = going(at, target);
      if (!going_there || !going_there->is_call) return;
      starts_.insert(jump->second.begin(), jump->second.end());
      jumps.erase(jump);
    });
  }

  // Where functions are called or jumped to, except those that are called so often that their
  // callers are the program's.
  [[nodiscard]] Places callers_of(const Places& functions) const {
    constexpr std::size_t kMost = 64;
    std::map<RemoteAddr, Places> by_function;
    each_use([&](RemoteAddr at, RemoteAddr target) {
      if (functions.contains(target)) by_function[target].insert(at);
    });
    Places all;
    for (const auto& [function, places] : by_function) {
      if (places.size() <= kMost) all.insert(places.begin(), places.end());
    }
    return all;
  }

  // Reads the functions that are known so far: one ends where another one begins.
  void read_all() {
    functions_.clear();
    users_.clear();
    for (const RemoteAddr at : starts_) {
      auto function = reader_.read(at);
      if (!function) continue;
      if (uses_data(*function)) users_.insert(at);
      functions_.emplace(at, *std::move(function));
    }
  }

  [[nodiscard]] bool uses_data(const Reached& function) const {
    const auto first = function.named.lower_bound(context_.start);
    return first != function.named.end() && context_.contains(*first);
  }

  // How often a function is called or jumped to, also through one that only jumps to it.
  void count_uses() {
    each_use([&](RemoteAddr, RemoteAddr target) {
      if (functions_.contains(target)) ++uses_[target];
    });
    std::map<RemoteAddr, std::size_t> through;
    for (const auto& [at, function] : functions_) {
      const RemoteAddr goal = reader_.follow(at);
      if (goal != at) through[goal] += uses_[at];
    }
    for (const auto& [at, count] : through) uses_[at] += count;
  }

  // Whether it uses malloc's data, or calls a function that does.
  [[nodiscard]] bool is_of_malloc(RemoteAddr at) const {
    const auto function = functions_.find(at);
    return function != functions_.end() &&
           (users_.contains(at) ||
            std::ranges::any_of(function->second.direct,
                                [&](RemoteAddr called) { return users_.contains(called); }));
  }

  [[nodiscard]] Places called_of_malloc(const Reached& function) const {
    Places found;
    for (const RemoteAddr called : function.calls) {
      if (called != function.at && is_of_malloc(called)) found.insert(called);
    }
    return found;
  }

  [[nodiscard]] bool calls(RemoteAddr function, RemoteAddr called) const {
    const auto& all = functions_.at(function).calls;
    return std::ranges::find(all, called) != all.end();
  }

  [[nodiscard]] std::size_t uses_of(RemoteAddr at) const {
    const auto found = uses_.find(at);
    return found == uses_.end() ? 0 : found->second;
  }

  [[nodiscard]] std::vector<Guess> guess_with_realloc() const {
    std::vector<Guess> guesses;
    for (const auto& [at, function] : functions_) {
      if (!is_of_malloc(at) || reader_.follow(at) != at) continue;
      const Places called = called_of_malloc(function);
      for (const RemoteAddr allocates : called) {
        for (const RemoteAddr frees : called) {
          if (allocates == frees) continue;
          guesses.push_back({.allocates = allocates, .frees = frees, .resizes = at});
        }
      }
    }
    return guesses;
  }

  // Keeps the likeliest guesses, and adds the functions that call malloc.
  void choose(std::vector<Guess>& guesses) const {
    constexpr std::size_t kMost = 12;
    for (Guess& guess : guesses) complete(guess);
    const auto likelihood = [&](const Guess& guess) {
      const std::size_t allocates = uses_of(guess.allocates);
      const std::size_t frees = uses_of(guess.frees);
      return std::tuple(guess.resizes && users_.contains(*guess.resizes),
                        std::min(allocates, frees), std::max(allocates, frees),
                        guess.zeroes.has_value(), guess.aligning.size());
    };
    std::ranges::stable_sort(guesses, std::greater(), likelihood);
    if (guesses.size() > kMost) guesses.resize(kMost);
  }

  // Whether the place is in one of malloc's functions that were found.
  [[nodiscard]] bool is_known(RemoteAddr at) const {
    return std::ranges::any_of(
        users_, [&](RemoteAddr user) { return functions_.at(user).range().contains(at); });
  }

  // A small program may have no realloc. Then malloc and free are among the functions that are
  // called most, and no function of malloc calls both.
  void guess_without_realloc(std::vector<Guess>& guesses) const {
    constexpr std::size_t kMost = 4;
    std::vector<RemoteAddr> often;
    for (const auto& [at, function] : functions_) {
      if (is_of_malloc(at) && reader_.follow(at) == at) often.push_back(at);
    }
    std::ranges::stable_sort(often, std::greater(), [&](RemoteAddr at) { return uses_of(at); });
    if (often.size() > kMost) often.resize(kMost);
    for (const RemoteAddr allocates : often) {
      for (const RemoteAddr frees : often) {
        if (allocates == frees || is_called_with(allocates, frees)) continue;
        guesses.push_back({.allocates = allocates, .frees = frees});
      }
    }
  }

  // Whether a function of malloc calls both.
  [[nodiscard]] bool is_called_with(RemoteAddr one, RemoteAddr other) const {
    return std::ranges::any_of(functions_, [&](const auto& function) {
      return is_of_malloc(function.first) && calls(function.first, one) &&
             calls(function.first, other);
    });
  }

  // Adds the functions that call malloc.
  void complete(Guess& guess) const {
    Places parts;  // of malloc, which no other function than calloc calls
    for (const auto& [at, function] : functions_) {
      const bool is_known = at == guess.allocates || at == guess.frees || at == guess.resizes ||
                            reader_.follow(at) != at || !users_.contains(at);
      if (is_known) continue;
      if (calls(at, guess.allocates)) {
        guess.aligning.push_back(at);
      } else {
        parts.insert(at);
      }
    }
    Places zeroing;
    for (const auto& [at, function] : functions_) {
      if (users_.contains(at) || at == guess.resizes || !calls(at, guess.allocates)) continue;
      const bool calls_part = std::ranges::any_of(
          function.direct, [&](RemoteAddr called) { return parts.contains(called); });
      if (calls_part) zeroing.insert(at);
    }
    if (zeroing.size() == 1) guess.zeroes = *zeroing.begin();
  }

  const Module& program_;
  const Disassembler& disassembler_;
  const Range context_;
  ReachedCode reader_;
  Places starts_;        // of functions
  Functions functions_;  // those that could be read
  Places users_;         // those that use malloc's data
  std::map<RemoteAddr, std::size_t> uses_;
};

}  // namespace

Result<MuslGuesses> guess_musl(const Module& program,
                               const MemoryReader& memory,
                               const Disassembler& disassembler,
                               const Range& context) {
  return MuslGuesser(program, memory, disassembler, context).run();
}

bool is_slot(const MemoryReader& memory,
             const musl::Context& context,
             RemoteAddr at,
             std::uint64_t bytes) {
  const glibc::Words words(memory);
  const auto found = musl::allocation_at(words, context, at);
  return found && !found->is_overwritten && found->bytes == bytes;
}

}  // namespace heapattach::trace
