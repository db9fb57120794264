#include "report/format/write/json_waits.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/model/frame_words.h"

namespace heapattach {

namespace {

JsonRecord wait_record(const snapshot::Snapshot& snapshot, const snapshot::ThreadWait& wait) {
  JsonRecord record;
  record.text_unless_empty("call", wait.call);
  if (wait.thread) record.number("thread", snapshot.threads.at(*wait.thread).tid);
  record.text_unless_empty("mutex", wait.mutex);
  record.lossy_if(wait.is_lossy);
  return record;
}

JsonRecord wait_record(const snapshot::Snapshot& snapshot, const snapshot::FiberWait& wait) {
  JsonRecord record;
  record.text("for", snapshot::word_for(snapshot::kWaitWords, wait.kind));
  if (wait.object.value != 0) record.address("object", wait.object.value);
  record.text_unless_empty("type", wait.type);
  record.text_unless_empty("holder", wait.holder);
  if (wait.owner) record.address("owner", snapshot.fibers.at(*wait.owner).address);
  record.text_unless_empty("descriptor", wait.descriptor);
  record.number("process", wait.process);
  if (wait.left) {
    record.raw("left_s", fmt::format("{:.3f}", static_cast<double>(wait.left->count()) / 1000));
  }
  if (wait.may_have_limit) record.boolean("may_have_limit", true);
  record.lossy_if(wait.is_lossy);
  return record;
}

}  // namespace

void add_findings(const snapshot::Header& header, JsonRecord& record) {
  record.list_unless_empty("findings", header.findings);
  record.list_unless_empty("remarks", header.remarks);
}

void add_waits(const snapshot::Snapshot& snapshot,
               const snapshot::Thread& thread,
               JsonRecord& record) {
  if (thread.wait.is_known()) record.object("waits", wait_record(snapshot, thread.wait));
  record.text_unless_empty("own_function", thread.function);
  if (thread.fiber) record.address("fiber", snapshot.fibers.at(*thread.fiber).address);
  if (thread.is_idle) record.boolean("idle", true);
  record.number("finding", thread.finding);
}

void add_waits(const snapshot::Snapshot& snapshot,
               const snapshot::Fiber& fiber,
               JsonRecord& record) {
  const bool is_known = fiber.wait.kind != snapshot::WaitKind::Unknown;
  if (is_known) record.object("waits", wait_record(snapshot, fiber.wait));
  record.text_unless_empty("own_function", fiber.function);
  record.text_unless_empty("context", fiber.context);
  if (fiber.is_of_runtime) record.boolean("runtime", true);
  if (fiber.thread) record.number("thread", snapshot.threads.at(*fiber.thread).tid);
  record.text_unless_empty("of_thread", fiber.of_thread);
  record.number("finding", fiber.finding);
}

}  // namespace heapattach
