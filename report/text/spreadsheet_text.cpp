#include "report/text/spreadsheet_text.h"

#include <string_view>

namespace heapattach {

std::string spreadsheet_text(std::string text) {
  constexpr std::string_view kBeginFormula = "=+-@\t\r";
  const bool is_formula = text.size() > 1 && kBeginFormula.find(text[0]) != std::string_view::npos;
  if (is_formula) text.insert(text.begin(), '\'');
  return text;
}

}  // namespace heapattach
