#include "symbols/malloc/caches.h"

#include <algorithm>
#include <array>
#include <optional>

namespace heapattach::glibc {

namespace {

// The layout of a thread's cache in a range of releases.
struct CacheForm {
  std::uint64_t chunk_bytes;
  unsigned bins;
  unsigned number_bytes;
  bool counts_free_places;
  bool has_keys;  // the second word of each chunk has the same key everywhere

  [[nodiscard]] std::uint64_t entries() const {
    return static_cast<std::uint64_t>(bins) * number_bytes;
  }
};
constexpr std::array kForms{CacheForm{0x250, 64, 1, false, false},
                            CacheForm{0x290, 64, 2, false, true},
                            CacheForm{0x300, 76, 2, true, true}};
constexpr unsigned kSmallBins = 64;
constexpr std::uint64_t kLargestSmall = 0x410;

class CacheSearch {
 public:
  CacheSearch(const Words& words, const Arenas& arenas, Chunks& chunks)
      : words_(words), arenas_(arenas), chunks_(chunks) {
    if (arenas.parameters) cache_count_ = arenas.parameters->cache_count;
  }

  // Finds out how links are stored. Returns false if no way gives valid lists for all fast bins,
  // perhaps because a thread was changing one.
  bool find_linking() {
    if (walk_fast_bins(false)) return true;
    is_linked_safely_ = false;
    if (walk_fast_bins(false)) return true;
    is_linked_safely_ = true;
    return false;
  }

  void mark_fast_bins() { static_cast<void>(walk_fast_bins(true)); }

  void mark_caches() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      if (chunks_[i].state != ChunkState::InUse) continue;
      for (const CacheForm& form : kForms) {
        if (chunks_[i].bytes == form.chunk_bytes && is_cache(i, form)) take(i);
      }
    }
  }

  void mark_caches_linked_plainly() {
    is_linked_safely_ = false;
    mark_caches();
  }

  // Every thread has the pointer to its cache at the same distance from its thread pointer.
  void mark_empty_caches(std::span<const RemoteAddr> thread_pointers) {
    constexpr std::uint64_t kFarthest = 0x40000;
    for (std::uint64_t distance = 8; distance <= kFarthest; distance += 8) {
      if (!are_caches(thread_pointers, distance)) continue;
      for (const RemoteAddr thread : thread_pointers) {
        const std::size_t at = chunk_at(thread - distance);
        if (at == chunks_.size() || chunks_[at].state == ChunkState::Cache) continue;
        chunks_[at].state = ChunkState::Cache;
        ++found_.caches;
      }
      return;
    }
  }

  // The first chunk of main_arena is the first thread's cache. The caches of other threads are at
  // the same distance from their thread pointers.
  void find_broken_cache(std::span<const RemoteAddr> thread_pointers) {
    const auto first = std::find_if(chunks_.begin(), chunks_.end(),
                                    [](const Chunk& chunk) { return chunk.arena == 0; });
    if (first != chunks_.end() && first->state == ChunkState::InUse && has_cache_size(*first) &&
        arenas_.parameters && first->at - arenas_.parameters->sbrk_base < 16 &&
        is_pointed_to(first->payload(), thread_pointers)) {
      found_.is_cache_broken = true;
    }
  }

  [[nodiscard]] CachesFound found() const { return found_; }
  void note_broken_list() { found_.is_list_broken = true; }

 private:
  static bool has_cache_size(const Chunk& chunk) {
    return std::any_of(kForms.begin(), kForms.end(),
                       [&](const CacheForm& form) { return form.chunk_bytes == chunk.bytes; });
  }

  // Whether a thread-local variable of any thread contains `word`.
  [[nodiscard]] bool is_pointed_to(RemoteAddr word, std::span<const RemoteAddr> threads) const {
    constexpr std::uint64_t kFarthest = 0x4000;
    for (const RemoteAddr thread : threads) {
      for (std::uint64_t distance = 8; distance <= kFarthest && distance <= thread.value;
           distance += 8) {
        if (words_.at_or_zero(thread - distance) == word.value) return true;
      }
    }
    return false;
  }

  // Decodes the link that is stored at `at`.
  [[nodiscard]] std::uint64_t followed(RemoteAddr at) const {
    const std::uint64_t link = words_.at_or_zero(at);
    return is_linked_safely_ ? at.value >> 12 ^ link : link;
  }

  // The index of the chunk whose memory the word at `at` points to.
  [[nodiscard]] std::size_t chunk_at(RemoteAddr at) const {
    const std::uint64_t word = words_.at_or_zero(at);
    return word < 16 ? chunks_.size() : find_chunk(chunks_, RemoteAddr{word - 16});
  }

  // Whether the words at this distance from the thread pointers point to caches: to the known ones,
  // if there are any, and to empty ones. A thread that never allocated has no cache.
  [[nodiscard]] bool are_caches(std::span<const RemoteAddr> threads, std::uint64_t distance) const {
    bool has_known = false;
    bool has_any = false;
    for (const RemoteAddr thread : threads) {
      if (thread.value < distance) return false;
      if (words_.at_or_zero(thread - distance) == 0) continue;
      const std::size_t at = chunk_at(thread - distance);
      if (at == chunks_.size()) return false;
      const bool is_known = chunks_[at].state == ChunkState::Cache;
      if (!is_known && !is_empty_cache(chunks_[at])) return false;
      has_known = has_known || is_known;
      has_any = true;
    }
    // The C library's variables are usually near; further away, only a known cache is proof.
    return has_any && (has_known || (found_.caches == 0 && distance <= 0x4000));
  }

  [[nodiscard]] bool is_empty_cache(const Chunk& chunk) const {
    for (const CacheForm& form : kForms) {
      if (chunk.bytes != form.chunk_bytes || chunk.state != ChunkState::InUse) continue;
      for (unsigned bin = 0; bin < form.bins; ++bin) {
        const RemoteAddr entry = chunk.payload() + form.entries() + std::uint64_t{8} * bin;
        if (words_.at_or_zero(entry) != 0 || count_of(chunk.payload(), form, bin) != 0) {
          return false;
        }
      }
      return true;
    }
    return false;
  }

  bool walk_fast_bins(bool marks) {
    const StateLayout& layout = arenas_.layout;
    if (layout.fast_bins == 0) return true;
    bool is_whole = true;
    for (const ArenaFound& arena : arenas_.all) {
      for (unsigned bin = 0; bin < StateLayout::kFastBins; ++bin) {
        std::uint64_t at = words_.at_or_zero(arena.at + layout.fast_bins + std::uint64_t{8} * bin);
        for (std::size_t count = 0; at != 0; ++count) {
          const std::size_t chunk = find_chunk(chunks_, RemoteAddr{at});
          if (chunk == chunks_.size() || count > chunks_.size()) {
            is_whole = false;
            break;
          }
          if (marks && chunks_[chunk].state == ChunkState::InUse) {
            chunks_[chunk].state = ChunkState::Fast;
            ++found_.fast;
          }
          at = followed(RemoteAddr{at + 16});
        }
      }
    }
    return is_whole;
  }

  [[nodiscard]] std::uint64_t count_of(RemoteAddr cache,
                                       const CacheForm& form,
                                       unsigned bin) const {
    const RemoteAddr at = cache + std::uint64_t{bin} * form.number_bytes;
    const std::uint64_t number = form.number_bytes == 1 ? words_.small_at<std::uint8_t>(at)
                                                        : words_.small_at<std::uint16_t>(at);
    if (!form.counts_free_places) return number;
    return cache_count_.value_or(0) - number;  // too large if there are more places than that
  }

  // Follows one bin. Returns its length, or nothing if it contains anything but chunks of its size.
  std::optional<std::size_t> follow_bin(RemoteAddr first,
                                        unsigned bin,
                                        std::size_t most,
                                        bool has_keys) {
    std::size_t length = 0;
    for (std::uint64_t entry = words_.at_or_zero(first); entry != 0;) {
      const std::size_t chunk =
          entry < 16 ? chunks_.size() : find_chunk(chunks_, RemoteAddr{entry - 16});
      if (chunk == chunks_.size() || ++length > most + 1) return std::nullopt;
      const Chunk& found = chunks_[chunk];
      const bool has_size = bin < kSmallBins ? found.bytes == 0x20 + std::uint64_t{16} * bin
                                             : found.bytes > kLargestSmall;
      if (!has_size || found.state != ChunkState::InUse) return std::nullopt;
      const std::uint64_t key = words_.at_or_zero(RemoteAddr{entry + 8});
      if (has_keys && !key_) key_ = key;
      // A thread may just be adding or removing the first chunk, which then has no key.
      if (has_keys && key != *key_ && length > 1) return std::nullopt;
      taken_.push_back(chunk);
      entry = followed(RemoteAddr{entry});
    }
    return length;
  }

  bool is_cache(std::size_t number, const CacheForm& form) {
    const RemoteAddr cache = chunks_[number].payload();
    taken_.clear();
    key_.reset();
    bool is_in_change = false;
    for (unsigned bin = 0; bin < form.bins; ++bin) {
      const std::uint64_t count = count_of(cache, form, bin);
      if (count > (cache_count_ ? std::max<std::uint64_t>(*cache_count_, 1) : 127)) return false;
      const auto length =
          follow_bin(cache + form.entries() + std::uint64_t{8} * bin, bin, count, form.has_keys);
      if (!length) return false;
      if (*length == count) continue;
      // The thread may have been stopped between the two changes that a call makes.
      const bool is_one_off = *length == count + 1 || *length + 1 == count;
      if (!is_one_off || is_in_change) return false;
      is_in_change = true;
    }
    return !taken_.empty();
  }

  void take(std::size_t number) {
    chunks_[number].state = ChunkState::Cache;
    ++found_.caches;
    for (const std::size_t chunk : taken_) chunks_[chunk].state = ChunkState::Cached;
    found_.cached += taken_.size();
  }

  const Words& words_;
  const Arenas& arenas_;
  Chunks& chunks_;
  std::optional<std::uint64_t> cache_count_;
  bool is_linked_safely_ = true;
  std::vector<std::size_t> taken_;  // the chunks of the cache that is being examined
  std::optional<std::uint64_t> key_;
  CachesFound found_;
};

}  // namespace

CachesFound mark_caches(const Words& words,
                        const Arenas& arenas,
                        std::span<const RemoteAddr> thread_pointers,
                        Chunks& chunks) {
  CacheSearch search(words, arenas, chunks);
  if (!search.find_linking()) search.note_broken_list();
  search.mark_fast_bins();
  search.mark_caches();
  // Without chunks in fast bins, it is still unknown how links are stored.
  if (search.found().fast == 0 && search.found().caches == 0) search.mark_caches_linked_plainly();
  search.mark_empty_caches(thread_pointers);
  search.find_broken_cache(thread_pointers);
  return search.found();
}

}  // namespace heapattach::glibc
