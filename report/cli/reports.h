#pragma once

#include "report/cli/runner.h"

// The functions of the reports, which report_table.cpp assigns. Each is in the source file of the
// same name.
namespace heapattach {

Result<Answer> run_snapshot(Job& job);  // also counts, with or without sizes
// … from a snapshot that has been taken and lives as long as the job.
Result<Answer> answer_of_snapshot(Job& job, const snapshot::Snapshot& snapshot);
Result<Answer> run_check(Job& job);
Result<Answer> run_stacks(Job& job);
Result<Answer> run_call(Job& job);
Result<Answer> run_ruby_code(Job& job);
Result<Answer> run_inject(Job& job);
Result<Answer> run_diff(Job& job);
Result<Answer> run_watch(Job& job);
Result<Answer> run_strings(Job& job);
Result<Answer> run_summary(Job& job);
Result<Answer> run_diagnose(Job& job);
Result<Answer> run_list(Job& job);
Result<Answer> run_merge(Job& job);
Result<Answer> run_trace(Job& job);
Result<Answer> run_leaks(Job& job);
Result<Answer> run_suspects(Job& job);
Result<Answer> run_why(Job& job);  // these four are in run_explain.cpp
Result<Answer> run_find(Job& job);
Result<Answer> run_graph(Job& job);
Result<Answer> run_object_sizes(Job& job);

}  // namespace heapattach
