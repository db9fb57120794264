#include "report/cli/confine_to_files.h"

#include <algorithm>
#include <string>

#include "attach/sandbox/confined.h"
#include "report/cli/file_kind.h"
#include "report/cli/output_name.h"
#include "report/format/write/output_file.h"

namespace heapattach {

bool is_of_files(const Options& options) {
  if (options.compared.empty()) return !options.file.empty();
  return std::none_of(options.compared.begin(), options.compared.end(),
                      [](const Source& source) { return source.file.empty(); });
}

void confine_to_files(const Options& options, Console& console) {
  BrokerDuties duties;
  duties.files = {options.file, options.type_info, options.symbols.exe};
  for (const Source& source : options.compared) duties.files.push_back(source.file);
  std::erase(duties.files, std::string());
  duties.opens_any_file = std::any_of(duties.files.begin(), duties.files.end(), is_elf_file);
  if (const std::string name = output_name(options); !name.empty()) {
    OpenOutput::open_ahead(name, options.force, Deadline::in(options.timeout));
    duties.publish = OpenOutput::publish_ahead;
    duties.end = OpenOutput::drop_ahead;
  }
  const auto done = confine(duties);
  if (!done) {
    console.step("the file is read with all rights: " + done.error().message());
    return;
  }
  console.step("gave up all rights except to read the named files");
  for (const std::string& note : done->notes) console.step(note);
}

}  // namespace heapattach
