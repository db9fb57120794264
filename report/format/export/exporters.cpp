#include "report/format/export/exporters.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/format/export/writers.h"

namespace heapattach {

namespace {

constexpr std::array<ExportFormat, 10> kFormats{{
    {"html", "html", "a browser: a report as a page", write_html},
    {"heapsnapshot", "heapsnapshot", "Chrome DevTools, memlab", write_heapsnapshot},
    {"pprof", "pb", "go tool pprof", write_pprof},
    {"folded", "folded", "flamegraph.pl, inferno, speedscope", write_folded},
    {"svg", "svg", "a browser: flame graph of what is retained", write_svg},
    {"dhat", "dhat", "valgrind's dh_view.html", write_dhat},
    {"ruby", "", "sheap, heapy, harb", write_ruby},
    {"gcgrph", "gcgrph", "perf-tools", write_gcgrph, ExportNeeds::Words},
    {"gcfull", "gcfull", "perf-tools", write_gcfull, ExportNeeds::Contents},
    {"hprof", "hprof", "Eclipse MAT, VisualVM; best effort", write_hprof, ExportNeeds::Offsets},
}};

const ExportFormat* find(std::string_view ExportFormat::*member, std::string_view text) {
  const auto* const found = std::find_if(
      kFormats.begin(), kFormats.end(),
      [&](const ExportFormat& format) { return !text.empty() && format.*member == text; });
  return found == kFormats.end() ? nullptr : found;
}

bool has_offsets(const snapshot::Snapshot& snapshot) {
  return std::all_of(snapshot.types.begin(), snapshot.types.end(),
                     [](const snapshot::Type& type) { return type.keys.empty(); });
}

Error lacks(const ExportFormat& format, std::string_view what) {
  return Error{ErrorKind::Usage, fmt::format("-f {} needs {}", format.name, what)}.advise(
      "export the process itself");
}

}  // namespace

Result<void> check_exportable(const ExportFormat& format, const snapshot::Snapshot& snapshot) {
  constexpr std::string_view kSaved = "which a saved snapshot does not have";
  // The collector's own formats: pages of objects of one size.
  if (needs_contents(format) && snapshot.header.malloc) {
    return Error{ErrorKind::Usage,
                 fmt::format("-f {} has no room for malloc's objects", format.name)}
        .advise("--heap gc");
  }
  switch (format.needs) {
    case ExportNeeds::Objects: break;
    case ExportNeeds::Offsets:
      if (!has_offsets(snapshot)) return lacks(format, fmt::format("offsets, {}", kSaved));
      break;
    case ExportNeeds::Contents:
      if (snapshot.header.source == "gcgrph") {
        return lacks(format, "all bytes of the objects, of which a GCGRPH dump has the pointers");
      }
      [[fallthrough]];
    case ExportNeeds::Words:
      if (snapshot.contents != nullptr) break;
      return lacks(format, fmt::format("the objects' bytes, {}", kSaved));
  }
  return {};
}

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
