#include "symbols/mono/metadata.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "symbols/text/utf8.h"

namespace heapattach::mono {

namespace {

constexpr std::uint64_t kMagic = 0x424a5342;  // "BSJB"
constexpr std::uint64_t kMostVersionBytes = 256;
constexpr std::uint64_t kMostStreams = 16;
constexpr std::uint64_t kMostStreamBytes = 1U << 30U;
constexpr std::uint64_t kMostRows = 1U << 24U;  // a token has 24 bits for a row
constexpr std::uint64_t kMostValues = 1 << 14;
constexpr std::uint64_t kMostNameBytes = 512;
constexpr std::uint64_t kTokenOfTypeDef = 0x02;
constexpr std::uint64_t kLiteral = 0x40;  // an attribute of a field
constexpr std::uint64_t kFieldTag = 0;    // in the low two bits of a constant's owner: a field

// Tables that come after Constant. Their row counts set the width of columns in earlier tables.
constexpr std::size_t kProperty = 0x17;
constexpr std::size_t kModuleRef = 0x1a;
constexpr std::size_t kTypeSpec = 0x1b;
constexpr std::size_t kAssemblyRef = 0x23;

// The types of constants: the bytes of each, and whether it has a sign.
struct ConstantType {
  std::uint8_t type;
  std::uint8_t bytes;
  bool is_signed;
};
constexpr std::array kConstantTypes{ConstantType{0x04, 1, true}, ConstantType{0x05, 1, false},
                                    ConstantType{0x06, 2, true}, ConstantType{0x07, 2, false},
                                    ConstantType{0x08, 4, true}, ConstantType{0x09, 4, false},
                                    ConstantType{0x0a, 8, true}, ConstantType{0x0b, 8, false}};

// Reads the header of a stream: its offset from the root, its size, and its name, which is padded
// to 4 bytes. Moves `at` to the next header.
std::optional<Stream> stream_at(std::uint64_t root, std::uint64_t& at, const ReadWord& read) {
  constexpr std::size_t kMostNameOfStream = 32;
  const auto offset = number_at(read, at, 4);
  const auto bytes = number_at(read, at + 4, 4);
  if (!offset || !bytes || *offset > kMostStreamBytes || *bytes > kMostStreamBytes) {
    return std::nullopt;
  }
  Stream found{{}, root + *offset, *bytes};
  for (at += 8; found.name.size() < kMostNameOfStream; ++at) {
    const auto letter = number_at(read, at, 1);
    if (!letter) return std::nullopt;
    if (*letter == 0) {
      at += 4 - found.name.size() % 4;
      return found;
    }
    found.name += static_cast<char>(*letter);
  }
  return std::nullopt;
}

}  // namespace

// A signature, the version as text, and the headers of the streams.
std::vector<Stream> read_streams(std::uint64_t root, const ReadWord& read) {
  const auto version_bytes = number_at(read, root + 12, 4);
  if (number_at(read, root, 4) != kMagic || !version_bytes || *version_bytes > kMostVersionBytes) {
    return {};
  }
  std::uint64_t at = root + 16 + *version_bytes;
  const auto count = number_at(read, at + 2, 2);
  if (!count || *count > kMostStreams) return {};
  at += 4;
  std::vector<Stream> streams;
  for (std::uint64_t i = 0; i < *count; ++i) {
    auto stream = stream_at(root, at, read);
    if (!stream) return {};
    streams.push_back(*std::move(stream));
  }
  return streams;
}

std::optional<Metadata> Metadata::at(std::uint64_t root, const ReadWord& read) {
  Metadata found(read);
  return root != 0 && found.read_root(root) ? std::optional(found) : std::nullopt;
}

// Reads the tables of a file's metadata.
bool Metadata::read_root(std::uint64_t root) {
  Stream tables;
  for (Stream& stream : read_streams(root, read_)) {
    if (stream.name == "#~") tables = stream;
    if (stream.name == "#Strings") strings_ = stream;
    if (stream.name == "#Blob") blobs_ = stream;
  }
  return tables.at != 0 && strings_.at != 0 && blobs_.at != 0 && read_tables(tables);
}

// Reads which tables exist and how many rows each has. Returns where the first table begins.
std::optional<std::uint64_t> Metadata::read_rows(const Stream& tables) {
  const auto present = number(tables.at + 8, 8);
  const auto sorted = number(tables.at + 16, 8);
  if (!present || !sorted || (*sorted >> kConstant & 1) == 0) return std::nullopt;
  std::uint64_t at = tables.at + 24;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if ((*present >> i & 1) == 0) continue;
    const auto rows = number(at, 4);
    if (!rows || *rows >= kMostRows) return std::nullopt;
    rows_[i] = *rows;
    at += 4;
  }
  // If these tables have rows, the numbers in other tables mean something else.
  if (rows_[kFieldPtr] != 0 || rows_[kMethodPtr] != 0 || rows_[kParamPtr] != 0) return std::nullopt;
  return at;
}

// The size of a table's rows depends on how many rows the tables have that it references.
bool Metadata::read_tables(const Stream& tables) {
  const auto sizes = number(tables.at + 6, 1);
  const auto first = read_rows(tables);
  if (!sizes || !first) return false;
  const auto coded = [&](unsigned bits, std::initializer_list<std::size_t> refers_to) {
    std::uint64_t most = 0;
    for (const std::size_t table : refers_to) most = std::max(most, rows_[table]);
    return index_bytes(most << bits);
  };
  const auto heap = [&](unsigned bit) -> std::uint64_t { return (*sizes >> bit & 1) != 0 ? 4 : 2; };
  string_bytes_ = heap(0);
  blob_bytes_ = heap(2);
  field_bytes_ = index_bytes(rows_[kField]);
  const std::uint64_t method = index_bytes(rows_[kMethodDef]);
  const std::uint64_t param = index_bytes(rows_[kParam]);
  const std::uint64_t type = coded(2, {kTypeDef, kTypeRef, kTypeSpec});
  const std::uint64_t scope = coded(2, {kModule, kModuleRef, kAssemblyRef, kTypeRef});
  const std::uint64_t member = coded(3, {kTypeDef, kTypeRef, kModuleRef, kMethodDef, kTypeSpec});
  parent_bytes_ = coded(2, {kField, kParam, kProperty});
  const std::array<std::uint64_t, kRead> row_bytes{
      2 + string_bytes_ + 3 * heap(1),                       // kModule
      scope + 2 * string_bytes_,                             // kTypeRef
      4 + 2 * string_bytes_ + type + field_bytes_ + method,  // kTypeDef
      field_bytes_,                                          // kFieldPtr
      2 + string_bytes_ + blob_bytes_,                       // kField
      method,                                                // kMethodPtr
      8 + string_bytes_ + blob_bytes_ + param,               // kMethodDef
      param,                                                 // kParamPtr
      4 + string_bytes_,                                     // kParam
      index_bytes(rows_[kTypeDef]) + type,                   // kInterfaceImpl
      member + string_bytes_ + blob_bytes_,                  // kMemberRef
      2 + parent_bytes_ + blob_bytes_,                       // kConstant
  };
  std::uint64_t at = *first;
  for (std::size_t i = 0; i < kRead; ++i) {
    tables_[i] = {at, row_bytes[i]};
    at += rows_[i] * row_bytes[i];
    if (at - tables.at > tables.bytes) return false;
  }
  return true;
}

// `row` counts from 1.
std::optional<std::uint64_t> Metadata::cell(Table table,
                                            std::uint64_t row,
                                            std::uint64_t offset,
                                            std::uint64_t bytes) const {
  if (row == 0 || row > rows_[table]) return std::nullopt;
  return number(tables_[table].at + (row - 1) * tables_[table].row_bytes + offset, bytes);
}

std::string Metadata::text(std::uint64_t offset) const {
  std::string found;
  for (; offset < strings_.bytes && found.size() < kMostNameBytes; ++offset) {
    const auto letter = number(strings_.at + offset, 1);
    if (!letter) return {};
    if (*letter != 0) {
      found += static_cast<char>(*letter);
      continue;
    }
    for (std::string_view rest = found; !rest.empty();) {
      const Utf8Step step = next_utf8(rest);
      if (!step.is_valid || is_unsafe_to_show(step.code)) return {};
      rest.remove_prefix(step.bytes);
    }
    return found;
  }
  return {};
}

// The table of constants is sorted by their owners.
std::optional<Metadata::Constant> Metadata::constant_of(std::uint64_t field) const {
  const std::uint64_t wanted = field << 2 | kFieldTag;
  std::uint64_t first = 1;
  std::uint64_t last = rows_[kConstant] + 1;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    const auto parent = cell(kConstant, middle, 2, parent_bytes_);
    if (!parent) return std::nullopt;
    if (*parent < wanted) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (cell(kConstant, first, 2, parent_bytes_) != wanted) return std::nullopt;
  const auto type = cell(kConstant, first, 0, 1);
  const auto blob = cell(kConstant, first, 2 + parent_bytes_, blob_bytes_);
  if (!type || !blob) return std::nullopt;
  return Constant{static_cast<std::uint8_t>(*type), *blob};
}

// A blob starts with its length, which is one byte if it is below 128.
std::optional<std::int64_t> Metadata::value_of(const Constant& constant) const {
  const auto* const type =
      std::find_if(kConstantTypes.begin(), kConstantTypes.end(),
                   [&](const ConstantType& one) { return one.type == constant.type; });
  if (type == kConstantTypes.end() || constant.blob + 1 + type->bytes > blobs_.bytes ||
      number(blobs_.at + constant.blob, 1) != type->bytes) {
    return std::nullopt;
  }
  const auto raw = number(blobs_.at + constant.blob + 1, type->bytes);
  if (!raw) return std::nullopt;
  const unsigned unused = 64U - 8U * type->bytes;
  return type->is_signed ? std::bit_cast<std::int64_t>(*raw << unused) >> unused
                         : std::bit_cast<std::int64_t>(*raw);
}

// Nothing if the field has no constant, or no name.
std::optional<runtimes::Shape::Named> Metadata::named_value(std::uint64_t field) const {
  const auto name = cell(kField, field, 2, string_bytes_);
  const auto constant = constant_of(field);
  const auto value = constant ? value_of(*constant) : std::nullopt;
  if (!name || !value) return std::nullopt;
  runtimes::Shape::Named named{*value, text(*name)};
  return named.name.empty() ? std::nullopt : std::optional(std::move(named));
}

std::vector<runtimes::Shape::Named> Metadata::values_of(std::uint32_t token) const {
  std::vector<runtimes::Shape::Named> values;
  const std::uint64_t type = token & (kMostRows - 1);
  if (token >> 24 != kTokenOfTypeDef) return values;
  const std::uint64_t fields_at =
      tables_[kTypeDef].row_bytes - field_bytes_ - index_bytes(rows_[kMethodDef]);
  const auto first = cell(kTypeDef, type, fields_at, field_bytes_);
  const auto end = type == rows_[kTypeDef] ? std::optional(rows_[kField] + 1)
                                           : cell(kTypeDef, type + 1, fields_at, field_bytes_);
  if (!first || !end || *first == 0 || *end < *first || *end - *first > kMostValues) return values;
  for (std::uint64_t field = *first; field < *end; ++field) {
    const auto attributes = cell(kField, field, 0, 2);
    if (!attributes) return {};
    if ((*attributes & kLiteral) == 0) continue;
    auto named = named_value(field);
    if (!named) return {};
    values.push_back(*std::move(named));
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const auto& a, const auto& b) { return a.value < b.value; });
  return values;
}

}  // namespace heapattach::mono
