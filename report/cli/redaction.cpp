#include "report/cli/redaction.h"

#include "report/redact/redact.h"

namespace heapattach {

void redact_if_asked(const Options& options, snapshot::Snapshot& snapshot, Console& console) {
  if (!options.redact) return;
  const snapshot::Header& header = snapshot.header;
  const Placeholders placeholders(header.build_id, language_of(header.runtime));
  const bool is_done = redact(snapshot, placeholders);
  if (is_done && placeholders.is_for_one_snapshot_only()) {
    console.say("the program has no build id: the placeholders will differ in other snapshots");
  }
}

}  // namespace heapattach
