#include "report/collect/join_values.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "report/collect/join.h"
#include "report/typing/block_ranges.h"
#include "report/typing/value_plan.h"
#include "symbols/text/utf8.h"

namespace heapattach::snapshot {

namespace {

// The lengths of the texts in std::string buffers. A buffer does not contain the length, and the
// text may contain a NUL, but the word after the pointer to the buffer is the length. It is used
// only if a text of that length ends in a NUL. If the std::string is not in an object, but in a
// global or on a stack, the length of its buffer is unknown here.
class TextLengths {
 public:
  // `snapshot` must have its objects and types.
  TextLengths(const JoinSources& from, const Snapshot& snapshot);

  // The length of the text in the object with this number.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t number) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> lengths_;  // by number, longest last
};

using Length = std::pair<std::uint64_t, std::uint64_t>;

std::vector<bool> rows_of_buffers(const Snapshot& snapshot) {
  std::vector<bool> are_buffers;
  are_buffers.reserve(snapshot.types.size());
  for (const Type& type : snapshot.types) are_buffers.push_back(type.holder == "std::string");
  return are_buffers;
}

// Learns the lengths of the buffers to whose beginnings an object's words point.
template <class IsBuffer>
void look_at(const heap::Heap& heap,
             heap::ObjectRef ref,
             const IsBuffer& is_buffer,
             std::vector<Length>& lengths) {
  heap.for_each_edge(ref, [&](std::uint64_t offset_words, heap::ObjectRef to) {
    if (heap.word_at(ref, offset_words * 8) != heap.address(to).value || !is_buffer(to)) return;
    const auto length = heap.word_at(ref, offset_words * 8 + 8);
    const auto text = heap.contents(to);
    if (!length || *length >= text.size() || text[*length] != std::byte{0}) return;
    lengths.emplace_back(heap.number(to), *length);
  });
}

TextLengths::TextLengths(const JoinSources& from, const Snapshot& snapshot) {
  const std::vector<bool> are_buffers = rows_of_buffers(snapshot);
  if (std::find(are_buffers.begin(), are_buffers.end(), true) == are_buffers.end()) return;
  const heap::Heap& heap = from.heap;
  const auto is_buffer = [&](heap::ObjectRef ref) {
    const auto index = from.order.index_of(ref);
    return index && are_buffers[snapshot.objects[*index].type];
  };
  std::vector<std::vector<Length>> pieces(heap.blocks().size() / kBlocksAtATime + 1);
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    std::vector<Length>& lengths = pieces[first / kBlocksAtATime];
    heap::for_each_object(heap, from.order.listed(), first, last,
                          [&](heap::ObjectRef ref) { look_at(heap, ref, is_buffer, lengths); });
  });
  for (const std::vector<Length>& piece : pieces) {
    lengths_.insert(lengths_.end(), piece.begin(), piece.end());
  }
  std::sort(lengths_.begin(), lengths_.end());
}

std::optional<std::uint64_t> TextLengths::of(std::uint64_t number) const {
  const auto behind = std::partition_point(lengths_.begin(), lengths_.end(),
                                           [&](const Length& one) { return one.first <= number; });
  if (behind == lengths_.begin() || (behind - 1)->first != number) return std::nullopt;
  return (behind - 1)->second;
}

constexpr std::size_t kCrystalText = 12;  // the offset of the text in a String
constexpr std::size_t kNimText = 16;      // the offset of the text in Nim's string

std::string_view text_of(std::span<const std::byte> bytes) {
  // Bytes of any type may be accessed as characters.
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

template <class Number>
Number load(std::span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Reads the values of one object after another into a piece.
class Reader {
 public:
  Reader(const JoinSources& from, const TextLengths& lengths, std::size_t limit, ValuePiece& piece)
      : from_(from), lengths_(lengths), limit_(limit), piece_(piece) {}

  void read(heap::ObjectRef ref, const ValuePlan& plan) {
    const auto contents = from_.heap.contents(ref);
    switch (plan.whole) {
      case ValuePlan::Whole::CrystalString: read_crystal(contents); return;
      case ValuePlan::Whole::Text: read_text(ref, contents); return;
      case ValuePlan::Whole::NimString: read_nim(contents); return;
      case ValuePlan::Whole::Utf16: read_utf16(contents, plan); return;
      case ValuePlan::Whole::Nothing: break;
    }
    for (std::uint32_t i = 0; i < plan.fields.size(); ++i) {
      const std::uint32_t path = plan.is_one_number ? Value::kOwn : i;
      const ValuePlan::Field& field = plan.fields[i];
      if (field.kind) {
        if (auto number = read_number(contents, field)) {
          add(number->text, path, number->is_text, number->text.size());
        }
      } else if (field.type == types::kNoType) {
        read_std_string(contents, field.offset, path);
      } else if (auto number = read_scalar(from_.rows.model()[field.type], contents, field)) {
        add(number->text, path, number->is_text, number->text.size());
      }
    }
  }

 private:
  // `bytes` is the length of the text; `text` is the known part of it.
  void add(std::string_view text, std::uint32_t path, bool is_text, std::uint64_t bytes) {
    const std::string_view shown = is_text ? cut_utf8(text, limit_) : text;
    Value value;
    value.at = piece_.text.size();
    value.bytes = static_cast<std::uint32_t>(shown.size());
    value.path = path;
    value.is_text = is_text;
    value.is_cut = shown.size() < bytes;
    piece_.text += shown;
    piece_.values.push_back(value);
  }

  void read_crystal(std::span<const std::byte> contents) {
    if (contents.size() < kCrystalText) return;
    const std::uint64_t bytes = load<std::uint32_t>(contents, 4);
    add(text_of(contents.subspan(kCrystalText)).substr(0, bytes), Value::kOwn, true, bytes);
  }

  void read_nim(std::span<const std::byte> contents) {
    if (contents.size() < kNimText) return;
    const auto bytes = load<std::uint64_t>(contents, 0);
    add(text_of(contents.subspan(kNimText)).substr(0, bytes), Value::kOwn, true, bytes);
  }

  // Reads a text in UTF-16, as far as it can be shown. A lone surrogate becomes a replacement
  // character.
  void read_utf16(std::span<const std::byte> contents, const ValuePlan& plan) {
    if (contents.size() < plan.text_at || contents.size() - plan.length_at < 4) return;
    const std::uint64_t units = load<std::uint32_t>(contents, plan.length_at);
    const std::uint64_t known = std::min(units, (contents.size() - plan.text_at) / 2);
    const auto unit = [&](std::uint64_t i) -> std::uint32_t {
      return i < known ? load<std::uint16_t>(contents, plan.text_at + i * 2) : 0;
    };
    std::string text;
    std::uint64_t i = 0;
    for (; i < known && text.size() <= limit_; ++i) {
      std::uint32_t code = unit(i);
      const std::uint32_t next = unit(i + 1);
      if (code >> 10 == 0x36 && next >> 10 == 0x37) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (next & 0x3ff);
        ++i;
      } else if (code >> 11 == 0x1b) {
        code = 0xfffd;
      }
      append_utf8(text, code);
    }
    add(text, Value::kOwn, true, text.size() + (units - std::min(i, units)));
  }

  void read_text(heap::ObjectRef ref, std::span<const std::byte> contents) {
    const std::string_view all = text_of(contents);
    if (const auto length = lengths_.of(from_.heap.number(ref))) {
      add(all.substr(0, *length), Value::kOwn, true, *length);
      return;
    }
    const std::size_t end = all.find('\0');
    const bool is_ended = end != std::string_view::npos;
    const std::uint64_t bytes = is_ended ? end : from_.heap.blocks()[ref.block].object_bytes;
    add(all.substr(0, end), Value::kOwn, true, bytes);
  }

  // Reads a std::string, which has a pointer to the text, its length, and room for a short text.
  void read_std_string(std::span<const std::byte> contents, std::uint64_t at, std::uint32_t path) {
    if (contents.size() < 16 || at > contents.size() - 16) return;
    const auto start = load<std::uint64_t>(contents, at);
    const auto bytes = load<std::uint64_t>(contents, at + 8);
    const auto to = from_.heap.resolve(start, heap::Heap::From::Stack);
    if (!to) return;
    const auto text = from_.heap.contents(*to);
    const std::uint64_t inside = start - from_.heap.address(*to).value;
    if (inside > text.size()) return;
    add(text_of(text.subspan(inside)).substr(0, bytes), path, true, bytes);
  }

  const JoinSources& from_;
  const TextLengths& lengths_;
  std::size_t limit_;
  ValuePiece& piece_;
};

void mark_unread(const std::vector<Type::Field>& unread, std::vector<Type::Field>& fields) {
  for (const Type::Field& one : unread) {
    auto field = std::find_if(fields.begin(), fields.end(), [&](const Type::Field& known) {
      return known.name == one.name && known.offset == one.offset;
    });
    if (field == fields.end()) field = fields.insert(fields.end(), one);
    field->is_unread = true;
  }
}

std::vector<ValuePlan> plans_of(const TypeRows& rows, bool texts_only, std::vector<Type>& types) {
  std::vector<ValuePlan> plans(types.size());
  for (TypeIndex row = 0; row < types.size(); ++row) {
    if (types[row].name.empty()) continue;
    plans[row] = plan_values(rows, row);
    if (texts_only) plans[row].fields.clear();
    for (const ValuePlan::Field& field : plans[row].fields) {
      types[row].value_paths.push_back(field.path);
    }
    if (!texts_only) mark_unread(plans[row].unread, types[row].fields);
  }
  return plans;
}

void join_planned(const JoinSources& from,
                  const std::vector<ValuePlan>& plans,
                  std::size_t limit,
                  Snapshot& snapshot) {
  const heap::Heap& heap = from.heap;
  const std::size_t pieces = (heap.blocks().size() + kBlocksAtATime - 1) / kBlocksAtATime;
  snapshot.values.resize(pieces);
  const TextLengths lengths(from, snapshot);
  for_block_ranges(heap, [&](std::uint32_t first, std::uint32_t last) {
    ValuePiece piece;
    auto index = static_cast<ObjectIndex>(from.order.rank(heap.number({first, 0})));
    piece.first_object = index;
    piece.first_value.push_back(0);
    Reader reader(from, lengths, limit, piece);
    heap::for_each_object(heap, from.order.listed(), first, last, [&](heap::ObjectRef ref) {
      reader.read(ref, plans[snapshot.objects[index++].type]);
      piece.first_value.push_back(static_cast<std::uint32_t>(piece.values.size()));
    });
    snapshot.values[first / kBlocksAtATime] = std::move(piece);
  });
}

}  // namespace

void join_values(const JoinSources& from, std::size_t limit, Snapshot& snapshot) {
  join_planned(from, plans_of(from.rows, false, snapshot.types), std::min(limit, kMostValueBytes),
               snapshot);
}

void join_texts(const JoinSources& from, std::size_t limit, Snapshot& snapshot) {
  join_planned(from, plans_of(from.rows, true, snapshot.types), limit, snapshot);
}

}  // namespace heapattach::snapshot
