#include "report/cli/live_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/cli/trace_choice.h"
#include "report/format/write/sites_formats.h"
#include "report/format/write/table.h"
#include "report/text/human_bytes.h"

namespace heapattach {

namespace {

constexpr std::size_t kMostRows = 10;
// How it is going, the heading, two rows of sums, remarks, and the shell's own line.
constexpr std::size_t kOtherLines = 9;
constexpr std::size_t kUsualLines = 24;  // of a terminal that does not know

// It may change at any time.
winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return size;
}

std::size_t rows_for(const winsize& terminal) {
  const std::size_t lines = terminal.ws_row == 0 ? kUsualLines : terminal.ws_row;
  return std::clamp<std::size_t>(lines > kOtherLines ? lines - kOtherLines : 1, 1, kMostRows);
}

// A line that the terminal wraps would take two, and the next table would be drawn too low.
std::string cut_lines(std::string_view text, std::size_t columns) {
  std::string cut;
  std::size_t used = 0;
  for (const char letter : text) {
    const bool is_first_byte = (static_cast<unsigned char>(letter) & 0xc0U) != 0x80;
    if (letter == '\n') used = 0;
    if (letter != '\n' && is_first_byte) ++used;
    if (columns == 0 || used <= columns) cut += letter;
  }
  return cut;
}

}  // namespace

std::string words_of(const trace::TraceProgress& progress) {
  using Seconds = std::chrono::duration<double>;
  const double elapsed = Seconds(progress.elapsed).count();
  const double left = std::max(0.0, Seconds(progress.length - progress.elapsed).count());
  const double rate = elapsed > 0 ? static_cast<double>(progress.bytes) / elapsed : 0;
  const TextStyle style{.with_separators = true};
  const std::string time = progress.length.count() == 0
                               ? fmt::format("tracing for {:.0f} s", elapsed)
                               : fmt::format("tracing, {:.0f} s left", left);
  std::string text =
      fmt::format("{}: {} samples, {} lost, {}/s", time, count_cell(progress.samples, style),
                  count_cell(progress.drops, style), human_bytes(static_cast<std::uint64_t>(rate)));
  if (progress.waiting == 0) return text;
  return text + fmt::format("; {} not shown yet", count_cell(progress.waiting, style));
}

Result<DrawTrace> live_table(const Options& options, Console& console) {
  if (::isatty(STDERR_FILENO) == 0) {
    return Error{ErrorKind::Usage, "--live needs a terminal on standard error"};
  }
  return DrawTrace([&options, &console](const trace::TraceProgress& progress,
                                        const trace::Trace& so_far,
                                        std::vector<trace::Cell> cells) {
    const winsize now = terminal_size();
    // A type that has no object yet may get one, so what --type does not find is no error here.
    std::vector<std::string> problems;
    trace::SiteChoice choice = choice_of(options, so_far, problems);
    const std::size_t most = rows_for(now);
    choice.top = std::min(choice.top.value_or(most), most);
    const TextStyle style{.columns = now.ws_col, .with_units = true, .with_separators = true};
    std::string text = words_of(progress) + '\n';
    text += format_sites_table(trace::make_site_table(so_far, choice, {std::move(cells), false}),
                               style);
    text.pop_back();  // the last line's end
    console.draw_progress(cut_lines(text, now.ws_col));
  });
}

}  // namespace heapattach
