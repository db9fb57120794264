#include "symbols/types/model_bytes.h"

#include <cstring>
#include <string_view>

namespace heapattach::types {
namespace {

constexpr std::string_view kMagic = "types 1\n";
constexpr std::uint8_t kHasBytes = 1;
constexpr std::uint8_t kHasCount = 2;
constexpr std::uint8_t kIsReference = 4;
constexpr std::uint8_t kHasHeader = 8;

class Writer {
 public:
  template <class T>
  void number(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    raw(text);
  }
  void raw(std::string_view text) {
    const auto from = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), from.begin(), from.end());
  }
  template <class T, class Write>
  void list(const std::vector<T>& elements, const Write& write) {
    number(static_cast<std::uint32_t>(elements.size()));
    for (const T& element : elements) write(element);
  }
  void texts(const std::vector<std::string>& elements) {
    list(elements, [this](const std::string& element) { text(element); });
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

void write_type(Writer& out, const Type& type) {
  out.text(type.name);
  out.number(static_cast<std::uint8_t>(type.shape));
  out.number(static_cast<std::uint8_t>(type.encoding));
  const int flags = (type.bytes ? kHasBytes : 0) | (type.count ? kHasCount : 0) |
                    (type.is_reference ? kIsReference : 0) | (type.has_header ? kHasHeader : 0);
  out.number(static_cast<std::uint8_t>(flags));
  if (type.bytes) out.number(*type.bytes);
  out.number(type.target);
  if (type.count) out.number(*type.count);
  out.list(type.members, [&](const Member& member) {
    out.text(member.name);
    out.number(member.offset);
    out.number(member.type);
    out.number(static_cast<std::uint8_t>(member.is_base));
    out.number(member.bit_count);
    out.number(member.bit_offset);
  });
  out.list(type.virtual_bases, [&](const VirtualBase& base) {
    out.number(base.type);
    out.number(base.slot);
  });
  out.list(type.enumerators, [&](const Enumerator& enumerator) {
    out.text(enumerator.name);
    out.number(enumerator.value);
  });
}

// Reads until something does not fit. After that, every number is zero and every text is empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string_view raw(std::size_t size) {
    if (rest_.size() < size) {
      fail();
      return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  std::string_view text() { return raw(number<std::uint32_t>()); }
  // Reads the number of elements that follow. Fails if the bytes cannot contain so many.
  std::size_t count() {
    const auto count = number<std::uint32_t>();
    if (count > rest_.size()) fail();
    return is_good_ ? count : 0;
  }
  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] bool is_at_end() const { return is_good_ && rest_.empty(); }
  void fail() {
    is_good_ = false;
    rest_ = {};
  }

 private:
  std::span<const std::byte> rest_;
  bool is_good_ = true;
};

void read_inside(Reader& in, Type& type) {
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    Member member;
    member.name = in.text();
    member.offset = in.number<std::uint64_t>();
    member.type = in.number<TypeRef>();
    member.is_base = in.number<std::uint8_t>() != 0;
    member.bit_count = in.number<std::uint8_t>();
    member.bit_offset = in.number<std::uint8_t>();
    type.members.push_back(std::move(member));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    VirtualBase base;
    base.type = in.number<TypeRef>();
    base.slot = in.number<std::uint64_t>();
    type.virtual_bases.push_back(base);
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    Enumerator enumerator;
    enumerator.name = in.text();
    enumerator.value = in.number<std::int64_t>();
    type.enumerators.push_back(std::move(enumerator));
  }
}

void read_type(Reader& in, TypeModel& model) {
  const std::string_view name = in.text();
  const std::size_t before = model.types().size();
  const TypeRef at = model.intern(name);
  const auto shape = in.number<std::uint8_t>();
  const auto encoding = in.number<std::uint8_t>();
  const auto flags = in.number<std::uint8_t>();
  const bool makes_sense = at == before && shape <= static_cast<std::uint8_t>(Shape::Array) &&
                           encoding <= static_cast<std::uint8_t>(Encoding::Symbol);
  if (!makes_sense) return in.fail();  // each name is unique
  Type& type = model[at];
  type.shape = static_cast<Shape>(shape);
  type.encoding = static_cast<Encoding>(encoding);
  type.is_reference = (flags & kIsReference) != 0;
  type.has_header = (flags & kHasHeader) != 0;
  if ((flags & kHasBytes) != 0) type.bytes = in.number<std::uint64_t>();
  type.target = in.number<TypeRef>();
  if ((flags & kHasCount) != 0) type.count = in.number<std::uint64_t>();
  read_inside(in, type);
}

}  // namespace

std::vector<std::byte> to_bytes(const TypeModel& model) {
  Writer out;
  out.raw(kMagic);
  out.list(model.types(), [&](const Type& type) { write_type(out, type); });
  out.list(model.globals, [&](const Variable& variable) {
    out.text(variable.name);
    out.number(variable.type);
    out.number(variable.address.value);
  });
  out.texts(model.notes);
  out.texts(model.disagreements);
  return out.take();
}

Result<TypeModel> model_from_bytes(std::span<const std::byte> bytes) {
  Reader in(bytes);
  TypeModel model;
  if (in.raw(kMagic.size()) != kMagic) in.fail();
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) read_type(in, model);
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    Variable variable;
    variable.name = in.text();
    variable.type = in.number<TypeRef>();
    variable.address = RemoteAddr{in.number<std::uint64_t>()};
    model.globals.push_back(std::move(variable));
  }
  for (auto* texts : {&model.notes, &model.disagreements}) {
    for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
      texts->emplace_back(in.text());
    }
  }
  if (!in.is_at_end()) return Error{ErrorKind::Malformed, "these bytes are not a model of types"};
  return model;
}

}  // namespace heapattach::types
