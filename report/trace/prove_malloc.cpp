#include "report/trace/prove_malloc.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "inject/clone.h"
#include "inject/clone_call.h"

namespace heapattach::trace {

namespace {

using Clock = std::chrono::steady_clock;

// Such an allocation has a mapping of its own, in any C library and after any adjustment that
// malloc makes by itself.
constexpr std::uint64_t kMappedBytes = std::uint64_t{40} << 20;

Error not_proved(std::string_view name, std::string_view why) {
  return Error{ErrorKind::Impossible, fmt::format("{} was not proved: {}", name, why)};
}

// Calls the functions of one guess in one copy.
class Proof {
 public:
  Proof(CloneCalls& calls, const IsAllocation& is_allocation)
      : calls_(calls), is_allocation_(is_allocation) {}

  // Whether the first two functions may be malloc and free rather than the other way round. Both
  // may be called with 0: free() then returns at once.
  Result<bool> may_be(const Guess& guess) {
    const std::uint64_t made = HA_TRY(call("malloc", guess.allocates, {0}));
    return made != 0 && is_allocation_(calls_.memory(), {made}, 0);
  }

  Result<std::vector<ProvedFunction>> prove(const Guess& guess) {
    guess_ = &guess;
    HA_TRY(prove_free());
    if (guess.resizes) HA_TRY(prove_realloc(*guess.resizes));
    if (guess.zeroes) HA_TRY(prove_calloc(*guess.zeroes));
    for (const RemoteAddr at : guess.aligning) HA_TRY(prove_aligning(at));
    add(guess.frees, MallocForm::Free);
    return std::move(proved_);
  }

 private:
  void add(RemoteAddr at, MallocForm form) { proved_.push_back({at, form}); }

  Result<std::uint64_t> call(std::string_view name,
                             RemoteAddr function,
                             std::initializer_list<std::uint64_t> numbers) {
    constexpr std::chrono::milliseconds kPatience{1000};
    const std::vector<CallArgument> arguments(numbers.begin(), numbers.end());
    const auto outcome = HA_TRY(calls_.call(function, arguments, Clock::now() + kPatience));
    if (outcome.end != CallOutcome::End::Returned) {
      return not_proved(name, "in a copy of the process, the call did not return");
    }
    return outcome.value;
  }

  // Fails unless this is a new allocation.
  Result<void> take(std::string_view name, std::uint64_t at, std::uint64_t bytes) {
    const Range memory{{at}, bytes};
    if (at == 0 || !is_allocation_(calls_.memory(), memory.start, bytes)) {
      return not_proved(name, fmt::format("it did not allocate {} bytes", bytes));
    }
    const auto overlaps = [&](const Range& one) {
      return one.contains(memory.start) || memory.contains(one.start);
    };
    if (std::ranges::any_of(taken_, overlaps)) {
      return not_proved(name, "it returned memory that is in use");
    }
    taken_.push_back(memory);
    return {};
  }

  Result<std::uint64_t> allocate(std::uint64_t bytes) {
    const std::uint64_t at = HA_TRY(call("malloc", guess_->allocates, {bytes}));
    HA_TRY(take("malloc", at, bytes));
    return at;
  }

  void give_back(std::uint64_t at) {
    std::erase_if(taken_, [&](const Range& one) { return one.start.value == at; });
  }

  Result<void> release(std::uint64_t at) {
    static_cast<void>(HA_TRY(call("free", guess_->frees, {at})));
    give_back(at);
    return {};
  }

  // Writes to all of it.
  Result<void> fill(std::uint64_t at, std::uint64_t bytes) {
    return calls_.write({at}, std::vector(bytes, std::byte{0x5a}));
  }

  [[nodiscard]] bool is_filled(std::uint64_t at, std::uint64_t bytes, std::byte with) const {
    std::vector<std::byte> content(bytes);
    const bool is_read = calls_.memory().read({at}, content).has_value();
    return is_read && std::ranges::count(content, with) == static_cast<std::ptrdiff_t>(bytes);
  }

  Result<void> prove_free() {
    const std::uint64_t small = HA_TRY(allocate(1000));
    const std::uint64_t large = HA_TRY(allocate(kMappedBytes));
    static_cast<void>(HA_TRY(allocate(1000)));
    const RemoteAddr within{large + kMappedBytes / 2};
    if (!calls_.memory().read_as<char>(within)) {
      return not_proved("malloc", "a large allocation cannot be read");
    }
    HA_TRY(release(large));
    if (calls_.memory().read_as<char>(within)) {
      return not_proved("free", "it did not unmap a large allocation");
    }
    HA_TRY(release(small));
    add(guess_->allocates, MallocForm::Size);
    return {};
  }

  Result<void> prove_realloc(RemoteAddr function) {
    constexpr std::uint64_t kBefore = 700;
    constexpr std::uint64_t kAfter = 9000;
    const std::uint64_t old = HA_TRY(allocate(kBefore));
    static_cast<void>(HA_TRY(allocate(kBefore)));
    HA_TRY(fill(old, kBefore));
    const std::uint64_t resized = HA_TRY(call("realloc", function, {old, kAfter}));
    give_back(old);
    HA_TRY(take("realloc", resized, kAfter));
    if (!is_filled(resized, kBefore, std::byte{0x5a})) {
      return not_proved("realloc", "it did not keep the contents");
    }
    const std::uint64_t first = HA_TRY(call("realloc", function, {0, kBefore}));
    HA_TRY(take("realloc", first, kBefore));
    HA_TRY(release(resized));
    add(function, MallocForm::Resize);
    return {};
  }

  Result<void> prove_calloc(RemoteAddr function) {
    constexpr std::uint64_t kCount = 9;
    constexpr std::uint64_t kSize = 80;
    const std::uint64_t used = HA_TRY(allocate(kCount * kSize));
    HA_TRY(fill(used, kCount * kSize));
    HA_TRY(release(used));
    const std::uint64_t made = HA_TRY(call("calloc", function, {kCount, kSize}));
    HA_TRY(take("calloc", made, kCount * kSize));
    if (!is_filled(made, kCount * kSize, std::byte{0})) {
      return not_proved("calloc", "its memory is not zeroed");
    }
    add(function, MallocForm::Count);
    return {};
  }

  // One call of any of these functions shows which one it is, because each takes 512 for something
  // else: an alignment, a number of bytes, or the address of the result.
  Result<void> prove_aligning(RemoteAddr function) {
    constexpr std::uint64_t kFirst = 512;
    constexpr std::uint64_t kSecond = 1000;  // not an alignment
    constexpr std::uint64_t kPage = 4096;
    const std::string name = fmt::format("the function at {}, which aligns,", function);
    const std::uint64_t made = HA_TRY(call(name, function, {kFirst, kSecond, kSecond}));
    if (made == EINVAL) return prove_storing(name, function);
    const bool is_paged = made % kPage == 0;
    for (const std::uint64_t bytes : {kFirst, kPage}) {
      if (!is_paged || !is_allocation_(calls_.memory(), {made}, bytes)) continue;
      HA_TRY(take(name, made, bytes));
      add(function, MallocForm::WholePages);
      return {};
    }
    if (made % kFirst != 0) return not_proved(name, "it did not align");
    HA_TRY(take(name, made, kSecond));
    add(function, MallocForm::Aligned);
    return {};
  }

  Result<void> prove_storing(std::string_view name, RemoteAddr function) {
    constexpr std::uint64_t kAlignment = 2048;
    constexpr std::uint64_t kBytes = 3000;
    const std::uint64_t result = HA_TRY(allocate(sizeof(std::uint64_t)));
    const std::uint64_t status = HA_TRY(call(name, function, {result, kAlignment, kBytes}));
    const std::uint64_t made = HA_TRY(calls_.memory().read_as<std::uint64_t>({result}));
    constexpr std::uint64_t kInt = 0xffffffff;
    if ((status & kInt) != 0 || made % kAlignment != 0) return not_proved(name, "it did not align");
    HA_TRY(take(name, made, kBytes));
    add(function, MallocForm::Storing);
    return {};
  }

  CloneCalls& calls_;
  const IsAllocation& is_allocation_;
  const Guess* guess_ = nullptr;
  std::vector<Range> taken_;
  std::vector<ProvedFunction> proved_;
};

Result<std::vector<ProvedFunction>> prove_in(const Clone& clone,
                                             std::span<const Guess> guesses,
                                             const IsAllocation& is_allocation) {
  CloneCalls calls = HA_TRY(CloneCalls::prepare(clone.process()));
  const Guess* chosen = nullptr;
  for (const Guess& guess : guesses) {
    if (!HA_TRY(Proof(calls, is_allocation).may_be(guess))) continue;
    if (chosen != nullptr) return not_proved("malloc", "two functions allocate");
    chosen = &guess;
  }
  if (chosen == nullptr) return not_proved("malloc", "no function allocates");
  return Proof(calls, is_allocation).prove(*chosen);
}

// The first thread is used first, and then any, because one may never leave malloc.
Result<Clone> make_clone(const Process& process, const Request& request, int tries) {
  CloneOptions how;
  how.freeze = request.freeze_options();
  if (tries % 2 == 0) how.borrow = process.pid();
  return Clone::make(process, how);
}

}  // namespace

Result<std::vector<ProvedFunction>> prove_malloc(const Process& process,
                                                 const Request& request,
                                                 std::span<const Guess> guesses,
                                                 const IsAllocation& is_allocation) {
  constexpr int kMostTries = 10;
  for (int tries = 0;; ++tries) {
    HA_TRY(request.deadline.check("calling malloc's functions in a copy"));
    auto clone = make_clone(process, request, tries);
    const bool is_last = tries + 1 == kMostTries;
    if (!clone && (is_last || clone.error().kind != ErrorKind::Impossible)) {
      return std::move(clone).error();
    }
    if (!clone) continue;
    auto proved = prove_in(*clone, guesses, is_allocation);
    if (const auto ended = clone->end(); !ended) request.note(ended.error().message());
    if (proved || is_last) return proved;
    request.note(proved.error().message() + "; trying another copy");
  }
}

}  // namespace heapattach::trace
