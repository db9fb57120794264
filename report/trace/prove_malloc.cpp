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

  // How the last call ended.
  [[nodiscard]] CallOutcome::End last_end() const { return last_end_; }

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
    constexpr std::chrono::milliseconds kPatience{500};
    const std::vector<CallArgument> arguments(numbers.begin(), numbers.end());
    const auto outcome = HA_TRY(calls_.call(function, arguments, Clock::now() + kPatience));
    last_end_ = outcome.end;
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
  CallOutcome::End last_end_ = CallOutcome::End::Returned;
  std::vector<Range> taken_;
  std::vector<ProvedFunction> proved_;
};

// Tries the guesses until one is proved, the likeliest first. A wrong one may fail only because the
// thread that makes the copy was inside malloc, so each is tried several times.
class Tries {
 public:
  Tries(const Process& process,
        const Request& request,
        std::span<const Guess> guesses,
        const IsAllocation& is_allocation)
      : process_(process),
        request_(request),
        is_allocation_(is_allocation),
        guesses_(guesses),
        failures_(guesses.size()) {}

  Result<std::vector<ProvedFunction>> run() {
    constexpr int kMostCopies = 40;
    for (int copies = 0; copies < kMostCopies && has_guess(); ++copies) {
      HA_TRY(request_.deadline.check("calling malloc's functions in a copy"));
      auto clone = make_clone(copies);
      const bool may_retry = !clone && clone.error().kind == ErrorKind::Impossible;
      if (!clone && (!may_retry || ++unmade_ == kMostFailures)) return std::move(clone).error();
      if (!clone) continue;
      auto proved = prove_in(*clone);
      if (const auto ended = clone->end(); !ended) request_.note(ended.error().message());
      if (proved) return std::move(*proved);
    }
    return error_.value_or(not_proved("malloc", "no function may be it"));
  }

 private:
  static constexpr int kMostFailures = 4;

  [[nodiscard]] bool has_guess() const {
    return std::ranges::any_of(failures_, [](int count) { return count < kMostFailures; });
  }

  // The first thread is used first, and then any, because one may never leave malloc.
  [[nodiscard]] Result<Clone> make_clone(int copies) const {
    CloneOptions how;
    how.freeze = request_.freeze_options();
    if (copies % 2 == 0) how.borrow = process_.pid();
    return Clone::make(process_, how);
  }

  // Tries one guess after the other until the copy may be damaged.
  std::optional<std::vector<ProvedFunction>> prove_in(const Clone& clone) {
    auto calls = CloneCalls::prepare(clone.process());
    if (!calls) {
      failures_[0] += 1;
      error_ = std::move(calls).error();
      return std::nullopt;
    }
    for (std::size_t i = 0; i < guesses_.size(); ++i) {
      if (failures_[i] >= kMostFailures) continue;
      Proof proof(*calls, is_allocation_);
      const auto may_be = proof.may_be(guesses_[i]);
      if (may_be && !*may_be) {
        fail(i, not_proved("malloc", "the function that seemed to be it does not allocate"), proof);
        continue;
      }
      auto proved = may_be ? proof.prove(guesses_[i]) : may_be.error();
      if (proved) return std::move(proved).value();
      request_.note(proved.error().message() + "; trying another copy");
      fail(i, std::move(proved).error(), proof);
      return std::nullopt;
    }
    return std::nullopt;
  }

  // A call that hangs waits for a lock, which another thread held when the copy was made: that says
  // nothing about the guess. A crash says less than a wrong result.
  void fail(std::size_t guess, Error error, const Proof& proof) {
    using End = CallOutcome::End;
    if (proof.last_end() != End::TimedOut) {
      failures_[guess] += proof.last_end() == End::Returned ? 2 : 1;
    }
    if (guess == 0) error_ = std::move(error);
  }

  const Process& process_;
  const Request& request_;
  const IsAllocation& is_allocation_;
  std::span<const Guess> guesses_;
  std::vector<int> failures_;   // of each guess
  std::optional<Error> error_;  // why the likeliest guess failed
  int unmade_ = 0;              // copies that could not be made
};

}  // namespace

Result<std::vector<ProvedFunction>> prove_malloc(const Process& process,
                                                 const Request& request,
                                                 std::span<const Guess> guesses,
                                                 const IsAllocation& is_allocation) {
  return Tries(process, request, guesses, is_allocation).run();
}

}  // namespace heapattach::trace
