#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/trace/trace.h"

namespace heapattach::trace {

// The parts of a frame that are shown.
enum class FrameText : std::uint8_t {
  None,     // no frames at all
  Address,  // 0x55d0c0de1a2b
  Name,     // Shop#login
  Full,     // Shop#login (shop.cr:12)
};

struct FrameChoice {
  FrameText text = FrameText::Full;
  bool with_all = false;  // include frames in the runtime and the collector
  std::size_t depth = 0;  // only this many innermost frames; 0: all
};

// The text of a frame. For an unknown function, the file of its code or its address.
[[nodiscard]] std::string frame_text(const Frame& frame, FrameText text);

// The frames of a stack that are shown, innermost first.
[[nodiscard]] std::vector<std::uint32_t> shown_frames(const Trace& trace,
                                                      const Stack& stack,
                                                      const FrameChoice& choice);
// Whether the shown stack ends only because recording cut off its outer frames.
[[nodiscard]] bool shows_truncation(const Stack& stack,
                                    std::size_t shown,
                                    const FrameChoice& choice);

// The stacks of a trace as shown in reports. Frames in the runtime and the collector are hidden
// unless there are no others, because users ask which of their own code allocates. Stacks that then
// look the same become one path.
class Places {
 public:
  using Label = std::uint32_t;
  using Path = std::uint32_t;

  Places(const Trace& trace, const FrameChoice& choice);

  // The path of a stack, or of kNone.
  Path path_of(std::uint32_t stack);

  // Its frames, innermost first; a truncated stack ends in kTruncated.
  [[nodiscard]] const std::vector<Label>& labels_of(Path path) const { return *paths_[path]; }
  [[nodiscard]] const std::string& text_of(Label label) const { return texts_[label]; }
  [[nodiscard]] std::size_t labels() const { return texts_.size(); }
  // A frame with that label; null if the label is not a frame's.
  [[nodiscard]] const Frame* frame_of(Label label) const;

  static constexpr std::string_view kTruncated = "(truncated)";
  static constexpr std::string_view kUnknown = "(unknown)";

 private:
  Label label_of(std::uint32_t frame);
  Label intern(std::string text, std::uint32_t frame);
  std::vector<Label> make_path(std::uint32_t stack);

  const Trace& trace_;
  FrameChoice choice_;
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> frames_;  // by label; kNone: of none
  std::unordered_map<std::string, Label> labels_;
  std::vector<Label> label_of_frame_;  // kNone: not yet known
  std::map<std::vector<Label>, Path> numbers_;
  std::vector<const std::vector<Label>*> paths_;  // keys of numbers_
  std::vector<Path> path_of_stack_;               // kNone: not yet known
};

}  // namespace heapattach::trace
