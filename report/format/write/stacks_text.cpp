// The report of --stacks for people. The findings come first, so that they are on the first screen:
//
//   deadlock: fiber "transfer" in Ledger#transfer waits for Ledger@audit, which fiber "report" …
//   process 4711 /srv/app: 1 thread, 7 fibers, paused for 0.6 ms
//   remark: 6 of 7 fibers wait to send to …
//
//   thread 4711 app, sleeping in epoll_wait(4: watches 2 descriptors; no timeout), 0.12 s of
//   processor time
//     on it: fiber "main", which sleeps, 998.2 s left
//      0  epoll_wait                     libc.so.6+0x10e9a
//      1  Crystal::EventLoop#run_once    event_loop.cr:15:5  app+0x4f2a
//
// A thread of Ruby's has its Ruby frames before the others:
//
//     main Ruby thread waits for Mutex 0x7f0c1ab3ef80, which thread 4712 holds
//         app.rb:42 in synchronize
//         app.rb:42 in handle
//
//   12 fibers "worker-0", "worker-1", "worker-2", …
//     each waits to receive from Channel(Int32) 0x7f0c1ab3ef80
//      0  …
//
// Frames keep their numbers on the stack, also after a gap. Brief, of the frames that are not the
// program's own, only those remain that its code called, and the innermost of a stack without any:
//
//   … 3 frames of the runtime and libraries
//      3  Mutex#lock                     mutex.cr:66:5  app+0x9f2c
//      4  Ledger#transfer                ledger.cr:17:7  app+0x9e11
//   … 2 frames of the runtime and libraries
//
// A guessed frame has a note after it. Names come from the target, and are made safe to show.

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/format/write/stack_words.h"
#include "report/format/write/text_reports.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

using stacks::FiberGroup;
using stacks::NamedFrame;
using stacks::NamedStack;
using stacks::StackReport;
using stacks::ThreadSeen;

constexpr std::size_t kShownWaits = 3;
constexpr std::size_t kShownFibers = 20;  // of a Ruby thread
constexpr std::size_t kWidestFunction = 48;

std::string_view words_for(unwind::FoundBy by) {
  switch (by) {
    case unwind::FoundBy::FramePointer: return "  (by frame pointer)";
    case unwind::FoundBy::Scan: return "  (guessed)";
    case unwind::FoundBy::SignalFrame: return "  (interrupted by a signal)";
    case unwind::FoundBy::Registers:
    case unwind::FoundBy::FrameTables:
    case unwind::FoundBy::Code: break;
  }
  return {};
}

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Text {
 public:
  explicit Text(const TextStyle& style) : style_(style) {}

  void line(std::string_view text, const char* colour = nullptr) {
    const bool is_coloured = style_.with_colour && colour != nullptr;
    fmt::format_to(std::back_inserter(out_), "{}{}{}\n", is_coloured ? colour : "",
                   terminal_text(text), is_coloured ? "\x1b[0m" : "");
  }
  void gap() { out_ += '\n'; }

  void stack(const NamedStack& stack) {
    std::size_t width = 0;
    for (const NamedFrame& frame : stack.frames) {
      width = std::max(width, std::min(frame.function.size(), kWidestFunction));
    }
    const std::vector<bool> is_folded = folded_frames(stack);
    const auto own = std::find_if(stack.frames.begin(), stack.frames.end(),
                                  [](const NamedFrame& frame) { return frame.is_own; });
    const auto first_own = static_cast<std::size_t>(own - stack.frames.begin());
    std::uint64_t number = 0;
    std::size_t folded = 0;
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
      if (stack.left_out > 0 && i == stack.left_out_behind) {
        fold(std::exchange(folded, 0));
        line(fmt::format("      … {} more frames …", stack.left_out));
        number += stack.left_out;
      }
      if (is_folded[i]) {
        ++folded;
      } else {
        fold(std::exchange(folded, 0));
        frame(stack.frames[i], number, width, i == first_own ? kOwn : nullptr);
      }
      if (!stack.frames[i].is_inlined) ++number;
    }
    fold(folded);
    if (const auto words = words_for_end(stack.end); !words.empty()) {
      line(fmt::format("      {}", words));
    }
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static constexpr const char* kOwn = "\x1b[36m";

  static bool is_kept(const NamedFrame& frame) { return frame.is_own || frame.may_be_own; }

  // One frame alone is not worth a fold.
  [[nodiscard]] std::vector<bool> folded_frames(const NamedStack& stack) const {
    const auto& frames = stack.frames;
    std::vector<bool> is_folded(frames.size());
    for (std::size_t begin = 0; style_.is_brief && begin < frames.size();) {
      std::size_t end = begin;
      while (end < frames.size() && !is_kept(frames[end])) ++end;
      const bool is_called_by_own = end < frames.size();
      const std::size_t from = begin == 0 && !is_called_by_own ? 1 : begin;
      const std::size_t to = is_called_by_own && end > begin ? end - 1 : end;
      for (std::size_t i = from; from + 1 < to && i < to; ++i) is_folded[i] = true;
      begin = end + 1;
    }
    return is_folded;
  }

  void fold(std::size_t frames) {
    if (frames != 0) line(fmt::format("      … {} frames of the runtime and libraries", frames));
  }

  void frame(const NamedFrame& frame, std::uint64_t number, std::size_t width, const char* colour) {
    std::string place;
    if (!frame.file.empty()) {
      place = fmt::format("{}:{}", frame.file, frame.line);
      if (frame.column != 0) place += fmt::format(":{}", frame.column);
      place += "  ";
    }
    std::string module = frame.module.empty() ? fmt::format("{}", frame.pc) : frame.module;
    // A snapshot of an earlier release does not have it.
    if (!frame.module.empty() && frame.offset != 0) module += fmt::format("+{:#x}", frame.offset);
    line(fmt::format("  {:>3}  {:<{}}  {}{}{}{}", number,
                     frame.function.empty() ? "?" : frame.function, width, place,
                     frame.is_inlined ? "" : module, frame.is_inlined ? "inlined" : "",
                     words_for(frame.found_by)),
         colour);
  }

  TextStyle style_;
  std::string out_;
};

constexpr const char* kBold = "\x1b[1m";
constexpr const char* kRed = "\x1b[1;31m";

void add_ruby_stack(const ruby::FiberStack& stack, Text& text) {
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    const ruby::Frame& frame = stack.frames[i];
    if (stack.left_out > 0 && i == stack.left_out_after) {
      text.line(fmt::format("      … {} more frames …", stack.left_out));
    }
    const std::string place =
        frame.file.empty() ? "?" : fmt::format("{}:{}", frame.file, frame.line);
    text.line(fmt::format("      {} in {}", place, frame.function.empty() ? "?" : frame.function));
  }
  if (!stack.is_whole) text.line("      … the rest could not be read");
}

void add_ruby(const stacks::RubySeen& ruby, Text& text) {
  text.line("  " + title_of(ruby));
  for (std::size_t i = 0; i < ruby.fibers.size(); ++i) {
    if (i > 0) text.line("    resumed by another fiber:");
    add_ruby_stack(ruby.fibers[i], text);
  }
  for (std::size_t i = 0; i < std::min(ruby.suspended.size(), kShownFibers); ++i) {
    text.line(fmt::format("    suspended fiber {:#x}:", ruby.suspended[i].fiber));
    add_ruby_stack(ruby.suspended[i], text);
  }
  if (ruby.suspended.size() > kShownFibers) {
    text.line(
        fmt::format("    … and {} more suspended fibers", ruby.suspended.size() - kShownFibers));
  }
}

void add_thread(const StackReport& report, const ThreadSeen& thread, Text& text) {
  std::string head = title_of(thread);
  if (const std::string words = words_for_wait(report, thread); !words.empty()) {
    head += ", " + words;
  }
  const double seconds = std::chrono::duration<double>(thread.processor_time).count();
  const bool has_times = !report.core && !report.saved;
  if (has_times) head += fmt::format(", {:.2f} s of processor time", seconds);
  if (thread.load) head += fmt::format(", now {:.0f} %", 100 * *thread.load);
  text.gap();
  text.line(head, kBold);
  const ThreadNotes notes = notes_on(report, thread);
  for (const std::string& note : notes.about_itself) text.line("  " + note);
  if (thread.ruby) add_ruby(*thread.ruby, text);
  for (const std::string& note : notes.others) text.line("  " + note);
  text.stack(named(report, thread.stack));
}

void add_waits(const StackReport& report, const FiberGroup& group, Text& text) {
  const std::vector<AlikeWaits> waits = waits_of(report, group);
  for (std::size_t i = 0; i < std::min(waits.size(), kShownWaits); ++i) {
    const std::string count = group.fibers.size() == 1 ? ""
                              : waits.size() == 1      ? "each "
                                                       : fmt::format("{}: ", waits[i].fibers);
    text.line(fmt::format("  {}{}", count, waits[i].words));
  }
  if (waits.size() > kShownWaits) {
    text.line(fmt::format("  … and {} other waits", waits.size() - kShownWaits));
  }
}

}  // namespace

std::string format_stacks_text(const StackReport& report, const TextStyle& style) {
  Text text(style);
  for (const stacks::Statement& finding : report.findings) text.line(finding.text, kRed);
  const std::string_view service = value_of(report.resource, "service.name");
  std::string head = fmt::format("process {} {}{}{}: {}", report.pid, report.exe,
                                 service.empty() ? "" : ", service ", service,
                                 plural(report.threads.size(), "thread"));
  if (!report.fibers.empty()) head += ", " + plural(report.fibers.size(), "fiber");
  text.line(head + ", " + words_for_source(report));
  for (const stacks::Statement& remark : report.remarks) text.line("remark: " + remark.text);
  for (const std::string& warning : report.warnings) text.line("warning: " + warning);
  for (const ThreadSeen& thread : report.threads) add_thread(report, thread, text);
  for (const FiberGroup& group : report.groups) {
    text.gap();
    text.line(fmt::format("{} {}", plural(group.fibers.size(), "fiber"), names_of(report, group)),
              kBold);
    add_waits(report, group, text);
    text.stack(named(report, group.stack));
  }
  return text.take();
}

}  // namespace heapattach
