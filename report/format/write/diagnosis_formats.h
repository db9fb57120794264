#pragma once

#include <string>

#include "report/diagnose/verdict.h"
#include "report/format/write/table.h"

// Formats a diagnosis.
namespace heapattach {

struct DiagnosisReport {
  diagnose::Evidence evidence;
  diagnose::Verdict verdict;
  bool is_one_of_several = false;  // one line for people
  std::string name;                // of the process, for that line; may be empty
};

// The verdict alone, safe to show.
[[nodiscard]] std::string verdict_line(const diagnose::Verdict& verdict);

[[nodiscard]] std::string format_diagnosis_text(const DiagnosisReport& report,
                                                const TextStyle& style);
[[nodiscard]] std::string format_diagnosis_json(const DiagnosisReport& report);

}  // namespace heapattach
