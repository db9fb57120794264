#include "report/cli/trace_choice.h"

#include <utility>

#include "report/format/export/formats.h"
#include "report/type_names.h"

namespace heapattach {

trace::FrameChoice frames_of(const Options& options) {
  const bool is_short = options.format->with_short_frames;
  const auto usual = is_short ? trace::FrameText::Name : trace::FrameText::Full;
  return {options.trace.frames.value_or(usual), options.trace.with_all_frames, options.trace.depth};
}

std::vector<std::string> types_meant(const Options& options,
                                     const trace::Trace& trace,
                                     std::vector<std::string>& problems) {
  std::vector<std::string> types = options.rows.types;
  TypeNames names;
  names.add("(unknown)");
  for (const trace::Type& type : trace.types) names.add(type.name);
  for (std::string& type : types) {
    NamedType named = names.find(type, "--by type lists them");
    if (named.name.empty()) {
      problems.push_back("--type: " + named.problem);
    } else {
      type = std::move(named.name);
    }
  }
  return types;
}

trace::SiteChoice choice_of(const Options& options,
                            const trace::Trace& trace,
                            std::vector<std::string>& problems) {
  trace::SiteChoice choice;
  choice.by = options.trace.by;
  choice.sort = options.trace.sort;
  choice.frames = frames_of(options);
  choice.types = types_meant(options, trace, problems);
  choice.min_bytes = static_cast<double>(options.rows.min_bytes);
  choice.min_count = options.trace.min_count;
  if (options.rows.top) choice.top = static_cast<std::size_t>(*options.rows.top);
  return choice;
}

}  // namespace heapattach
