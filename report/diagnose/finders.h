#pragma once

#include "report/diagnose/verdict.h"

// The finders, each in the source file of its name, which begins with its threshold and the reason
// for it. verdict.cpp has the list of them.
namespace heapattach::diagnose {

// The report on the memory of the process: its summary, or its stacks if a file has no heap.
[[nodiscard]] std::string next_on_memory(const Evidence& evidence);

// Whether so much of a limit is used that find_limits() reports it.
[[nodiscard]] bool is_near_limit(const LimitedUse& use);

void find_deadlock(const Evidence& evidence, std::vector<Finding>& found);
void find_lost_owner(const Evidence& evidence, std::vector<Finding>& found);
void find_all_waiting(const Evidence& evidence, std::vector<Finding>& found);
void find_busy(const Evidence& evidence, std::vector<Finding>& found);
void find_limits(const Evidence& evidence, std::vector<Finding>& found);
void find_leaking(const Evidence& evidence, std::vector<Finding>& found);
void find_growing(const Evidence& evidence, std::vector<Finding>& found);
void find_fragmented(const Evidence& evidence, std::vector<Finding>& found);
void find_outside(const Evidence& evidence, std::vector<Finding>& found);
void find_swapped(const Evidence& evidence, std::vector<Finding>& found);
void find_open_files(const Evidence& evidence, std::vector<Finding>& found);
void find_many_threads(const Evidence& evidence, std::vector<Finding>& found);
void find_stopped(const Evidence& evidence, std::vector<Finding>& found);
void find_held_up(const Evidence& evidence, std::vector<Finding>& found);
void find_repeated(const Evidence& evidence, std::vector<Finding>& found);
void find_holder(const Evidence& evidence, std::vector<Finding>& found);

}  // namespace heapattach::diagnose
