#include "report/cli/text_style.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "report/cli/console.h"

namespace heapattach {

Surroundings surroundings() {
  return {std::getenv("TERM"), std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG")};
}

bool is_dumb(const Surroundings& around) {
  return around.term != nullptr && std::string_view(around.term) == "dumb";
}

bool wants_ascii(const Surroundings& around, bool is_terminal) {
  if (is_terminal && is_dumb(around)) return true;
  for (const char* const name : {around.lc_all, around.lc_ctype, around.lang}) {
    if (name == nullptr || *name == '\0') continue;
    std::string locale(name);
    for (char& letter : locale) {
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    return locale.find("utf-8") == std::string::npos && locale.find("utf8") == std::string::npos;
  }
  return false;
}

TextStyle style_of(const Options& options) {
  TextStyle style;
  style.is_brief = options.brief.value_or(false);
  if (options.with_gzip) return style;
  const bool is_terminal = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  const bool has_colours = is_terminal && !is_dumb(surroundings());
  style.with_colour = wants_colour(options.colour, has_colours, std::getenv("NO_COLOR"));
  winsize size{};
  style.with_units = options.human.value_or(is_terminal);
  style.with_separators = is_terminal;
  if (is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.columns = size.ws_col;
  style.is_brief = options.brief.value_or(style.columns != 0);
  return style;
}

}  // namespace heapattach
