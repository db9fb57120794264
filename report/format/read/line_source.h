#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/deadline.h"
#include "attach/base/fd.h"
#include "attach/base/result.h"

struct z_stream_s;

namespace heapattach::read {

// Reads a file's bytes, decompressing a gzip file of one or more members. It streams, so the file
// may be a pipe, for which it waits until the deadline.
class TextFile {
 public:
  static Result<TextFile> open(const std::string& name, const Deadline& deadline);
  // Takes an open file from which nothing has been read yet. `name` is for messages.
  static Result<TextFile> of(Fd fd, std::string name, const Deadline& deadline);
  ~TextFile();
  TextFile(TextFile&&) noexcept;
  TextFile& operator=(TextFile&&) = delete;
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // Reads up to `size` more bytes into `to`. Returns 0 at the end of the file.
  Result<std::size_t> read(char* to, std::size_t size);
  // The next bytes, decompressed: at least sixteen, unless the file ends.
  [[nodiscard]] std::string_view beginning() const;
  // Whether the compressed data ended early.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct EndStream {
    void operator()(z_stream_s* stream) const noexcept;
  };

  TextFile(Fd fd, std::string name, const Deadline& deadline);
  Result<void> look_at_beginning();
  Result<std::size_t> read_plain(char* to, std::size_t size);
  [[nodiscard]] Result<void> check_expansion() const;
  Result<std::size_t> inflate_to(char* to, std::size_t size);
  Result<void> look_at_packed();
  Result<bool> refill();
  Result<std::size_t> read_some(char* to, std::size_t size);

  Fd fd_;
  std::string name_;
  Deadline deadline_;
  std::unique_ptr<z_stream_s, EndStream> stream_;  // null unless packed
  std::vector<char> input_;                        // read, but not yet decompressed or returned
  std::size_t first_ = 0;                          // of `input_`
  std::size_t end_ = 0;                            // of `input_`
  std::string unpacked_;                           // peeked at, and not yet returned
  std::uint64_t packed_bytes_ = 0;                 // read from the file and decompressed
  std::uint64_t unpacked_bytes_ = 0;               // the result
  bool is_cut_ = false;
  bool is_between_members_ = false;
};

// A block of whole lines, several megabytes long.
struct LineBlock {
  std::size_t number = 0;
  std::vector<char> bytes;  // may be larger than the text
  std::size_t size = 0;
  bool is_last_line_cut = false;  // the file ends without a line break

  [[nodiscard]] std::string_view text() const { return {bytes.data(), size}; }
};

// Cuts a file into blocks of about `block_bytes`. A block with a longer line is longer.
class LineSource {
 public:
  LineSource(TextFile file, std::size_t block_bytes)
      : file_(std::move(file)), block_bytes_(block_bytes) {}

  // Reads the next block. Returns false at the end of the file.
  Result<bool> next(LineBlock& block);
  [[nodiscard]] const TextFile& file() const { return file_; }

 private:
  TextFile file_;
  std::size_t block_bytes_;
  std::string rest_;  // the start of the line in which the last block ended
  std::size_t blocks_ = 0;
  bool is_at_end_ = false;
};

}  // namespace heapattach::read
