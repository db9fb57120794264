#include "report/trace/places.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace heapattach::trace {

namespace {

bool is_folded(const Frame& frame) {
  return frame.whose == Whose::Runtime || frame.whose == Whose::Collector;
}

std::string function_text(const Frame& frame) {
  if (!frame.function.empty()) return frame.function;
  if (frame.object.empty() && frame.address == 0) return std::string(Places::kUnknown);
  if (frame.object.empty()) return fmt::format("{:#x}", frame.address);
  return fmt::format("({})", frame.object);
}

}  // namespace

std::string frame_text(const Frame& frame, FrameText text) {
  if (text == FrameText::None) return {};
  if (text == FrameText::Address && frame.address != 0) return fmt::format("{:#x}", frame.address);
  std::string name = function_text(frame);
  if (text != FrameText::Full || frame.file.empty()) return name;
  if (frame.line == 0) return fmt::format("{} ({})", name, frame.file);
  return fmt::format("{} ({}:{})", name, frame.file, frame.line);
}

std::vector<std::uint32_t> shown_frames(const Trace& trace,
                                        const Stack& stack,
                                        const FrameChoice& choice) {
  std::vector<std::uint32_t> shown;
  if (choice.text == FrameText::None) return shown;
  const auto is_shown = [&](std::uint32_t frame) { return !is_folded(trace.frames[frame]); };
  const bool shows_all =
      choice.with_all || std::none_of(stack.frames.begin(), stack.frames.end(), is_shown);
  for (const std::uint32_t frame : stack.frames) {
    if (choice.depth != 0 && shown.size() == choice.depth) break;
    if (shows_all || is_shown(frame)) shown.push_back(frame);
  }
  return shown;
}

bool shows_truncation(const Stack& stack, std::size_t shown, const FrameChoice& choice) {
  return stack.is_truncated && choice.text != FrameText::None &&
         (choice.depth == 0 || shown < choice.depth);
}

Places::Places(const Trace& trace, const FrameChoice& choice)
    : trace_(trace),
      choice_(choice),
      label_of_frame_(trace.frames.size(), kNone),
      path_of_stack_(trace.stacks.size(), kNone) {}

const Frame* Places::frame_of(Label label) const {
  return frames_[label] == kNone ? nullptr : &trace_.frames[frames_[label]];
}

Places::Label Places::intern(std::string text, std::uint32_t frame) {
  const auto [at, is_new] = labels_.try_emplace(std::move(text), static_cast<Label>(texts_.size()));
  if (is_new) {
    texts_.push_back(at->first);
    frames_.push_back(frame);
  }
  return at->second;
}

Places::Label Places::label_of(std::uint32_t frame) {
  Label& label = label_of_frame_[frame];
  if (label == kNone) label = intern(frame_text(trace_.frames[frame], choice_.text), frame);
  return label;
}

std::vector<Places::Label> Places::make_path(std::uint32_t stack) {
  std::vector<Label> path;
  if (choice_.text == FrameText::None) return path;
  if (stack == kNone) return {intern(std::string(kUnknown), kNone)};
  const Stack& found = trace_.stacks[stack];
  for (const std::uint32_t frame : shown_frames(trace_, found, choice_)) {
    path.push_back(label_of(frame));
  }
  if (shows_truncation(found, path.size(), choice_)) {
    path.push_back(intern(std::string(kTruncated), kNone));
  }
  if (path.empty()) path.push_back(intern(std::string(kUnknown), kNone));
  return path;
}

Places::Path Places::path_of(std::uint32_t stack) {
  const bool is_known = stack != kNone && path_of_stack_[stack] != kNone;
  if (is_known) return path_of_stack_[stack];
  const auto [at, is_new] =
      numbers_.try_emplace(make_path(stack), static_cast<Path>(paths_.size()));
  if (is_new) paths_.push_back(&at->first);
  if (stack != kNone) path_of_stack_[stack] = at->second;
  return at->second;
}

}  // namespace heapattach::trace
