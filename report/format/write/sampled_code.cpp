#include "report/format/write/sampled_code.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/text/human_bytes.h"
#include "report/text/terminal_text.h"

namespace heapattach {

namespace {

std::uint64_t rounded(double number) {
  return static_cast<std::uint64_t>(std::llround(number));
}

}  // namespace

std::string sites_text(const std::vector<CodeSite>& sites,
                       const std::function<std::string(const CodeSite&)>& head_of,
                       std::string_view unknown) {
  constexpr std::size_t kShown = 3;
  if (sites.empty()) return fmt::format("    {}\n", unknown);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, sites.size()); ++i) {
    text += fmt::format("    {}\n", head_of(sites[i]));
    for (const std::string& frame : sites[i].frames) {
      text += fmt::format("        {}\n", terminal_text(frame));
    }
  }
  if (sites.size() > kShown) {
    text += fmt::format("    … and at {} more places\n", sites.size() - kShown);
  }
  return text;
}

std::string recording_text(const CodeRecording& recording, std::string_view did) {
  std::string text = fmt::format("traced for {:.1f} s, one sample per {} bytes; {} {}\n",
                                 static_cast<double>(recording.duration_ns) / 1e9, recording.every,
                                 counted(recording.samples, "sample"), did);
  for (const std::string& shortfall : recording.shortfalls) {
    text += terminal_text(shortfall) + '\n';
  }
  return text;
}

std::vector<JsonRecord> site_records(const std::vector<CodeSite>& sites, SiteParts parts) {
  std::vector<JsonRecord> records;
  for (const CodeSite& site : sites) {
    JsonRecord record;
    record.number("samples", site.samples);
    record.number("objects", rounded(site.objects));
    if (parts == SiteParts::ObjectsAndBytes) record.number("bytes", rounded(site.bytes));
    record.list("frames", site.frames);
    records.push_back(std::move(record));
  }
  return records;
}

JsonRecord record_of(const CodeRecording& recording) {
  JsonRecord record;
  record.number("every", recording.every);
  record.number("duration_ns", recording.duration_ns);
  record.number("samples", recording.samples);
  record.number("drops", recording.drops);
  record.list_unless_empty("shortfalls", recording.shortfalls);
  return record;
}

}  // namespace heapattach
