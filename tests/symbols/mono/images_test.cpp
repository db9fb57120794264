#include "symbols/mono/images.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace heapattach {
namespace {

constexpr std::uint64_t kImage = 0x5670'0000'0000;
constexpr std::uint64_t kTexts = kImage + 0x800;
constexpr std::uint64_t kPages = 0x7f00'0000'1000;
constexpr std::uint64_t kRoot = kPages + 0x2cc;

// What Mono has noted about a file, and the file's pages, which may change.
class LoadedFile {
 public:
  LoadedFile() : noted_(0x1000), pages_(0x1000) {
    // Metadata: the version, and the headers of five streams.
    put(kRoot, 0x424a5342, 4);
    put(kRoot + 12, 4, 4);
    text(kRoot + 16, "v4");
    put(kRoot + 22, 5, 2);
    std::uint64_t header = kRoot + 24;
    const auto stream = [&](const char* name, std::uint64_t offset, std::uint64_t bytes,
                            std::uint64_t noted) {
      put(header, offset, 4);
      put(header + 4, bytes, 4);
      text(header + 8, name);
      header += 8 + (std::strlen(name) / 4 + 1) * 4;
      put(kImage + noted, kRoot + offset, 8);
      put(kImage + noted + 8, bytes, 4);
    };
    stream("#~", kTables - kRoot, 0x100, 0xb8);
    stream("#Strings", 0x200, 0x100, 0x78);
    stream("#US", 0x300, 0x20, 0x88);
    stream("#GUID", kGuid - kRoot, 16, 0xa8);
    stream("#Blob", 0x340, 0x40, 0x98);
    // Three tables: one module, seven classes, two references to assemblies.
    put(kTables + 8, std::uint64_t{1} | 1U << 2U | std::uint64_t{1} << 0x23U, 8);
    for (std::uint64_t i = 0; const auto& [table, rows] : kRows) {
      put(kTables + 24 + i++ * 4, rows, 4);
      put(kImage + 0xf0 + table * 16 + 8, 0x0a00'0000 | rows, 4);
    }
    put(kImage + 0x70, kRoot, 8);
    text(kTexts, "/srv/odd.exe");
    put(kImage + 0x20, kTexts, 8);
    for (std::uint64_t i = 0; i < 16; ++i) put(kGuid + i, 0x10 + i, 1);
    text(kTexts + 0x40, "13121110-1514-1716-1819-1A1B1C1D1E1F");
    put(kImage + 0x58, kTexts + 0x40, 8);
  }

  [[nodiscard]] mono::ReadWord reader() const {
    return [this](std::uint64_t at) -> std::optional<std::uint64_t> {
      const std::byte* const place = find(at);
      if (place == nullptr || at % 8 != 0) return std::nullopt;
      std::uint64_t word = 0;
      std::memcpy(&word, place, sizeof word);
      return word;
    };
  }
  [[nodiscard]] mono::Image image() const {
    const mono::ReadWord read = reader();
    mono::ImageReader images(read);
    mono::Image found = images.at(kImage);
    CHECK(images.warnings().size() == (found.is_as_loaded ? 0 : 1));
    return found;
  }
  void put(std::uint64_t at, std::uint64_t value, std::size_t bytes) {
    std::memcpy(find(at), &value, bytes);
  }
  void text(std::uint64_t at, std::string_view text) {
    std::memcpy(find(at), text.data(), text.size());
  }
  void cut(std::size_t bytes) { pages_.resize(bytes); }

  static constexpr std::uint64_t kTables = kRoot + 0x80;
  static constexpr std::uint64_t kGuid = kRoot + 0x320;

 private:
  static constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 3> kRows{
      {{0, 1}, {2, 7}, {0x23, 2}}};

  [[nodiscard]] const std::byte* find(std::uint64_t at) const {
    const auto in = [at](std::uint64_t start, const std::vector<std::byte>& bytes) {
      return at >= start && at + 8 <= start + bytes.size() ? &bytes[at - start] : nullptr;
    };
    const std::byte* const noted = in(kImage, noted_);
    return noted != nullptr ? noted : in(kPages, pages_);
  }
  std::byte* find(std::uint64_t at) {
    return const_cast<std::byte*>(std::as_const(*this).find(at));
  }

  std::vector<std::byte> noted_;
  std::vector<std::byte> pages_;
};

TEST_CASE("a file of Mono is as it was loaded if its pages say what Mono noted") {
  LoadedFile file;
  SUBCASE("the same") {}
  SUBCASE("it was made at run time, and has no pages") {
    file.put(kImage + 0x70, 0, 8);
    file.cut(0);
  }
  SUBCASE("it has no strings of its own") {
    file.put(kImage + 0x88, 0, 8);
  }
  CHECK(file.image().is_as_loaded);
  CHECK(file.image().file() == "odd.exe");
}

TEST_CASE("a file of Mono that was changed is noticed by any part of what Mono noted") {
  LoadedFile file;
  SUBCASE("another build") {
    file.put(LoadedFile::kGuid + 15, 0x20, 1);
  }
  SUBCASE("the same build with one class more") {
    file.put(LoadedFile::kTables + 28, 8, 4);
  }
  SUBCASE("the same build with another table") {
    file.put(LoadedFile::kTables + 8, 1 | 1U << 2U | 1U << 4U, 8);
  }
  SUBCASE("the same build with more strings") {
    file.put(kRoot + 24 + 12 + 4, 0x104, 4);
  }
  SUBCASE("no metadata at the place") {
    file.put(kRoot, 0, 4);
  }
  SUBCASE("a file that was truncated has no pages after its end") {
    file.cut(0x2cc);
  }
  CHECK_FALSE(file.image().is_as_loaded);
  CHECK(file.image().path == "/srv/odd.exe");
}

TEST_CASE("a file of Mono that is changed while its names are read is mentioned at the end") {
  LoadedFile file;
  const mono::ReadWord read = file.reader();
  mono::ImageReader images(read);
  CHECK(images.at(kImage).is_as_loaded);
  file.put(LoadedFile::kGuid, 0, 1);
  REQUIRE(images.warnings().size() == 1);
  CHECK(images.warnings()[0].find("/srv/odd.exe was changed while") != std::string::npos);
}

}  // namespace
}  // namespace heapattach
