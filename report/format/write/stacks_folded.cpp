// Folded stacks, as flame graph programs read them: "app;thread worker;main;handle;read 1". The
// outermost function comes first, the number of threads or fibers with that stack last. Characters
// that would end a function or a line too early are replaced.

#include <map>

#include <fmt/format.h>

#include "report/format/write/text_reports.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

std::string part(std::string_view text) {
  std::string safe = terminal_text(text);
  for (char& letter : safe) {
    if (letter == ';') letter = ':';
  }
  return safe;
}

std::string folded(std::string_view program,
                   std::string_view owner,
                   const stacks::NamedStack& stack) {
  std::string line = fmt::format("{};{}", part(program), part(owner));
  for (std::size_t i = stack.frames.size(); i-- > 0;) {
    const stacks::NamedFrame& frame = stack.frames[i];
    std::string name = frame.function;
    if (name.empty() && !frame.module.empty()) {
      name = fmt::format("{}+{:#x}", frame.module, frame.offset);
    } else if (name.empty()) {
      name = fmt::format("{}", frame.pc);
    }
    line += ';' + part(name);
    if (stack.left_out > 0 && i == stack.left_out_behind) line += ";…";
  }
  return line;
}

// Ruby's functions say more than the interpreter's.
std::string folded(std::string_view program,
                   std::string_view owner,
                   const std::vector<ruby::FiberStack>& fibers) {
  std::string line = fmt::format("{};{}", part(program), part(owner));
  for (std::size_t fiber = fibers.size(); fiber-- > 0;) {
    const ruby::FiberStack& stack = fibers[fiber];
    for (std::size_t i = stack.frames.size(); i-- > 0;) {
      const ruby::Frame& frame = stack.frames[i];
      const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
      line += ';' + part(fmt::format("{} ({})", frame.function, file));
      if (stack.left_out > 0 && i == stack.left_out_after) line += ";…";
    }
  }
  return line;
}

}  // namespace

std::string format_stacks_folded(const stacks::StackReport& report) {
  const std::string program = report.exe.substr(report.exe.rfind('/') + 1);
  std::map<std::string, std::size_t> lines;
  for (const stacks::ThreadSeen& thread : report.threads) {
    const std::string owner = fmt::format("thread {}", thread.name);
    const bool is_ruby = thread.ruby && !thread.ruby->fibers.empty();
    ++lines[is_ruby ? folded(program, owner, thread.ruby->fibers)
                    : folded(program, owner, named(report, thread.stack))];
  }
  for (const stacks::FiberGroup& group : report.groups) {
    lines[folded(program, "fibers", named(report, group.stack))] += group.fibers.size();
  }
  std::string out;
  for (const auto& [line, count] : lines) out += fmt::format("{} {}\n", line, count);
  return out;
}

}  // namespace heapattach
