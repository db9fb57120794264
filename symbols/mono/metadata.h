#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbols/runtimes/object_names.h"

// The metadata of a program's file, as it is in memory: the names of enumerations' values are
// nowhere else. (Source: ECMA-335, partition II, 22 to 24.)
namespace heapattach::mono {

class Metadata {
 public:
  using ReadWord = std::function<std::optional<std::uint64_t>(std::uint64_t at)>;

  // The metadata whose root is at `root`. Nothing if it is none, or of another form.
  [[nodiscard]] static std::optional<Metadata> at(std::uint64_t root, const ReadWord& read);

  // The names of the values of an enumeration that has this token. Empty if it is none, or its
  // values cannot be read.
  [[nodiscard]] std::vector<runtimes::Shape::Named> values_of(std::uint32_t token) const;

 private:
  // The tables up to the one of constants. (22.2 to 22.39)
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
    kRead,  // how many these are
  };
  struct Part {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
  };
  struct Stream {
    Part part;
    std::string name;
    std::uint64_t next = 0;  // where the next one begins
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
  [[nodiscard]] std::optional<Stream> stream_at(std::uint64_t root, std::uint64_t at) const;
  std::optional<std::uint64_t> read_rows(const Part& tables);
  bool read_tables(const Part& tables);
  [[nodiscard]] std::optional<std::uint64_t> number(std::uint64_t at, std::uint64_t bytes) const;
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
  Part strings_;
  Part blobs_;
  std::array<std::uint64_t, 64> rows_{};
  std::array<TableAt, kRead> tables_{};
  std::uint64_t string_bytes_ = 2;  // of an offset
  std::uint64_t blob_bytes_ = 2;
  std::uint64_t field_bytes_ = 2;   // of a number of a field
  std::uint64_t parent_bytes_ = 2;  // of what a constant belongs to
};

}  // namespace heapattach::mono
