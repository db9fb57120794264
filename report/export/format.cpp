#include "report/export/format.h"

#include <algorithm>
#include <array>

#include "report/export/formats.h"

namespace heapattach {

namespace {

constexpr std::array<ExportFormat, 9> kFormats{{
    {"html", "html", "a browser: a report to look at", write_html},
    {"heapsnapshot", "heapsnapshot", "Chrome DevTools, memlab", write_heapsnapshot},
    {"pprof", "pb", "go tool pprof", write_pprof},
    {"folded", "folded", "flamegraph.pl, inferno, speedscope", write_folded},
    {"svg", "svg", "a browser: flame graph of what is retained", write_svg},
    {"dhat", "dhat", "valgrind's dh_view.html", write_dhat},
    {"ruby", "", "sheap, heapy, harb", write_ruby},
    {"gcgrph", "gcgrph", "perf-tools", write_gcgrph},
    {"hprof", "hprof", "Eclipse MAT, VisualVM; best effort", write_hprof},
}};

const ExportFormat* find(std::string_view ExportFormat::*member, std::string_view text) {
  const auto* const found = std::find_if(
      kFormats.begin(), kFormats.end(),
      [&](const ExportFormat& format) { return !text.empty() && format.*member == text; });
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace

std::span<const ExportFormat> export_formats() {
  return kFormats;
}

const ExportFormat* find_export_format(std::string_view name) {
  return find(&ExportFormat::name, name);
}

const ExportFormat* export_format_of_extension(std::string_view extension) {
  return find(&ExportFormat::extension, extension);
}

}  // namespace heapattach
