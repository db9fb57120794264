#include "symbols/mono/images.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "symbols/mono/facts.h"
#include "symbols/mono/metadata.h"

namespace heapattach::mono {

namespace {

// Offsets in an image. A stream is its address and its bytes, an int; a table's rows are the low 24
// bits of an int.
constexpr std::uint64_t kImagePath = 0x20;
constexpr std::uint64_t kIdentity = 0x58;  // the address of a text
constexpr std::uint64_t kGuidStream = 0xa8;
constexpr std::uint64_t kTablesStream = 0xb8;
constexpr std::uint64_t kTables = 0xf0;
constexpr std::uint64_t kTableBytes = 0x10;
constexpr std::uint64_t kTableRows = 0x8;
constexpr std::uint64_t kTableCount = 0x2d;  // those of ECMA-335
constexpr std::uint64_t kMostRows = (1U << 24U) - 1;

struct NotedStream {
  std::uint64_t at;  // in an image
  std::string_view name;
};
constexpr std::array kStreams{NotedStream{0x78, "#Strings"}, NotedStream{0x88, "#US"},
                              NotedStream{0x98, "#Blob"}, NotedStream{kGuidStream, "#GUID"},
                              NotedStream{kTablesStream, "#~"}};

}  // namespace

// Mono notes 0 for a stream that the file does not have. Its tables may be in "#-" as well.
bool ImageReader::has_its_streams(std::uint64_t image) const {
  const auto streams = read_streams(number(image + kMetadata, 8), read_);
  return !streams.empty() &&
         std::all_of(kStreams.begin(), kStreams.end(), [&](const NotedStream& noted) {
           const std::uint64_t at = number(image + noted.at, 8);
           const std::uint64_t bytes = number(image + noted.at + 8, 4);
           return at == 0 || std::any_of(streams.begin(), streams.end(), [&](const Stream& one) {
                    const bool is_named =
                        one.name == noted.name || (noted.at == kTablesStream && one.name == "#-");
                    return is_named && one.at == at && one.bytes == bytes;
                  });
         });
}

bool ImageReader::has_its_rows(std::uint64_t image) const {
  const std::uint64_t tables = number(image + kTablesStream, 8);
  const std::uint64_t present = number(tables + 8, 8);
  std::uint64_t at = tables + 24;
  for (std::uint64_t i = 0; i < kTableCount; ++i) {
    std::uint64_t rows = 0;
    if ((present >> i & 1) != 0) {
      rows = number(at, 4);
      at += 4;
    }
    const std::uint64_t noted = number(image + kTables + i * kTableBytes + kTableRows, 4);
    if (rows != (noted & kMostRows)) return false;
  }
  return true;
}

// A GUID's first three parts are numbers, with the lowest byte first. A file without one has only
// the rest of the proof.
bool ImageReader::has_its_identity(std::uint64_t image) const {
  const std::uint64_t guid = number(image + kGuidStream, 8);
  if (guid == 0) return true;
  const auto byte = [&](std::uint64_t i) { return number(guid + i, 1); };
  std::string text = fmt::format("{:08X}-{:04X}-{:04X}-{:02X}{:02X}-", number(guid, 4),
                                 number(guid + 4, 2), number(guid + 6, 2), byte(8), byte(9));
  for (std::uint64_t i = 10; i < 16; ++i) text += fmt::format("{:02X}", byte(i));
  return text_at(read_, number(image + kIdentity, 8)) == text;
}

bool ImageReader::is_as_noted(std::uint64_t image) const {
  return image != 0 && image % 8 == 0 && has_its_streams(image) && has_its_rows(image) &&
         has_its_identity(image);
}

bool ImageReader::is_as_loaded(std::uint64_t image) const {
  const bool has_file = image != 0 && image % 8 == 0 && number(image + kMetadata, 8) != 0;
  return !has_file || is_as_noted(image);
}

const Image& ImageReader::at(std::uint64_t image) {
  const auto [found, is_new] = images_.try_emplace(image);
  if (is_new) {
    std::string path = text_at(read_, number(image + kImagePath, 8));
    if (path.empty()) path = "an unnamed file";
    found->second = {std::move(path), is_as_loaded(image)};
  }
  return found->second;
}

std::vector<std::string> ImageReader::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [at, image] : images_) {
    if (!image.is_as_loaded) {
      warnings.push_back(fmt::format(
          "{} was overwritten or truncated after Mono had loaded it, so its names are unknown; its "
          "classes are shown by their tokens, as (type 0x2000002 of {})",
          image.path, image.file()));
    } else if (!is_as_loaded(at)) {
      warnings.push_back(fmt::format(
          "{} was changed while its names were read, so they may be wrong", image.path));
    }
  }
  return warnings;
}

}  // namespace heapattach::mono
