// A process with every kind of memory that could trouble a copy or a reader: rings of io_uring,
// huge pages, pages that a copy gets wiped or not at all, shared pages, and a file that was
// truncated under its mapping. Its answers show whether everything is unchanged. With "landlock",
// it restricts itself by Landlock.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <linux/io_uring.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "talk.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHuge = std::size_t{4} << 20;
constexpr std::uint64_t kPattern = 0x0dd0dd0dd0dd0dd0;

unsigned* word_at(void* base, unsigned offset) {
  return reinterpret_cast<unsigned*>(static_cast<char*>(base) + offset);
}

// A ring of io_uring, which each question uses once.
class Ring {
 public:
  Ring() {
    fd_ = static_cast<int>(syscall(SYS_io_uring_setup, 4, &params_));
    if (fd_ < 0) return;
    const std::size_t bytes = params_.sq_off.array + params_.sq_entries * sizeof(unsigned) + kPage;
    submitted_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, IORING_OFF_SQ_RING);
    const std::size_t results = params_.cq_off.cqes + params_.cq_entries * sizeof(io_uring_cqe);
    done_ = mmap(nullptr, results, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, IORING_OFF_CQ_RING);
    entries_ =
        static_cast<io_uring_sqe*>(mmap(nullptr, params_.sq_entries * sizeof(io_uring_sqe),
                                        PROT_READ | PROT_WRITE, MAP_SHARED, fd_, IORING_OFF_SQES));
  }
  [[nodiscard]] bool exists() const { return fd_ >= 0; }

  // Returns true if the value that went in came out.
  bool use(std::uint64_t value) {
    const unsigned mask = *word_at(submitted_, params_.sq_off.ring_mask);
    std::atomic_ref tail(*word_at(submitted_, params_.sq_off.tail));
    const unsigned at = tail.load() & mask;
    std::memset(&entries_[at], 0, sizeof entries_[at]);
    entries_[at].opcode = IORING_OP_NOP;
    entries_[at].user_data = value;
    word_at(submitted_, params_.sq_off.array)[at] = at;
    tail.fetch_add(1);
    if (syscall(SYS_io_uring_enter, fd_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) != 1)
      return false;
    std::atomic_ref head(*word_at(done_, params_.cq_off.head));
    const auto* results = reinterpret_cast<io_uring_cqe*>(word_at(done_, params_.cq_off.cqes));
    const unsigned first = head.load() & *word_at(done_, params_.cq_off.ring_mask);
    head.fetch_add(1);
    return results[first].user_data == value && results[first].res == 0;
  }

 private:
  io_uring_params params_{};
  int fd_ = -1;
  void* submitted_ = nullptr;
  void* done_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
};

std::uint64_t* pages(std::size_t bytes, int flags) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return static_cast<std::uint64_t*>(at);
}

void truncate_under_mapping() {
  const int file = static_cast<int>(syscall(SYS_memfd_create, "truncated", 0));
  if (file < 0 || ftruncate(file, 2 * kPage) != 0) std::abort();
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, flags, file, 0);
  }
  if (ftruncate(file, kPage) != 0) std::abort();
}

bool restrict_by_landlock() {
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE;
  const long set = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return set >= 0 && syscall(SYS_landlock_restrict_self, set, 0) == 0;
}

}  // namespace

int main(int count, char** words) {
  Ring ring;
  std::uint64_t* const huge = pages(kHuge, MAP_PRIVATE);
  madvise(huge, kHuge, MADV_HUGEPAGE);
  std::uint64_t* const wiped = pages(kPage, MAP_PRIVATE);
  madvise(wiped, kPage, MADV_WIPEONFORK);
  std::uint64_t* const left_out = pages(kPage, MAP_PRIVATE);
  madvise(left_out, kPage, MADV_DONTFORK);
  std::uint64_t* const shared = pages(kPage, MAP_SHARED);
  for (std::size_t i = 0; i < kHuge / sizeof *huge; i += 512) huge[i] = kPattern + i;
  *wiped = *left_out = *shared = kPattern;
  truncate_under_mapping();
  const bool is_restricted = count > 1 && is(words[1], "landlock") && restrict_by_landlock();
  say("ready ring=%d landlock=%d wiped=%llu shared=%llu", ring.exists(), is_restricted,
      reinterpret_cast<unsigned long long>(wiped), reinterpret_cast<unsigned long long>(shared));
  char line[64];
  for (std::uint64_t asked = 1; next_question(line, sizeof line); ++asked) {
    int wrong = *wiped != kPattern || *left_out != kPattern || *shared != kPattern;
    for (std::size_t i = 0; i < kHuge / sizeof *huge; i += 512) wrong += huge[i] != kPattern + i;
    const bool is_ring_well = !ring.exists() || ring.use(asked);
    say("wrong=%d ring=%d interrupted=%d", wrong, is_ring_well, interrupted_talk);
  }
}
