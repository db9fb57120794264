#include "report/format/read/line_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include "attach/sandbox/open_file.h"

namespace heapattach::read {

namespace {

constexpr std::size_t kBeginning = 16;  // bytes that show the kind of a file
constexpr std::size_t kInputBytes = std::size_t{256} << 10;
constexpr int kPollMs = 50;  // how late we may notice an interruption
// Snapshots shrink to a twentieth; a hostile gzip file can expand a thousandfold.
constexpr std::uint64_t kMostExpansion = 150;
constexpr std::uint64_t kFreeExpansion = std::uint64_t{64} << 20;
// Enough for an object with thirty million edges.
constexpr std::size_t kLongestLine = std::size_t{1} << 30;
constexpr int kGzipWindow = 15 + 16;  // the largest window; +16 expects gzip framing (zlib.h)

Error failed_to(std::string_view what, const std::string& name, int number) {
  return {ErrorKind::Os, fmt::format("{} {}: {}", what, name, std::strerror(number)), number};
}

// The format of a file that is not a snapshot, from its first bytes.
std::string_view other_format(std::string_view beginning) {
  struct Magic {
    std::string_view bytes;
    std::string_view what;
  };
  static constexpr std::array<Magic, 3> kMagics{{
      {"\x7f"
       "ELF",
       "an ELF file; a core file is read from a file of its own, unpacked, not from a pipe"},
      {"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
      {"\xfd"
       "7zXZ",
       "compressed with xz; unpack it first"},
  }};
  for (const Magic& magic : kMagics) {
    if (beginning.starts_with(magic.bytes)) return magic.what;
  }
  return {};
}

}  // namespace

void TextFile::EndStream::operator()(z_stream_s* stream) const noexcept {
  inflateEnd(stream);
  delete stream;
}

TextFile::TextFile(Fd fd, std::string name, const Deadline& deadline)
    : fd_(std::move(fd)), name_(std::move(name)), deadline_(deadline), input_(kInputBytes) {}
TextFile::~TextFile() = default;
TextFile::TextFile(TextFile&&) noexcept = default;

Result<TextFile> TextFile::open(const std::string& name, const Deadline& deadline) {
  // poll() waits for a pipe without a writer, and can be interrupted.
  return of(HA_TRY(open_source(name)), name, deadline);
}

Result<TextFile> TextFile::of(Fd fd, std::string name, const Deadline& deadline) {
  TextFile file(std::move(fd), std::move(name), deadline);
  HA_TRY(file.look_at_beginning());
  return file;
}

Result<void> TextFile::look_at_beginning() {
  while (end_ < kBeginning && HA_TRY(refill())) {
  }
  const std::string_view beginning(input_.data(), end_);
  if (const auto what = other_format(beginning); !what.empty()) {
    return Error{ErrorKind::Malformed, fmt::format("{} is {}", name_, what)};
  }
  if (!beginning.starts_with("\x1f\x8b")) return {};
  auto stream = std::make_unique<z_stream_s>();
  if (inflateInit2(stream.get(), kGzipWindow) != Z_OK) {
    return Error{ErrorKind::Os, fmt::format("unpack {}: zlib failed", name_)};
  }
  stream_.reset(stream.release());
  return look_at_packed();
}

Result<void> TextFile::look_at_packed() {
  std::array<char, kBeginning> bytes{};
  while (unpacked_.size() < kBeginning) {
    const std::size_t count = HA_TRY(inflate_to(bytes.data(), kBeginning - unpacked_.size()));
    if (count == 0) break;
    unpacked_.append(bytes.data(), count);
  }
  if (const auto what = other_format(unpacked_); !what.empty()) {
    return Error{ErrorKind::Malformed,
                 fmt::format("{} contains, in compressed form, {}", name_, what)};
  }
  return {};
}

std::string_view TextFile::beginning() const {
  if (stream_) return unpacked_;
  return {input_.data() + first_, end_ - first_};
}

// One read(), once there is something to read. 0 at the end of the file.
Result<std::size_t> TextFile::read_some(char* to, std::size_t size) {
  for (;;) {
    HA_TRY(deadline_.check(fmt::format("read {}", name_)));
    pollfd waited{fd_.get(), POLLIN, 0};
    // An error or a hang-up ends the waiting too; read() then reports which.
    if (::poll(&waited, 1, kPollMs) <= 0) continue;
    const auto count = ::read(fd_.get(), to, size);
    const int failure = errno;
    if (count >= 0) return static_cast<std::size_t>(count);
    if (failure != EINTR && failure != EAGAIN) return failed_to("read", name_, failure);
  }
}

// Appends more bytes. False at the end of the file.
Result<bool> TextFile::refill() {
  if (first_ == end_) first_ = end_ = 0;
  const std::size_t count = HA_TRY(read_some(input_.data() + end_, input_.size() - end_));
  end_ += count;
  return count != 0;
}

Result<std::size_t> TextFile::read(char* to, std::size_t size) {
  if (!unpacked_.empty()) {
    const std::size_t count = std::min(size, unpacked_.size());
    std::memcpy(to, unpacked_.data(), count);
    unpacked_.erase(0, count);
    return count;
  }
  return stream_ ? inflate_to(to, size) : read_plain(to, size);
}

Result<std::size_t> TextFile::read_plain(char* to, std::size_t size) {
  if (first_ != end_) {
    const std::size_t count = std::min(size, end_ - first_);
    std::memcpy(to, input_.data() + first_, count);
    first_ += count;
    return count;
  }
  return read_some(to, size);
}

Result<void> TextFile::check_expansion() const {
  const std::uint64_t most = kFreeExpansion + kMostExpansion * packed_bytes_;
  if (unpacked_bytes_ <= most) return {};
  return Error{ErrorKind::Malformed,
               fmt::format("{} unpacks to more than {} times its size: not a snapshot", name_,
                           kMostExpansion)}
      .advise("unpack it first");
}

Result<std::size_t> TextFile::inflate_to(char* to, std::size_t size) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // zlib counts in unsigned int
  stream_->next_out = reinterpret_cast<Bytef*>(to);
  stream_->avail_out = static_cast<uInt>(std::min(size, kMost));
  const uInt wanted = stream_->avail_out;
  while (stream_->avail_out == wanted) {
    if (first_ == end_ && !HA_TRY(refill())) {
      is_cut_ = !is_between_members_;
      return std::size_t{0};
    }
    stream_->next_in = reinterpret_cast<Bytef*>(input_.data() + first_);
    stream_->avail_in = static_cast<uInt>(end_ - first_);
    const uInt room = stream_->avail_out;
    const int status = inflate(stream_.get(), Z_NO_FLUSH);
    packed_bytes_ += (end_ - first_) - stream_->avail_in;
    unpacked_bytes_ += room - stream_->avail_out;
    HA_TRY(check_expansion());
    first_ = end_ - stream_->avail_in;
    is_between_members_ = status == Z_STREAM_END;
    if (status == Z_STREAM_END) {
      inflateReset(stream_.get());
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return Error{ErrorKind::Malformed, fmt::format("{}: its compressed data is broken", name_)};
    }
  }
  return static_cast<std::size_t>(wanted - stream_->avail_out);
}

Result<bool> LineSource::next(LineBlock& block) {
  block.number = blocks_;
  block.is_last_line_cut = false;
  block.size = rest_.size();
  if (block.bytes.size() < rest_.size() + block_bytes_) {
    block.bytes.resize(rest_.size() + block_bytes_);
  }
  std::memcpy(block.bytes.data(), rest_.data(), rest_.size());
  rest_.clear();
  std::size_t end = 0;  // of the last whole line
  std::size_t wanted = block.size + block_bytes_;
  while (!is_at_end_ && (end == 0 || block.size < wanted)) {
    if (block.size == block.bytes.size()) {
      if (block.size >= kLongestLine) {
        return Error{ErrorKind::Malformed, fmt::format("{} has a line of more than {} bytes",
                                                       file_.name(), kLongestLine)};
      }
      block.bytes.resize(2 * block.size);
    }
    const std::size_t count =
        HA_TRY(file_.read(block.bytes.data() + block.size, block.bytes.size() - block.size));
    is_at_end_ = count == 0;
    const std::string_view fresh(block.bytes.data() + block.size, count);
    if (const auto last = fresh.rfind('\n'); last != std::string_view::npos) {
      end = block.size + last + 1;
    }
    block.size += count;
    wanted = std::min(wanted, block.bytes.size());
  }
  if (is_at_end_) {
    block.is_last_line_cut = block.size != 0 && block.bytes[block.size - 1] != '\n';
  } else {
    rest_.assign(block.bytes.data() + end, block.size - end);
    block.size = end;
  }
  if (block.size == 0) return false;
  ++blocks_;
  return true;
}

}  // namespace heapattach::read
