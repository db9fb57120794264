// The watchdog of the live tests: after a mistake with ptrace, a test hangs instead of failing. An
// alarm ends the tests and all their targets, after a time that depends on the form (short or
// long); ctest's own limit has to allow for the long form. The watchdog also keeps heapattach out
// of the user's cache.

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <cstdlib>

#include <doctest/doctest.h>
#include <unistd.h>

#include "integration/rounds.h"

namespace {

struct Watchdog : doctest::IReporter {
  explicit Watchdog(const doctest::ContextOptions& /*options*/) {}
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {
    ::setenv("XDG_CACHE_HOME", "/dev/null", 1);
    ::unsetenv("DEBUGINFOD_URLS");
  }
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_start(const doctest::TestCaseData& /*test*/) override {
    ::alarm(heapattach::is_long_run() ? 1700 : 300);
  }
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override { ::alarm(0); }
  void test_case_exception(const doctest::TestCaseException& /*what*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*name*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*what*/) override {}
  void log_message(const doctest::MessageData& /*what*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}
};

}  // namespace

REGISTER_LISTENER("watchdog", 1, Watchdog);
