#pragma once

#include "report/format/write/json_record.h"
#include "report/model/model.h"

// The keys about waits in the records of threads and fibers:
//
//   {"record":"thread",…,"waits":{"call":"futex(0x55d0…)","thread":4713,"mutex":"lock"},
//    "own_function":"work (work.c:12)","fiber":"0x7f…","idle":true,"finding":0,"frames":…}
//   {"record":"fiber",…,"waits":{"for":"mutex","object":"0x7f…","type":"Mutex","holder":"Blog::LOCK",
//    "owner":"0x7f…","descriptor":"7: pipe","process":4712,"left_s":9.500,"may_have_limit":true},
//    "own_function":"Blog.publish (blog.cr:34)","context":"DEFAULT","runtime":true,"thread":4711,
//    "of_thread":"4713 SYSMON","finding":0,"frames":…}
//
// `for` is one of the words in model/waits.h; a fiber has no `waits` if the reason is unknown.
// `holder` is the global or field that holds the object; `owner` is the fiber that holds the lock.
// In a thread's record, `thread` is the thread that holds the mutex that it waits for, and `fiber`
// is the fiber that runs on it or, if it is idle, waits there. `of_thread` is the thread whose own
// fiber this is; for Ruby, the thread of a suspended fiber. `finding` is an index, from 0, into
// `findings` of the first record:
//
//   {"record":"snapshot",…,"findings":["deadlock: …"],"remarks":["2 of 3 fibers wait …"]}
//
// A finding is a proven fault; a remark may describe something normal. A snapshot cannot show which
// threads never yield the CPU, because that takes several observations.
namespace heapattach {

void add_findings(const snapshot::Header& header, JsonRecord& record);
void add_waits(const snapshot::Snapshot& snapshot,
               const snapshot::Thread& thread,
               JsonRecord& record);
void add_waits(const snapshot::Snapshot& snapshot,
               const snapshot::Fiber& fiber,
               JsonRecord& record);

}  // namespace heapattach
