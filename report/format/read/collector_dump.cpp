#include "report/format/read/collector_dump.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attach/arch/addresses.h"
#include "attach/base/page.h"
#include "symbols/boehm/heap.h"
#include "symbols/heap/heap.h"

namespace heapattach::read {

namespace {

constexpr std::string_view kGraph("GCGRPH\x01\x00", 8);
constexpr std::string_view kFull("GCFULL\x01\x00", 8);
constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr std::uint64_t kAtomic = std::uint64_t{1} << 63;
constexpr std::uint64_t kGranule = 16;
// The most bytes of all objects: a dump of a few bytes may claim any size.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 38;

// One object.
struct Record {
  RemoteAddr address;
  std::uint64_t bytes = 0;
  bool is_atomic = false;
};

// The bytes that the dump has of an object; the others are zero. A few words may be all that is
// known of an object of gigabytes.
struct Piece {
  Range range;
  std::uint64_t at = 0;  // the offset in the contents
};

Error broken(std::string_view file, std::string_view what) {
  return {ErrorKind::Malformed, fmt::format("{}: {}", file, what)};
}

// The contents of objects, readable like a process's memory.
class DumpMemory final : public MemoryReader {
 public:
  // Joins pieces that are sorted by address.
  DumpMemory(const std::vector<Piece>& pieces, const std::vector<char>& contents)
      : pieces_(pieces), contents_(contents) {}

  Result<std::size_t> read_some(RemoteAddr from, std::span<std::byte> into) const override {
    std::fill(into.begin(), into.end(), std::byte{0});
    copy({from, into});
    return into.size();
  }
  // The copy is zero where nothing was written to it, and untouched pages take no memory.
  Result<std::vector<Range>> copy_all(std::span<const Copy> copies,
                                      const CopyLimits& /*limits*/) const override {
    for (const Copy& one : copies) copy(one);
    return std::vector<Range>();
  }

 private:
  void copy(const Copy& to) const {
    const RemoteAddr end = to.from + to.into.size();
    auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                      [&](const Piece& one) { return one.range.end() <= to.from; });
    for (; piece != pieces_.end() && piece->range.start < end; ++piece) {
      const RemoteAddr first = std::max(piece->range.start, to.from);
      const RemoteAddr last = std::min(piece->range.end(), end);
      if (last <= first) continue;
      std::memcpy(to.into.data() + (first - to.from),
                  contents_.data() + piece->at + (first - piece->range.start), last - first);
    }
  }

  const std::vector<Piece>& pieces_;
  const std::vector<char>& contents_;
};

class Reader {
 public:
  Reader(TextFile file, const Deadline& deadline, bool with_all_contents)
      : file_(std::move(file)), deadline_(deadline), with_all_contents_(with_all_contents) {}

  Result<CollectorDump> run() && {
    const auto magic = HA_TRY(take(kGraph.size()));
    is_full_ = magic == kFull;
    bool is_cut = false;
    for (;;) {
      const std::size_t whole = pieces_.size();
      const auto more = HA_TRY(read_record());
      if (more == Next::Object) continue;
      is_cut = more == Next::Cut;
      pieces_.resize(whole);
      break;
    }
    std::sort(records_.begin(), records_.end(),
              [](const Record& a, const Record& b) { return a.address < b.address; });
    CollectorDump dump;
    dump.has_contents = is_full_;
    dump.is_cut = is_cut;
    HA_TRY(place_all(dump));
    HA_TRY(copy_contents(dump));
    return dump;
  }

 private:
  enum class Next : std::uint8_t { Object, End, Cut };

  // Reads as many bytes as requested, or fewer at the end of the file.
  Result<std::string_view> take(std::uint64_t bytes) {
    while (end_ - first_ < bytes) {
      if (first_ != 0) {
        std::memmove(buffer_.data(), buffer_.data() + first_, end_ - first_);
        end_ -= std::exchange(first_, 0);
      }
      if (buffer_.size() < end_ + kRead) buffer_.resize(end_ + kRead);
      const std::size_t count = HA_TRY(file_.read(buffer_.data() + end_, buffer_.size() - end_));
      if (count == 0) break;
      end_ += count;
    }
    const std::string_view taken(buffer_.data() + first_,
                                 std::min<std::uint64_t>(bytes, end_ - first_));
    first_ += taken.size();
    return taken;
  }

  // False at the end of the file.
  Result<bool> take_word(std::uint64_t& word) {
    const auto bytes = HA_TRY(take(sizeof word));
    if (bytes.size() < sizeof word) return false;
    std::memcpy(&word, bytes.data(), sizeof word);
    return true;
  }

  Result<Next> read_record() {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    if (!HA_TRY(take_word(address))) return Next::Cut;
    if (address == kEnd) return Next::End;
    if (!HA_TRY(take_word(size))) return Next::Cut;
    const Record record{{address}, size & ~kAtomic, (size & kAtomic) != 0};
    bytes_ += record.bytes;
    if (record.bytes == 0 || record.bytes % kGranule != 0 || record.bytes > kMostBytes ||
        bytes_ > kMostBytes || address % kGranule != 0 || address >= kUsualAddressEnd) {
      return broken(file_.name(),
                    fmt::format("no object of {} bytes can be at {:#x}", record.bytes, address));
    }
    const bool is_whole = is_full_ ? HA_TRY(read_contents(record)) : HA_TRY(read_words(record));
    if (!is_whole) return Next::Cut;
    records_.push_back(record);
    if (records_.size() % 65536 == 0) HA_TRY(deadline_.check("reading a dump"));
    return Next::Object;
  }

  Result<bool> read_contents(const Record& record) {
    pieces_.push_back({{record.address, record.bytes}, contents_.size()});
    for (std::uint64_t known = 0; known < record.bytes;) {
      const auto bytes = HA_TRY(take(std::min(record.bytes - known, std::uint64_t{kRead})));
      if (bytes.empty()) return false;
      contents_.insert(contents_.end(), bytes.begin(), bytes.end());
      known += bytes.size();
    }
    return true;
  }

  // The first word and those that are pointers, by ascending offset.
  Result<bool> read_words(const Record& record) {
    std::uint64_t word = 0;
    if (!HA_TRY(take_word(word))) return false;
    pieces_.push_back({{record.address, 0}, contents_.size()});
    put(record.address, word);
    std::uint64_t behind = 0;  // the last pointer
    while (!record.is_atomic) {
      std::uint64_t offset = 0;
      if (!HA_TRY(take_word(offset))) return false;
      if (offset == kEnd) break;
      if (!HA_TRY(take_word(word))) return false;
      if (offset % sizeof word != 0 || offset >= record.bytes || offset < behind) {
        return broken(file_.name(), fmt::format("the object at {} has no next pointer at {}",
                                                record.address, offset));
      }
      behind = offset + sizeof word;
      // The first word was written already, possibly with another value.
      if (offset == 0) {
        contents_.resize(contents_.size() - sizeof word);
        pieces_.back().range.bytes = 0;
      }
      put(record.address + offset, word);
    }
    return true;
  }

  // Adds one word after the others of its object.
  void put(RemoteAddr at, std::uint64_t word) {
    if (pieces_.back().range.end() != at) pieces_.push_back({{at, 0}, contents_.size()});
    pieces_.back().range.bytes += sizeof word;
    contents_.resize(contents_.size() + sizeof word);
    std::memcpy(contents_.data() + contents_.size() - sizeof word, &word, sizeof word);
  }

  // Finds the blocks of the objects. The collector fills a page with objects of one size, from its
  // first byte on; an object larger than half a page has pages of its own.
  Result<void> place_all(CollectorDump& dump) {
    RemoteAddr behind{0};  // the last block
    for (const Record& record : records_) {
      const RemoteAddr page = page_of(record);
      if (!is_at_slot(record)) return misplaced(record);
      if (page >= behind) {
        dump.index.blocks.push_back(block_of(record));
        behind = page + (is_small(record) ? boehm::kUsualBlockBytes
                                          : (record.bytes + boehm::kUsualBlockBytes - 1) /
                                                boehm::kUsualBlockBytes * boehm::kUsualBlockBytes);
      } else if (!is_of_block(record, dump.index.blocks.back()) ||
                 record.address == dump.objects.back()) {
        return misplaced(record);
      }
      dump.objects.push_back(record.address);
      dump.index.used_bytes += record.bytes;
    }
    return {};
  }

  static RemoteAddr page_of(const Record& record) {
    return {record.address.value / boehm::kUsualBlockBytes * boehm::kUsualBlockBytes};
  }
  static bool is_small(const Record& record) { return record.bytes <= boehm::kUsualBlockBytes / 2; }
  static bool is_at_slot(const Record& record) {
    const std::uint64_t offset = record.address - page_of(record);
    if (!is_small(record)) return offset == 0;
    return offset % record.bytes == 0 && offset + record.bytes <= boehm::kUsualBlockBytes;
  }
  static bool is_of_block(const Record& record, const heap::Block& block) {
    return is_small(record) && block.start == page_of(record) &&
           block.object_bytes == record.bytes && block.is_atomic() == record.is_atomic;
  }

  [[nodiscard]] Error misplaced(const Record& record) const {
    return broken(
        file_.name(),
        fmt::format("the object at {} is not a multiple of {} bytes after the one before it",
                    record.address, record.bytes));
  }

  static heap::Block block_of(const Record& record) {
    heap::Block block;
    block.start = page_of(record);
    block.object_bytes = record.bytes;
    block.descriptor = record.is_atomic ? 0 : record.bytes;
    block.objects =
        is_small(record) ? static_cast<std::uint32_t>(boehm::kUsualBlockBytes / record.bytes) : 1;
    block.kind = record.is_atomic ? heap::kAtomic : heap::kNormal;
    return block;
  }

  Result<void> copy_contents(CollectorDump& dump) {
    constexpr std::uint64_t kAlignment =
        kLeastPageBytes;  // that a copy may require before each range
    const std::vector<Range> ranges = boehm::plan_copy(dump.index, dump.layout);
    std::vector<Range> rest;
    if (with_all_contents_) rest = heap::rest_of_contents(dump.index, ranges);
    std::uint64_t bytes = 0;
    for (const Range& range : ranges) bytes += range.bytes + kAlignment;
    for (const Range& range : rest) bytes += range.bytes + kAlignment;
    dump.contents = std::make_unique<Capture>(HA_TRY(Arena::reserve(bytes, 0)));
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.range < b.range; });
    const DumpMemory memory(pieces_, contents_);
    HA_TRY(dump.contents->add(memory, ranges, {}));
    return dump.contents->add(memory, rest, {});
  }

  static constexpr std::size_t kRead = std::size_t{1} << 20;

  TextFile file_;
  Deadline deadline_;
  bool with_all_contents_;
  std::vector<char> buffer_;
  std::size_t first_ = 0;  // of the buffer, not yet consumed
  std::size_t end_ = 0;
  bool is_full_ = false;
  std::vector<Record> records_;
  std::vector<Piece> pieces_;
  std::vector<char> contents_;
  std::uint64_t bytes_ = 0;  // of all objects
};

}  // namespace

bool is_collector_dump(const TextFile& file) {
  return file.beginning().starts_with(kGraph) || file.beginning().starts_with(kFull);
}

Result<CollectorDump> read_collector_dump(TextFile file,
                                          const Deadline& deadline,
                                          bool with_all_contents) {
  return Reader(std::move(file), deadline, with_all_contents).run();
}

}  // namespace heapattach::read
