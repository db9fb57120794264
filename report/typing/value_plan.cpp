#include "report/typing/value_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "report/typing/cxx_containers.h"
#include "symbols/vlang/types.h"

namespace heapattach::snapshot {

namespace {

using types::Encoding;
using types::Shape;

constexpr std::size_t kMostFields = 16;  // of one object: more would not be read
constexpr std::string_view kStringData = "._M_dataplus._M_p";

bool is_scalar(const types::Type& type) {
  return type.shape == Shape::Number || type.shape == Shape::Enumeration;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

std::int64_t signed_of(std::uint64_t raw, unsigned bits) {
  if (bits >= 64) return std::bit_cast<std::int64_t>(raw);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return std::bit_cast<std::int64_t>((raw ^ sign) - sign);
}

std::optional<Scalar> float_of(std::uint64_t raw, std::size_t bytes) {
  double value = 0;
  if (bytes == 4) {
    value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(raw)));
  } else if (bytes == 8) {
    value = std::bit_cast<double>(raw);
  } else {
    return std::nullopt;
  }
  return Scalar{fmt::format("{}", value), !std::isfinite(value)};  // JSON has no infinity
}

bool is_signed(const types::Type& type) {
  const bool has_negative = std::any_of(type.enumerators.begin(), type.enumerators.end(),
                                        [](const types::Enumerator& one) { return one.value < 0; });
  return type.encoding == Encoding::Signed || has_negative;
}

std::optional<Scalar> scalar_of(const types::Type& type, std::uint64_t raw, unsigned bits) {
  const std::int64_t number =
      is_signed(type) ? signed_of(raw, bits) : std::bit_cast<std::int64_t>(raw);
  for (const types::Enumerator& one : type.enumerators) {
    if (one.value == number) return Scalar{one.name, true};
  }
  switch (type.encoding) {
    case Encoding::Float: return float_of(raw, bits / 8);
    case Encoding::Boolean: return Scalar{raw != 0 ? "true" : "false", false};
    case Encoding::Character: {
      if (bits != 32 || raw > 0x10ffff) break;  // C's are mostly small numbers
      Scalar letter{{}, true};
      append_utf8(letter.text, static_cast<std::uint32_t>(raw));
      return letter;
    }
    case Encoding::Signed: return Scalar{fmt::format("{}", number), false};
    default: break;
  }
  return Scalar{is_signed(type) ? fmt::format("{}", number) : fmt::format("{}", raw), false};
}

// A std::string in place is one value; its parts are not.
bool add_string(const Leaf& leaf, std::vector<ValuePlan::Field>& fields) {
  if (!std::string_view(leaf.path).ends_with(kStringData)) return false;
  ValuePlan::Field field;
  field.offset = leaf.offset;
  field.path = leaf.path.substr(0, leaf.path.size() - kStringData.size());
  fields.push_back(std::move(field));
  return true;
}

Type::Field unread_field(const TypeRows& rows, const Leaf& leaf) {
  return {leaf.path, rows.shown(leaf.type), leaf.offset, leaf.bytes};
}

void add_fields(const TypeRows& rows, TypeIndex row, ValuePlan& plan) {
  const PointerMap map = flatten(rows.model(), rows.type_of(row));
  bool has_others = !map.words.empty();
  for (const Leaf& leaf : map.leaves) {
    if (plan.fields.size() >= kMostFields) {
      plan.unread.push_back(unread_field(rows, leaf));
      continue;
    }
    if (add_string(leaf, plan.fields)) continue;
    const bool is_of_string = !plan.fields.empty() && plan.fields.back().type == types::kNoType &&
                              leaf.path.starts_with(plan.fields.back().path + "._M_");
    if (is_of_string || leaf.path.find("_vptr") != std::string::npos) continue;
    if (!is_scalar(rows.model()[leaf.type]) || leaf.bytes > sizeof(std::uint64_t)) {
      has_others = true;
      plan.unread.push_back(unread_field(rows, leaf));
      continue;
    }
    const bool is_repeated =
        std::any_of(plan.fields.begin(), plan.fields.end(),
                    [&](const ValuePlan::Field& field) { return field.path == leaf.path; });
    if (is_repeated) continue;
    plan.fields.push_back(
        {leaf.offset, leaf.bytes, leaf.type, leaf.bit_count, leaf.bit_offset, leaf.path});
  }
  plan.is_one_number = plan.fields.size() == 1 && !has_others;
  for (const PointerWord& word : map.words) {
    if (word.kind != WordKind::Conservative || !word.is_named || word.path.empty()) continue;
    plan.unread.push_back({word.path, {}, word.offset, sizeof(std::uint64_t)});
  }
}

void add_numbers(const runtimes::Shape& shape, ValuePlan& plan) {
  for (const runtimes::Shape::Number& number : shape.numbers) {
    const bool is_read = number.kind != runtimes::Shape::Number::Kind::Unread;
    if (!is_read || plan.fields.size() >= kMostFields) {
      plan.unread.push_back({number.name, number.type, number.offset, number.bytes});
      continue;
    }
    ValuePlan::Field field;
    field.offset = number.offset;
    field.bytes = number.bytes;
    field.kind = number.kind;
    field.names = number.names;
    field.path = number.name;
    plan.fields.push_back(std::move(field));
  }
  plan.is_one_number =
      plan.fields.size() == 1 && plan.unread.empty() && shape.words.size() <= shape.numbers.size();
  if (shape.has_only_references) return;
  for (const auto& word : shape.words) {
    plan.unread.push_back({word.name, word.type, word.offset, sizeof(std::uint64_t)});
  }
}

std::uint32_t limb(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// A sign and a scale, and then 96 bits, the highest 32 of them first.
std::optional<Scalar> decimal_of(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kNegative = 1U << 31U;
  constexpr std::uint32_t kMostDigits = 28;
  const std::uint32_t flags = limb(bytes, 0);
  const std::uint32_t scale = flags >> 16 & 0xff;
  if (scale > kMostDigits || (flags & ~(kNegative | 0xff0000U)) != 0) return std::nullopt;
  std::array<std::uint32_t, 3> limbs = {limb(bytes, 4), limb(bytes, 12), limb(bytes, 8)};
  std::string digits;  // the lowest first
  while (digits.size() <= scale || limbs != std::array<std::uint32_t, 3>{}) {
    if (digits.size() == scale && scale != 0) digits += '.';
    std::uint64_t rest = 0;
    for (std::uint32_t& one : limbs) {
      const std::uint64_t value = rest << 32 | one;
      one = static_cast<std::uint32_t>(value / 10);
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  if ((flags & kNegative) != 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return Scalar{std::move(digits), false};
}

// An enumeration's values are texts, so that one without a name is not compared with a number, and
// the others not at all. The names are in the order of their values.
std::string name_or(std::string digits, std::uint64_t value, const ValuePlan::Field& field) {
  const auto wanted = std::bit_cast<std::int64_t>(value);
  const auto named = std::lower_bound(
      field.names.begin(), field.names.end(), wanted,
      [](const runtimes::Shape::Named& one, std::int64_t number) { return one.value < number; });
  return named != field.names.end() && named->value == wanted ? named->name : digits;
}

}  // namespace

ValuePlan plan_values(const TypeRows& rows, TypeIndex row) {
  ValuePlan plan;
  const Type& type = rows.types()[row];
  const runtimes::Shape* const shape = rows.shape_of(row);
  if (shape != nullptr && shape->text_at != 0) {
    plan.whole = ValuePlan::Whole::Utf16;
    plan.length_at = shape->length_at;
    plan.text_at = shape->text_at;
  } else if (shape != nullptr) {
    add_numbers(*shape, plan);
  } else if (rows.naming().is_string(row)) {
    plan.whole = ValuePlan::Whole::CrystalString;
  } else if (rows.is_nim_text(row)) {
    plan.whole = ValuePlan::Whole::NimString;
  } else if (type.name == "char[]" || type.holder == "std::string" || type.name == vlang::kText) {
    plan.whole = ValuePlan::Whole::Text;
  } else if (rows.type_of(row) != types::kNoType && type.elements.bytes == 0) {
    add_fields(rows, row, plan);
  } else {
    plan.unread = type.fields;
  }
  return plan;
}

std::optional<Scalar> read_number(std::span<const std::byte> bytes, const ValuePlan::Field& field) {
  using Kind = runtimes::Shape::Number::Kind;
  if (!field.kind || bytes.size() < field.offset || bytes.size() - field.offset < field.bytes) {
    return std::nullopt;
  }
  const auto its = bytes.subspan(field.offset, field.bytes);
  if (*field.kind == Kind::Decimal && its.size() == 16) return decimal_of(its);
  std::uint64_t raw = 0;
  if (its.size() > sizeof raw) return std::nullopt;
  std::memcpy(&raw, its.data(), its.size());
  const auto bits = static_cast<unsigned>(its.size() * 8);
  const bool is_named = !field.names.empty();
  switch (*field.kind) {
    case Kind::Unsigned: return Scalar{name_or(fmt::format("{}", raw), raw, field), is_named};
    case Kind::Signed: {
      const std::int64_t number = signed_of(raw, bits);
      const auto same = std::bit_cast<std::uint64_t>(number);
      return Scalar{name_or(fmt::format("{}", number), same, field), is_named};
    }
    case Kind::Float: return float_of(raw, its.size());
    case Kind::Boolean: return Scalar{raw != 0 ? "true" : "false", false};
    case Kind::Character: {
      Scalar letter{{}, true};
      const bool is_half = raw >> 11 == 0x1b;  // of a pair of surrogates
      append_utf8(letter.text, is_half ? 0xfffd : static_cast<std::uint32_t>(raw));
      return letter;
    }
    default: return std::nullopt;
  }
}

std::optional<Scalar> read_scalar(const types::Type& type,
                                  std::span<const std::byte> bytes,
                                  const ValuePlan::Field& field) {
  std::uint64_t raw = 0;
  if (field.bytes == 0 || field.bytes > sizeof raw || bytes.size() < field.offset ||
      bytes.size() - field.offset < field.bytes) {
    return std::nullopt;
  }
  std::memcpy(&raw, bytes.data() + field.offset, field.bytes);
  auto bits = static_cast<unsigned>(field.bytes * 8);
  if (field.bit_count != 0) {
    if (field.bit_offset + field.bit_count > bits) return std::nullopt;
    raw >>= field.bit_offset;
    bits = field.bit_count;
    if (bits < 64) raw &= (std::uint64_t{1} << bits) - 1;
  }
  return scalar_of(type, raw, bits);
}

}  // namespace heapattach::snapshot
