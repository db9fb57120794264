#include "symbols/crystal/type_list_bytes.h"

#include <string>

#include "attach/base/plain_bytes.h"

namespace heapattach::crystal {

namespace {

constexpr std::size_t kLongestText = 1U << 20U;
constexpr std::uint64_t kLargest = 1U << 30U;  // of an instance

void write_fields(PlainWriter& out, const std::vector<Field>& fields) {
  out.list(fields, [&](const Field& field) {
    out.text(field.name);
    out.text(field.type);
    out.number(field.offset);
    out.number(field.bytes);
  });
}

void write_type(PlainWriter& out, const Type& type) {
  out.number(type.id);
  out.text(type.name);
  out.optional(type.instance_bytes);
  out.optional(type.is_atomic);
  write_fields(out, type.fields);
  write_fields(out, type.own_fields);
  out.flag(type.is_value);
  out.list(type.known_from, [&](KnownFrom source) { out.number(source); });
}

void read_fields(PlainReader& in, std::vector<Field>& fields) {
  in.list([&] {
    Field field;
    field.name = in.text(kLongestText);
    field.type = in.text(kLongestText);
    field.offset = in.number<std::uint64_t>();
    field.bytes = in.number<std::uint64_t>();
    in.fail_unless(field.offset <= kLargest && field.bytes <= kLargest);
    in.fail_unless(fields.empty() || fields.back().offset <= field.offset);
    fields.push_back(std::move(field));
  });
}

Type read_type(PlainReader& in) {
  Type type;
  type.id = in.number<std::uint32_t>();
  type.name = in.text(kLongestText);
  type.instance_bytes = in.optional<std::uint64_t>();
  in.fail_unless(type.instance_bytes.value_or(0) <= kLargest);
  if (const auto is_atomic = in.optional<std::uint8_t>()) type.is_atomic = *is_atomic != 0;
  read_fields(in, type.fields);
  read_fields(in, type.own_fields);
  type.is_value = in.flag();
  in.list([&] {
    const auto source = in.number<std::uint8_t>();
    in.fail_unless(source <= static_cast<std::uint8_t>(KnownFrom::AllocationSite));
    type.known_from.push_back(static_cast<KnownFrom>(source));
  });
  return type;
}

}  // namespace

std::vector<std::byte> to_bytes(const Result<std::vector<TypeList>>& lists) {
  PlainWriter out;
  out.flag(lists.has_value());
  if (!lists) {
    out.text(lists.error().message());
    return out.take();
  }
  out.list(*lists, [&](const TypeList& list) {
    out.list(list, [&](const Type& type) { write_type(out, type); });
  });
  return out.take();
}

Result<std::vector<TypeList>> type_lists_from_bytes(std::span<const std::byte> bytes) {
  PlainReader in(bytes);
  if (!in.flag() && in.is_good()) {
    return Error{ErrorKind::Malformed, std::string(in.text(kLongestText))};
  }
  std::vector<TypeList> lists;
  in.list([&] {
    TypeList& list = lists.emplace_back();
    in.list([&] { list.push_back(read_type(in)); });
  });
  if (in.is_good() && in.left() == 0 && !lists.empty()) return lists;
  return Error{ErrorKind::Malformed, "the result of its reader makes no sense"};
}

}  // namespace heapattach::crystal
