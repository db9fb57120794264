#include "report/format/write/diagnosis_formats.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

diagnose::Finding finding(std::string_view kind, std::string sentence) {
  return {.kind = kind,
          .severity = diagnose::Severity::Fault,
          .sentence = std::move(sentence),
          .evidence = {"a line"},
          .next = "stacks 4711"};
}

DiagnosisReport deadlocked() {
  DiagnosisReport report;
  report.evidence.pid = 4711;
  report.evidence.exe = "/srv/app";
  report.evidence.not_examined = {"the heap: it is musl's"};
  report.verdict.kind = "deadlock";
  report.verdict.sentence = "deadlock: two threads";
  report.verdict.is_fault = true;
  report.verdict.findings = {finding("deadlock", "deadlock: two threads"),
                             finding("leaking", "leaking: some \x1b[31m")};
  report.verdict.looked_at = {"2 threads", "limits"};
  report.verdict.next = "stacks 4711";
  return report;
}

}  // namespace

TEST_CASE("a diagnosis begins with the verdict and ends with the next command") {
  CHECK(format_diagnosis_text(deadlocked(), {}) ==
        "deadlock: two threads\n"
        "    a line\n"
        "also: leaking: some \\x1b[31m\n"
        "    a line\n"
        "\n"
        "looked at: 2 threads, limits\n"
        "not looked at: the heap: it is musl's\n"
        "next: heapattach stacks 4711\n");
}

TEST_CASE("at most three findings are shown, and one line for each of several processes") {
  DiagnosisReport report = deadlocked();
  report.verdict.findings.push_back(finding("limit", "near a limit: third"));
  report.verdict.findings.push_back(finding("limit", "near a limit: fourth"));
  const std::string text = format_diagnosis_text(report, {});
  CHECK(text.find("third") != std::string::npos);
  CHECK(text.find("fourth") == std::string::npos);
  CHECK(text.find("… 1 more: -f json has all\n") != std::string::npos);
  report.is_one_of_several = true;
  report.name = "web";
  CHECK(format_diagnosis_text(report, {}) == "4711 (web): deadlock: two threads\n");
}

TEST_CASE("a diagnosis says how long the process was stopped") {
  DiagnosisReport report = deadlocked();
  report.evidence.is_live = true;
  report.evidence.pause_ms = 2.94;
  CHECK(format_diagnosis_text(report, {}).find("\npaused for: 2.9 ms\nnext: ") !=
        std::string::npos);
}

TEST_CASE("no command is shown if none can work") {
  DiagnosisReport report = deadlocked();
  report.verdict.next.clear();
  for (diagnose::Finding& one : report.verdict.findings) one.next.clear();
  CHECK(format_diagnosis_text(report, {}).find("next:") == std::string::npos);
  CHECK(format_diagnosis_json(report).find("next") == std::string::npos);
}

TEST_CASE("a diagnosis as JSON has stable kinds") {
  DiagnosisReport report = deadlocked();
  report.verdict.findings.pop_back();
  CHECK(format_diagnosis_json(report) ==
        R"({"version":1,"report":"diagnose","pid":4711,"exe":"/srv/app","verdict":"deadlock",)"
        R"("sentence":"deadlock: two threads","found":true,"findings":[{"kind":"deadlock",)"
        R"("severity":"fault","sentence":"deadlock: two threads","evidence":["a line"],)"
        R"("next":"heapattach stacks 4711"}],"looked_at":["2 threads","limits"],)"
        R"("not_looked_at":["the heap: it is musl's"],"next":"heapattach stacks 4711"})"
        "\n");
}

}  // namespace heapattach
