#include "attach/process/permission.h"

#include <doctest/doctest.h>

namespace heapattach {

namespace {

AccessFacts as_user(uid_t uid) {
  AccessFacts facts;
  facts.our_uid = uid;
  facts.target_uid = uid;
  return facts;
}

bool says(const AccessFacts& facts, const char* part) {
  const Error error = explain_denied(facts);
  CHECK(error.kind == ErrorKind::Denied);
  CHECK_FALSE(error.advice.empty());
  CAPTURE(error.text());
  return error.text().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a refusal names the rule and the remedy") {
  AccessFacts facts = as_user(1000);
  SUBCASE("another user") {
    facts.target_uid = 33;
    CHECK(says(facts, "user 33"));
    CHECK(says(facts, "run as root"));
    CHECK(says(facts, "or run as user 33"));
  }
  SUBCASE("a setuid program") {
    facts.has_same_ids = false;
    CHECK(says(facts, "setuid"));
  }
  SUBCASE("not dumpable") {
    facts.is_dumpable = false;
    CHECK(says(facts, "non-dumpable"));
    CHECK(says(facts, "run as root"));
  }
  SUBCASE("Yama 1") {
    facts.yama_scope = 1;
    CHECK(says(facts, "ptrace_scope is 1"));
    CHECK(says(facts, "run as root"));
  }
  SUBCASE("Yama 2") {
    facts.yama_scope = 2;
    CHECK(says(facts, "ptrace_scope is 2"));
  }
  SUBCASE("Yama 3, even with the capability") {
    facts.yama_scope = 3;
    facts.has_capability = true;
    CHECK(says(facts, "ptrace_scope is 3"));
    CHECK_FALSE(says(facts, "run as root"));
  }
  SUBCASE("nothing visible") {
    facts.yama_scope = 0;
    CHECK(says(facts, "CAP_SYS_PTRACE"));
    CHECK(says(facts, "run as root"));
  }
}

TEST_CASE("another user is reported before other rules that also apply") {
  AccessFacts facts = as_user(1000);
  facts.target_uid = 0;
  facts.has_same_ids = false;
  facts.is_dumpable = false;
  facts.yama_scope = 1;
  CHECK(says(facts, "belongs to user 0"));
}

TEST_CASE("with the capability, the remaining rule is named") {
  AccessFacts facts = as_user(0);
  facts.has_capability = true;
  SUBCASE("a security module") {
    CHECK(says(facts, "security module"));
  }
  SUBCASE("a filter") {
    facts.is_filtered = true;
    CHECK(says(facts, "seccomp"));
  }
  SUBCASE("a user namespace") {
    facts.has_same_user_namespace = false;
    CHECK(says(facts, "user namespace"));
  }
}

TEST_CASE("root is never advised to run as root") {
  for (const bool has_capability : {false, true}) {
    for (const int scope : {0, 1, 2, 3}) {
      AccessFacts facts = as_user(0);
      facts.target_uid = 1000;
      facts.has_capability = has_capability;
      facts.yama_scope = scope;
      CHECK_FALSE(says(facts, "run as root"));
      if (!has_capability && scope < 3) CHECK(says(facts, "--cap-add=SYS_PTRACE"));
    }
  }
}

}  // namespace heapattach
