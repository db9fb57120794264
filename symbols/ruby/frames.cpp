#include "symbols/ruby/frames.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace heapattach::ruby {

namespace {

// How many frames are read at each end of a very deep stack.
constexpr std::size_t kInnermost = 900;
constexpr std::size_t kOutermost = 100;
constexpr std::uint64_t kMostStackWords = std::uint64_t{1} << 25;
constexpr std::uint32_t kMostInstructions = 1U << 28;

// Flags in the first word of a frame's environment. The frame's method is two words before.
constexpr std::uint64_t kFrameKind = 0x7fff0001;
constexpr std::uint64_t kMethod = 0x11110001;
constexpr std::uint64_t kNative = 0x55550001;
constexpr std::uint64_t kMethodBefore = 16;

constexpr unsigned kImemoMethod = 6;
constexpr unsigned kImemoCode = 7;

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}
std::uint32_t half_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t half = 0;
  std::memcpy(&half, bytes.data() + at, sizeof half);
  return half;
}

}  // namespace

FiberStack FrameReader::read(std::uint64_t context) {
  const auto& at = machine_.layout->context;
  const auto& form = machine_.layout->frame;
  FiberStack stack;
  stack.is_whole = false;
  const auto begin = values_.word(context + at.stack);
  const auto words = values_.word(context + at.stack_words);
  const auto first = values_.word(context + at.frame);
  if (!begin || !words || !first) return stack;
  if (*begin == 0) {  // it has not begun, or has ended
    stack.is_whole = true;
    return stack;
  }
  if (*words > kMostStackWords || !is_reference(*begin)) return stack;
  // The outermost two frames are placeholders.
  const std::uint64_t end = *begin + *words * 8 - std::uint64_t{form.bytes};
  if (*first < *begin || *first > end || (end - *first) % form.bytes != 0) return stack;
  std::vector<std::byte> bytes(end - *first);
  if (!values_.memory().read(RemoteAddr{*first}, bytes)) return stack;
  stack.is_whole = true;
  const std::size_t count = bytes.size() / form.bytes;
  std::size_t called = 0;  // C functions whose caller's line is not known yet
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kInnermost + kOutermost && i == kInnermost) {
      stack.left_out = count - kInnermost - kOutermost;
      stack.left_out_after = stack.frames.size();
      i += stack.left_out;
      called = 0;
    }
    const auto here = std::span(bytes).subspan(i * form.bytes, form.bytes);
    auto frame = frame_of({word_at(here, form.pc), word_at(here, form.iseq),
                           word_at(here, form.self), word_at(here, form.environment)});
    if (!frame) continue;
    if (frame->is_native) {
      ++called;
    } else {
      for (; called > 0; --called) {
        Frame& native = stack.frames[stack.frames.size() - called];
        native.file = frame->file;
        native.line = frame->line;
      }
    }
    stack.frames.push_back(std::move(*frame));
  }
  return stack;
}

// Returns nothing for a frame that Ruby does not print either.
std::optional<Frame> FrameReader::frame_of(const Raw& raw) {
  Frame frame;
  frame.self = raw.self;
  if (raw.iseq != 0) {
    if (raw.pc == 0) return std::nullopt;
    const auto& code = code_of(raw.iseq);
    if (!code) return frame;
    frame.function = code->function;
    frame.file = code->file;
    const auto [line, is_new] = lines_.try_emplace({raw.iseq, raw.pc});
    if (is_new) line->second = line_of(*code, raw.pc);
    frame.line = line->second;
    if (!frame.is_internal()) return frame;
    // Since 4.0 Ruby prints its own code at the line that calls it, as it does functions in C.
    frame.is_native = machine_.layout->values.has_fields;
    const auto kind = values_.word(raw.environment);
    const bool is_method = kind && (*kind & kFrameKind) == kMethod;
    const auto entry = is_method ? values_.word(raw.environment - kMethodBefore) : std::nullopt;
    if (entry) frame.owner = method_of(*entry).owner;
    return frame;
  }
  const auto flags = values_.word(raw.environment);
  if (!flags || (*flags & kFrameKind) != kNative) return std::nullopt;
  frame.is_native = true;
  if (const auto entry = values_.word(raw.environment - kMethodBefore)) {
    const Method& method = method_of(*entry);
    frame.function = method.function;
    frame.owner = method.owner;
  }
  return frame;
}

const std::optional<FrameReader::Code>& FrameReader::code_of(std::uint64_t iseq) {
  const auto [at, is_new] = codes_.try_emplace(iseq);
  if (is_new) at->second = read_code(iseq);
  return at->second;
}

std::optional<FrameReader::Code> FrameReader::read_code(std::uint64_t iseq) const {
  const auto& form = machine_.layout->code;
  const auto slot = values_.slot(iseq);
  if (!slot || slot->kind() != Kind::Imemo || !is_reference(slot->words[2])) return std::nullopt;
  std::vector<std::byte> body(form.bytes);
  if (!values_.memory().read(RemoteAddr{slot->words[2]}, body)) return std::nullopt;
  Code code;
  // A path is a String, or an Array with the path as given and the real path.
  const Value path = word_at(body, form.path);
  const auto given = values_.element(path, 0);
  const auto file = values_.text(given.value_or(path));
  const auto function = label_of(slot->words[2]);
  if (!file || !function) return std::nullopt;
  code.file = *file;
  code.function = *function;
  code.instructions = half_at(body, form.size);
  code.begin = word_at(body, form.code);
  code.first_line = form.first_line_is_value
                        ? static_cast<std::uint32_t>(word_at(body, form.first_line) >> 1)
                        : half_at(body, form.first_line);
  code.lines = word_at(body, form.lines);
  code.line_count = half_at(body, form.line_count);
  code.line_index = word_at(body, form.line_index);
  if (code.instructions > kMostInstructions) return std::nullopt;
  return code;
}

// The name of code. Since 3.4, the code of an eval, a rescue or an ensure has the name of the code
// around it, which is one of the words after the tables of lines and locals.
std::optional<std::string> FrameReader::label_of(std::uint64_t body) const {
  constexpr int kMostParents = 8;
  constexpr std::uint32_t kFirstKind = 4;  // ISEQ_TYPE_RESCUE, ENSURE, EVAL
  constexpr std::uint32_t kLastKind = 6;
  const auto& form = machine_.layout->code;
  for (int i = 0; i < kMostParents; ++i) {
    const auto kind = values_.as<std::uint32_t>(body);
    const bool has_own =
        !form.has_label_of_parent || !kind || *kind < kFirstKind || *kind > kLastKind;
    const auto parent = has_own ? std::nullopt : parent_of(body);
    if (!parent) break;
    body = *parent;
  }
  return values_.text(values_.word(body + form.label).value_or(0));
}

std::optional<std::uint64_t> FrameReader::parent_of(std::uint64_t body) const {
  const std::uint64_t begin = body + machine_.layout->code.line_index + 16;
  for (std::uint64_t at = begin; at < begin + 40; at += 8) {
    const auto slot = values_.slot(values_.word(at).value_or(0));
    const bool is_code = slot && slot->kind() == Kind::Imemo &&
                         (slot->flags() >> 12 & 0xf) == kImemoCode && slot->words[2] != body;
    if (is_code && is_reference(slot->words[2])) return slot->words[2];
  }
  return std::nullopt;
}

std::uint32_t FrameReader::line_of(const Code& code, std::uint64_t pc) const {
  if (pc < code.begin || (pc - code.begin) % 8 != 0) return 0;
  std::uint64_t position = (pc - code.begin) / 8;
  if (position > code.instructions) return 0;
  if (position > 0) --position;  // pc refers to the next instruction
  if (code.line_count == 0) return code.first_line;
  std::uint32_t rank = 1;
  if (code.line_count > 1) {
    const auto found = rank_of(static_cast<std::uint32_t>(position), [&](std::uint64_t index) {
      return values_.word(code.line_index + index * 8);
    });
    if (!found || *found == 0 || *found > code.line_count) return 0;
    rank = *found;
  }
  const auto line =
      values_.as<std::uint32_t>(code.lines + std::uint64_t{rank - 1} * machine_.layout->line_bytes);
  return line.value_or(0);
}

const FrameReader::Method& FrameReader::method_of(std::uint64_t entry) {
  const auto [at, is_new] = methods_.try_emplace(entry);
  Method& method = at->second;
  if (!is_new) return method;
  const auto& form = machine_.layout->method;
  const auto slot = values_.slot(entry);
  if (!slot || slot->kind() != Kind::Imemo || (slot->flags() >> 12 & 0xf) != kImemoMethod) {
    return method;
  }
  const auto definition = values_.word(entry + form.definition);
  const auto owner = values_.word(entry + form.owner);
  if (!definition || !owner || !is_reference(*definition)) return method;
  const auto id = values_.word(*definition + form.original_id);
  if (id) method.function = names_.name(*id).value_or("");
  method.owner = names_.owner_name(*owner).value_or("");
  return method;
}

}  // namespace heapattach::ruby
