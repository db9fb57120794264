// The parts of a page about threads and fibers, as keys of its data (html.cpp):
//
//   "findings":["deadlock: …"],"remarks":["…"],
//   "threads_in_all":N,"threads":[{"tid":N,"name":"…","about":"sleeping in futex(…)","notes":["…"],
//               "seconds":N,"load":N,"ruby":[["main Ruby thread …",stack]…],"own":"Shop#login
//               (shop.cr:12)","finding":0, "stack":N,"retained":N}…],
//   "fibers_in_all":N,"groups_in_all":N,
//   "groups":[{"fibers":N,"names":"…","waits":[[fibers,"sleeps, 0.1 to 60.0 s left"]…],
//              "waits_in_all":N,"runtime":bool,"own":"…","finding":0,"stack":N,"retained":N,
//              "listed":[["\"worker-1\"","sleeps, 4.2 s left",retained]…]}…],
//   "stacks":[[["function","file:line",1 if it is the program's own]…]…]
//
// A group has the fibers whose stacks are at the same instructions. Fibers on a thread are in its
// notes.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "report/format/export/html.h"
#include "report/format/export/html_page.h"
#include "report/format/export/html_sections.h"
#include "report/format/write/stack_words.h"
#include "report/format/write/text_sink.h"
#include "report/stacks/saved_stacks.h"

namespace heapattach {

namespace {

using snapshot::Snapshot;
using stacks::FiberGroup;
using stacks::FiberSeen;
using stacks::NamedFrame;
using stacks::StackReport;
using stacks::ThreadSeen;

constexpr std::size_t kMostThreads = 1000;
constexpr std::size_t kMostGroups = 500;
constexpr std::size_t kMostWaits = 3;    // of a group
constexpr std::size_t kMostFibers = 30;  // of a group, one by one
constexpr std::size_t kMostFrames = 100;

using RetainedById = std::unordered_map<std::uint64_t, std::uint64_t>;

RetainedById by_id(const std::vector<HtmlView::Stack>& stacks) {
  RetainedById retained;
  for (const HtmlView::Stack& stack : stacks) retained.emplace(stack.id, stack.retained);
  return retained;
}

// A stack as the page shows it: a line for each function.
struct Line {
  std::string function;
  std::string place;
  bool is_own = false;

  friend auto operator<=>(const Line&, const Line&) = default;
};
using Lines = std::vector<Line>;

Line line_of(const NamedFrame& frame) {
  std::string function = frame.function;
  if (function.empty() && frame.is_inlined) function = "(inlined)";
  if (function.empty()) {
    function = fmt::format("{}{}{}", frame.pc, frame.module.empty() ? "" : " of ", frame.module);
  }
  return {function, frame.line == 0 ? frame.file : fmt::format("{}:{}", frame.file, frame.line),
          frame.is_own};
}

void leave_out(std::uint64_t frames, Lines& lines) {
  if (frames != 0) lines.push_back({fmt::format("… {} more", frames), "", false});
}

Lines lines_of(const stacks::NamedStack& stack) {
  Lines lines;
  const std::size_t shown = std::min(stack.frames.size(), kMostFrames);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i == stack.left_out_behind) leave_out(stack.left_out, lines);
    lines.push_back(line_of(stack.frames[i]));
  }
  leave_out(stack.frames.size() - shown, lines);
  if (const auto words = words_for_end(stack.end); !words.empty()) {
    lines.push_back({std::string(words), "", false});
  }
  return lines;
}

Lines lines_of(const ruby::FiberStack& stack) {
  Lines lines;
  const std::size_t shown = std::min(stack.frames.size(), kMostFrames);
  for (std::size_t i = 0; i < shown; ++i) {
    const ruby::Frame& frame = stack.frames[i];
    if (i == stack.left_out_after) leave_out(stack.left_out, lines);
    lines.push_back({frame.function.empty() ? "?" : frame.function,
                     frame.file.empty() ? "" : fmt::format("{}:{}", frame.file, frame.line), true});
  }
  leave_out(stack.frames.size() - shown, lines);
  return lines;
}

class StacksPart {
 public:
  StacksPart(HtmlJson& json, const StackReport& report, const HtmlView* view)
      : json_(json), report_(report) {
    if (view == nullptr) return;
    of_threads_ = by_id(view->threads);
    of_fibers_ = by_id(view->fibers);
  }

  void put() {
    put_texts("findings", stacks::texts_of(report_.findings));
    put_texts("remarks", stacks::texts_of(report_.remarks));
    put_threads();
    put_groups();
    put_stacks();
  }

 private:
  void put_texts(std::string_view name, const std::vector<std::string>& texts) {
    json_.open(name, '[');
    for (const std::string& text : texts) json_.text(text);
    json_.close(']');
  }

  [[nodiscard]] std::uint64_t retained_by(const ThreadSeen& thread) const {
    const auto own = of_threads_.find(static_cast<std::uint64_t>(thread.tid));
    const std::uint64_t retained = own == of_threads_.end() ? 0 : own->second;
    return retained + (thread.fiber ? retained_by(report_.fibers.at(*thread.fiber)) : 0);
  }
  [[nodiscard]] std::uint64_t retained_by(const FiberSeen& fiber) const {
    const auto found = of_fibers_.find(fiber.address);
    return found == of_fibers_.end() ? 0 : found->second;
  }

  // The most important ones: those of a finding, then those that retain most.
  void put_threads() {
    std::vector<const ThreadSeen*> chosen;
    for (const ThreadSeen& thread : report_.threads) chosen.push_back(&thread);
    const auto rank = [&](const ThreadSeen* thread) {
      return std::pair(thread->finding.has_value(), retained_by(*thread));
    };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
    chosen.resize(std::min(chosen.size(), kMostThreads));
    json_.number("threads_in_all", report_.threads.size());
    json_.open("threads", '[');
    for (const ThreadSeen* const thread : chosen) put(*thread);
    json_.close(']');
  }

  void put(const ThreadSeen& thread) {
    json_.open('{');
    json_.number("tid", thread.tid);
    json_.text("name", thread.name);
    json_.text("about", words_for_wait(report_, thread));
    auto [notes, others] = notes_on(report_, thread);
    notes.insert(notes.end(), others.begin(), others.end());
    put_texts("notes", notes);
    if (!report_.core && !report_.saved) {
      const double seconds = std::chrono::duration<double>(thread.processor_time).count();
      json_.key("seconds");
      json_.raw(fmt::format("{:.2f}", seconds));
    }
    if (thread.load) json_.number("load", std::lround(100 * *thread.load));
    if (thread.ruby) put(*thread.ruby);
    json_.text("own", thread.function);
    put_end(thread.finding, thread.stack, retained_by(thread));
    json_.close('}');
  }

  void put(const stacks::RubySeen& ruby) {
    json_.open("ruby", '[');
    std::string title = title_of(ruby);
    if (ruby.fibers.empty()) put_ruby_stack(title, {});
    for (const ruby::FiberStack& fiber : ruby.fibers) {
      put_ruby_stack(title, lines_of(fiber));
      title = "resumed by another fiber";
    }
    for (std::size_t i = 0; i < std::min(ruby.suspended.size(), kMostFibers); ++i) {
      put_ruby_stack(fmt::format("suspended fiber {:#x}", ruby.suspended[i].fiber),
                     lines_of(ruby.suspended[i]));
    }
    if (ruby.suspended.size() > kMostFibers) {
      put_ruby_stack(
          fmt::format("… and {} more suspended fibers", ruby.suspended.size() - kMostFibers), {});
    }
    json_.close(']');
  }
  void put_ruby_stack(std::string_view title, Lines lines) {
    json_.open('[');
    json_.text(title);
    if (!lines.empty()) json_.number(number_of(std::move(lines)));
    json_.close(']');
  }

  void put_end(const std::optional<std::size_t>& finding,
               const std::optional<std::uint32_t>& stack,
               std::uint64_t retained) {
    if (finding) json_.number("finding", *finding);
    Lines lines = lines_of(named(report_, stack));
    if (!lines.empty()) json_.number("stack", number_of(std::move(lines)));
    json_.number("retained", retained);
  }

  void put_groups() {
    std::vector<const FiberGroup*> groups;
    for (const FiberGroup& group : report_.groups) groups.push_back(&group);
    std::stable_partition(groups.begin(), groups.end(),
                          [&](const FiberGroup* group) { return finding_of(*group).has_value(); });
    groups.resize(std::min(groups.size(), kMostGroups));
    json_.number("fibers_in_all", report_.fibers.size());
    json_.number("groups_in_all", report_.groups.size());
    json_.open("groups", '[');
    for (const FiberGroup* const group : groups) put(*group);
    json_.close(']');
  }

  [[nodiscard]] std::optional<std::size_t> finding_of(const FiberGroup& group) const {
    for (const std::size_t fiber : group.fibers) {
      if (report_.fibers[fiber].finding) return report_.fibers[fiber].finding;
    }
    return {};
  }

  void put(const FiberGroup& group) {
    json_.open('{');
    json_.number("fibers", group.fibers.size());
    json_.text("names", names_of(report_, group));
    const std::vector<AlikeWaits> waits = waits_of(report_, group);
    json_.open("waits", '[');
    for (std::size_t i = 0; i < std::min(waits.size(), kMostWaits); ++i) {
      json_.open('[');
      json_.number(waits[i].fibers);
      json_.text(waits[i].words);
      json_.close(']');
    }
    json_.close(']');
    json_.number("waits_in_all", waits.size());
    json_.boolean("runtime", report_.fibers[group.fibers.front()].is_of_runtime);
    json_.text("own", report_.fibers[group.fibers.front()].function);
    std::uint64_t retained = 0;
    for (const std::size_t fiber : group.fibers) retained += retained_by(report_.fibers[fiber]);
    put_fibers(group);
    put_end(finding_of(group), group.stack, retained);
    json_.close('}');
  }

  // Those of a finding, then those that retain most.
  void put_fibers(const FiberGroup& group) {
    std::vector<const FiberSeen*> fibers;
    for (const std::size_t fiber : group.fibers) fibers.push_back(&report_.fibers[fiber]);
    const auto rank = [&](const FiberSeen* fiber) {
      return std::pair(fiber->finding.has_value(), retained_by(*fiber));
    };
    std::stable_sort(fibers.begin(), fibers.end(),
                     [&](const auto* a, const auto* b) { return rank(a) > rank(b); });
    fibers.resize(std::min(fibers.size(), kMostFibers));
    json_.open("listed", '[');
    for (const FiberSeen* const fiber : fibers) {
      json_.open('[');
      json_.text(name_of(*fiber));
      json_.text(describe_wait(report_.fibers, fiber->wait));
      json_.number(retained_by(*fiber));
      json_.close(']');
    }
    json_.close(']');
  }

  // Different stacks are numbered on first use.
  std::size_t number_of(Lines lines) {
    const auto [at, is_new] = numbers_.try_emplace(std::move(lines), in_order_.size());
    if (is_new) in_order_.push_back(&at->first);
    return at->second;
  }

  void put_stacks() {
    json_.open("stacks", '[');
    for (const Lines* const lines : in_order_) {
      json_.open('[');
      for (const Line& line : *lines) {
        json_.open('[');
        json_.text(line.function);
        json_.text(line.place);
        if (line.is_own) json_.number(1);
        json_.close(']');
      }
      json_.close(']');
    }
    json_.close(']');
  }

  HtmlJson& json_;
  const StackReport& report_;
  RetainedById of_threads_;
  RetainedById of_fibers_;
  std::map<Lines, std::size_t> numbers_;
  std::vector<const Lines*> in_order_;
};

void put_process(HtmlJson& json, const StackReport& report) {
  json.open("process", '{');
  json.number("pid", report.pid);
  json.text("exe", report.exe);
  json.attributes_unless_empty("resource", report.resource);
  json.text("how", words_for_source(report));
  json.close('}');
}

}  // namespace

void put_html_stacks(HtmlJson& json, const Snapshot& snapshot, const HtmlView& view) {
  StacksPart(json, stacks::saved_stacks(snapshot), &view).put();
}

std::string format_stacks_html(const StackReport& report) {
  std::string page;
  TextSink sink(page);
  const ExportOptions options;
  ExportStream out(sink, options);
  out.put(html_before_data());
  HtmlJson json(out);
  json.open('{');
  json.number("version", 1);
  json.text("tool", "heapattach " HEAPATTACH_VERSION);
  put_process(json, report);
  put_html_no_heap(json);
  json.open("names", '[');
  json.close(']');
  json.open("warnings", '[');
  for (const std::string& warning : report.warnings) json.text(warning);
  json.close(']');
  StacksPart(json, report, nullptr).put();
  json.close('}');
  out.put(html_behind_data());
  return out.finish() ? page : "";
}

}  // namespace heapattach
