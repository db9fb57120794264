#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/mono/words.h"
#include "symbols/runtimes/object_names.h"

// The metadata of a program's file, as it is in memory. Only it has the names of enumerations'
// values. (Source: ECMA-335, partition II, 22 to 24.)
namespace heapattach::mono {

// A part of the metadata: "#~" has the tables, "#Strings" the names.
struct Stream {
  std::string name;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

// The streams of the metadata whose root is at `root`. Empty if there is no metadata there.
[[nodiscard]] std::vector<Stream> read_streams(std::uint64_t root, const ReadWord& read);

class Metadata {
 public:
  // The metadata whose root is at `root`. Nothing if there is no metadata there, or its form is
  // unknown.
  [[nodiscard]] static std::optional<Metadata> at(std::uint64_t root, const ReadWord& read);

  // The names of the values of the enumeration with this token. Empty if the token has another
  // type, or one of the values cannot be read.
  [[nodiscard]] std::vector<runtimes::Shape::Named> values_of(std::uint32_t token) const;

 private:
  // The tables up to Constant. (22.2 to 22.39)
  enum Table : std::uint8_t {
    kModule,
    kTypeRef,
    kTypeDef,
    kFieldPtr,
    kField,
    kMethodPtr,
    kMethodDef,
    kParamPtr,
    kParam,
    kInterfaceImpl,
    kMemberRef,
    kConstant,
    kRead,  // the number of tables above
  };
  struct TableAt {
    std::uint64_t at = 0;
    std::uint64_t row_bytes = 0;
  };
  struct Constant {
    std::uint8_t type = 0;
    std::uint64_t blob = 0;
  };

  explicit Metadata(const ReadWord& read) : read_(read) {}

  bool read_root(std::uint64_t root);
  std::optional<std::uint64_t> read_rows(const Stream& tables);
  bool read_tables(const Stream& tables);
  [[nodiscard]] std::optional<std::uint64_t> number(std::uint64_t at, std::uint64_t bytes) const {
    return number_at(read_, at, static_cast<unsigned>(bytes));
  }
  [[nodiscard]] std::optional<std::uint64_t> cell(Table table,
                                                  std::uint64_t row,
                                                  std::uint64_t offset,
                                                  std::uint64_t bytes) const;
  [[nodiscard]] std::string text(std::uint64_t offset) const;
  [[nodiscard]] std::optional<Constant> constant_of(std::uint64_t field) const;
  [[nodiscard]] std::optional<std::int64_t> value_of(const Constant& constant) const;
  [[nodiscard]] std::optional<runtimes::Shape::Named> named_value(std::uint64_t field) const;
  [[nodiscard]] static std::uint64_t index_bytes(std::uint64_t most) {
    return most < (1U << 16U) ? 2 : 4;
  }

  const ReadWord& read_;
  Stream strings_;
  Stream blobs_;
  std::array<std::uint64_t, 64> rows_{};
  std::array<TableAt, kRead> tables_{};
  // The bytes of a column that references a string, a blob, a field, or the owner of a constant.
  std::uint64_t string_bytes_ = 2;
  std::uint64_t blob_bytes_ = 2;
  std::uint64_t field_bytes_ = 2;
  std::uint64_t parent_bytes_ = 2;
};

}  // namespace heapattach::mono
