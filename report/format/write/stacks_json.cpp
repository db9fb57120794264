// One JSON object on one line, version 1:
//
//   {"version":1,"pid":4711,"exe":"/srv/app","pause_ms":0.612,
//    "findings":["deadlock: thread 12 waits for a mutex, which thread 13 holds; …"],
//    "remarks":["6 of 7 fibers wait to send to …"],
//    "threads":[{"tid":12,"tid_in_target":12,"name":"app","state":"S","wait_channel":"futex_wait",
//      "call":"futex(0x55d0…)","cpu_s":0.120,"load":0.00,"waits_for_thread":13,"awaited":"lock",
//      "own_function":"work (work.c:12)","fiber":"0x7f…","idle":true,"finding":0,
//      "kernel":true,
//      "ruby":{"name":"worker","main":true,"doing":"sleeps","fibers":[{"fiber":"0x55d0…",
//        "frames":[{"function":"sleep","file":"app.rb","line":42,"native":true,"owner":"Kernel"}],
//        "left_out":N,"left_out_behind":N,"whole":false}],"suspended":[{…}]},
//      "frames":[FRAME, …],
//      "left_out":N,"left_out_behind":N,"end":"outermost"}],
//    "fibers":[{"address":"0x7f…","name":"worker-1","context":"DEFAULT","of_thread":"13 SYSMON",
//      "runtime":true,"thread":12,"own_function":"Shop.work (shop.cr:55)","wait":"receive",
//      "object":"0x7f…","type":"Channel(Int32)","holder":"Shop::LOCK","process":4712,
//      "descriptor":"7: pipe","owner":"0x7f…","left_s":9.500,"finding":0,"group":0}],
//    "groups":[{"fibers":12,"frames":[FRAME, …],"end":"outermost"}]}
//
// "kernel" marks a kernel thread (io_uring), which runs no code of the program. For
// a saved snapshot, "snapshot" is when it was taken; it has no "wait_channel", "cpu_s" and "load",
// and no "readable". "ruby" is what a thread of Ruby's executes: the fiber that it is in, then the
// one that resumed it, and so on. "native" marks a function written in C; "whole" is false if the
// rest could not be read. A finding is proved, and says what is wrong; a remark may be as it
// should. A thread or fiber that is part of a finding has its number, from 0, as "finding". "wait"
// is what the fiber waits for: "receive", "send" or (one of both) "channel", "select", "mutex",
// "condition", "wait group", "once" (a constant that another fiber initializes), "descriptor" (that
// others are done with an IO), "context" (the end of an isolated one), "process", "thread",
// "resolve" (a host's address), "read", "write", "accept", "connect" or (one of these four) "io",
// "sleep", "sleep forever"; or what it does: "running", "scheduling" (it serves the scheduler),
// "ready", "not started", "ended", "unknown". "holder" is the global or field that holds the
// object; "runtime" marks a fiber that every Crystal program has; "of_thread" is the thread whose
// own fiber it is.
//
// FRAME is {"pc":"0x55d0…","function":"Channel(Int32)#receive","file":"channel.cr","line":311,
// "column":5,"inlined":true,"own":true,"module":"app","offset":"0x4f2a","found_by":"tables"}; one
// of the program's own functions, not a library's, has "own"; an inlined one comes before the one
// that contains it, with the same pc. `end` is "outermost", "limit", "unknown", "generated code",
// "other stack" or "corrupt". Empty keys are left out. A fiber on a thread is in no group. For a
// core file there is "core":{"signal":11,"thread":12} in place of the pause, and there are no
// states, wait channels and times.

#include <fmt/format.h>

#include "report/format/write/json_record.h"
#include "report/format/write/text_reports.h"
#include "report/model/frame_words.h"

namespace heapattach {

namespace {

using stacks::FiberSeen;
using stacks::NamedFrame;
using stacks::NamedStack;
using stacks::StackReport;
using stacks::ThreadSeen;

std::string decimal(double value) {
  return fmt::format("{:.3f}", value);
}

JsonRecord frame_record(const NamedFrame& frame) {
  JsonRecord record;
  record.address("pc", frame.pc.value);
  record.text_unless_empty("function", frame.function);
  record.text_unless_empty("file", frame.file);
  if (frame.line != 0) record.number("line", frame.line);
  if (frame.column != 0) record.number("column", frame.column);
  if (frame.is_inlined) record.boolean("inlined", true);
  if (frame.is_own) record.boolean("own", true);
  if (!frame.module.empty()) {
    record.text("module", frame.module);
    record.address("offset", frame.offset);
  }
  record.text("found_by", snapshot::word_for(snapshot::kFoundByWords, frame.found_by));
  return record;
}

void add_stack(const NamedStack& stack, JsonRecord& record) {
  record.open_list("frames");
  for (const NamedFrame& frame : stack.frames) record.item(frame_record(frame));
  record.close_list();
  if (stack.left_out > 0) {
    record.number("left_out", stack.left_out);
    record.number("left_out_behind", stack.left_out_behind);
  }
  record.text("end", snapshot::word_for(snapshot::kStackEndWords, stack.end));
}

JsonRecord ruby_stack_record(const ruby::FiberStack& stack) {
  JsonRecord record;
  if (stack.fiber != 0) record.address("fiber", stack.fiber);
  record.open_list("frames");
  for (const ruby::Frame& frame : stack.frames) {
    JsonRecord inner;
    inner.text_unless_empty("function", frame.function);
    inner.text_unless_empty("file", frame.file);
    if (frame.line != 0) inner.number("line", frame.line);
    if (frame.is_native) inner.boolean("native", true);
    inner.text_unless_empty("owner", frame.owner);
    record.item(std::move(inner));
  }
  record.close_list();
  if (stack.left_out > 0) {
    record.number("left_out", stack.left_out);
    record.number("left_out_behind", stack.left_out_after);
  }
  if (!stack.is_whole) record.boolean("whole", false);
  return record;
}

JsonRecord ruby_record(const stacks::RubySeen& ruby) {
  JsonRecord record;
  record.text_unless_empty("name", ruby.name);
  if (ruby.is_main) record.boolean("main", true);
  record.text("doing", ruby.doing);
  record.open_list("fibers");
  for (const ruby::FiberStack& stack : ruby.fibers) record.item(ruby_stack_record(stack));
  record.close_list();
  if (!ruby.suspended.empty()) {
    record.open_list("suspended");
    for (const ruby::FiberStack& stack : ruby.suspended) record.item(ruby_stack_record(stack));
    record.close_list();
  }
  return record;
}

JsonRecord thread_record(const StackReport& report, const ThreadSeen& thread) {
  JsonRecord record;
  record.number("tid", thread.tid);
  if (thread.tid_in_target != 0 && thread.tid_in_target != thread.tid) {
    record.number("tid_in_target", thread.tid_in_target);
  }
  record.text_unless_empty("name", thread.name);
  if (!report.core) record.text("state", {&thread.state, 1});
  record.text_unless_empty("wait_channel", thread.wait_channel);
  record.text_unless_empty("call", thread.wait.call);
  if (!report.core && !report.saved) {
    record.raw("cpu_s", decimal(std::chrono::duration<double>(thread.processor_time).count()));
  }
  if (thread.load) record.raw("load", fmt::format("{:.2f}", *thread.load));
  if (thread.gone_owner != 0) record.number("waits_for_gone_thread", thread.gone_owner);
  if (thread.wait.thread) {
    record.number("waits_for_thread", report.threads.at(*thread.wait.thread).tid);
  }
  record.text_unless_empty("awaited", thread.wait.mutex);
  record.text_unless_empty("own_function", thread.function);
  if (thread.fiber) record.address("fiber", report.fibers.at(*thread.fiber).address);
  if (thread.is_idle) record.boolean("idle", true);
  record.number("finding", thread.finding);
  if (!thread.is_readable) record.boolean("readable", false);
  if (thread.is_of_kernel) record.boolean("kernel", true);
  if (thread.ruby) record.object("ruby", ruby_record(*thread.ruby));
  add_stack(named(report, thread.stack), record);
  return record;
}

JsonRecord fiber_record(const StackReport& report,
                        const FiberSeen& fiber,
                        std::optional<std::size_t> group) {
  JsonRecord record;
  record.address("address", fiber.address);
  record.text_unless_empty("name", fiber.name);
  record.text_unless_empty("context", fiber.context);
  record.text_unless_empty("of_thread", fiber.of_thread);
  if (fiber.is_of_runtime) record.boolean("runtime", true);
  if (fiber.thread) record.number("thread", report.threads.at(*fiber.thread).tid);
  record.text_unless_empty("own_function", fiber.function);
  record.text("wait", snapshot::word_for(snapshot::kWaitWords, fiber.wait.kind));
  if (fiber.wait.object.value != 0) record.address("object", fiber.wait.object.value);
  record.text_unless_empty("type", fiber.wait.type);
  record.text_unless_empty("holder", fiber.wait.holder);
  if (fiber.wait.process) record.number("process", *fiber.wait.process);
  record.text_unless_empty("descriptor", fiber.wait.descriptor);
  if (fiber.wait.owner) record.address("owner", report.fibers.at(*fiber.wait.owner).address);
  if (fiber.wait.left) {
    record.raw("left_s", decimal(static_cast<double>(fiber.wait.left->count()) / 1000));
  }
  record.number("finding", fiber.finding);
  if (group) record.number("group", *group);
  return record;
}

}  // namespace

std::string format_stacks_json(const StackReport& report) {
  std::vector<std::optional<std::size_t>> group_of(report.fibers.size());
  for (std::size_t group = 0; group < report.groups.size(); ++group) {
    for (const std::size_t fiber : report.groups[group].fibers) group_of[fiber] = group;
  }
  JsonRecord record;
  record.number("version", 1);
  record.number("pid", report.pid);
  record.text_unless_empty("exe", report.exe);
  record.attributes_unless_empty("resource", report.resource);
  if (report.saved) record.text("snapshot", report.saved->captured);
  if (report.core) {
    JsonRecord core;
    if (report.core->signal != 0) {
      core.number("signal", report.core->signal);
      core.number("thread", report.core->thread);
    }
    record.object("core", std::move(core));
  } else {
    const double pause = std::chrono::duration<double, std::milli>(report.pause).count();
    record.raw("pause_ms", decimal(pause));
  }
  record.list("findings", stacks::texts_of(report.findings));
  record.list_unless_empty("remarks", stacks::texts_of(report.remarks));
  record.list_unless_empty("warnings", report.warnings);
  record.open_list("threads");
  for (const ThreadSeen& thread : report.threads) record.item(thread_record(report, thread));
  record.close_list();
  record.open_list("fibers");
  for (std::size_t i = 0; i < report.fibers.size(); ++i) {
    record.item(fiber_record(report, report.fibers[i], group_of[i]));
  }
  record.close_list();
  record.open_list("groups");
  for (const stacks::FiberGroup& group : report.groups) {
    JsonRecord inner;
    inner.number("fibers", group.fibers.size());
    add_stack(named(report, group.stack), inner);
    record.item(std::move(inner));
  }
  record.close_list();
  return std::move(record).line();
}

}  // namespace heapattach
