#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "symbols/mono/words.h"

// The program's files (images), and whether their names can be believed.
//
// Mono maps a file, and its data about classes reference the names in the mapped pages. If the file
// is overwritten in place, its pages have the names of another program, at the same addresses. But
// Mono also keeps what it read when it loaded the file: the module's identity (a GUID that is new
// in each build), where the metadata's streams are, and how many rows each table has. The names are
// believed only if the pages still say the same. A file that was touched, replaced by
// another one of that name, or installed late passes. (Sources: metadata-internals.h and image.c of
// 6.8; ECMA-335, partition II, 24.2.)
namespace heapattach::mono {

struct Image {
  std::string path;
  bool is_as_loaded = true;

  // "odd.exe"
  [[nodiscard]] std::string file() const { return path.substr(path.rfind('/') + 1); }
};

class ImageReader {
 public:
  // Borrows `read`.
  explicit ImageReader(const ReadWord& read) : read_(read) {}

  // The image at an address. One that the program made at run time has no file that could change.
  const Image& at(std::uint64_t image);
  // Whether the pages of the image at an address say what Mono has noted about it.
  [[nodiscard]] bool is_as_noted(std::uint64_t image) const;

  // A sentence for the user about each image whose names cannot be believed, or that was changed
  // while its names were read. Call it when all names have been read.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned bytes) const {
    return number_at(read_, at, bytes).value_or(0);
  }
  [[nodiscard]] bool is_as_loaded(std::uint64_t image) const;
  [[nodiscard]] bool has_its_streams(std::uint64_t image) const;
  [[nodiscard]] bool has_its_rows(std::uint64_t image) const;
  [[nodiscard]] bool has_its_identity(std::uint64_t image) const;

  const ReadWord& read_;
  std::map<std::uint64_t, Image> images_;  // by address
};

}  // namespace heapattach::mono
