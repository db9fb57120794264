#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/write/json_record.h"

// Formats the code that allocated some objects of a heap, as samples of a recording show it.
namespace heapattach {

// One stack of that code. The sums are estimates.
struct CodeSite {
  std::uint64_t samples = 0;
  double objects = 0;
  double bytes = 0;
  std::vector<std::string> frames;  // innermost first
};

// The recording that shows the code.
struct CodeRecording {
  std::uint64_t every = 1;
  std::uint64_t duration_ns = 0;
  std::uint64_t samples = 0;            // of the objects that the report is about
  std::uint64_t drops = 0;              // samples that were lost
  std::vector<std::string> shortfalls;  // what is missing in it
};

// For people, the first few sites, each below its own line from `head_of`; `unknown` if there are
// none.
[[nodiscard]] std::string sites_text(const std::vector<CodeSite>& sites,
                                     const std::function<std::string(const CodeSite&)>& head_of,
                                     std::string_view unknown);
// "traced for 60.0 s, one sample per 4096 bytes; 12 samples leaked", and what is missing in it.
[[nodiscard]] std::string recording_text(const CodeRecording& recording, std::string_view did);

enum class SiteParts : std::uint8_t { Objects, ObjectsAndBytes };
[[nodiscard]] std::vector<JsonRecord> site_records(const std::vector<CodeSite>& sites,
                                                   SiteParts parts);
[[nodiscard]] JsonRecord record_of(const CodeRecording& recording);

}  // namespace heapattach
