// Guile: objects are counted by its type names.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/language_counts.h"
#include "integration/rounds.h"
#include "integration/tool.h"

namespace heapattach {

namespace {

using std::chrono::seconds;

void check_guile(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) {
    print_skip(program + " is not installed");
    return;
  }
  const Release release = release_of("guile", {program, "--version"}, {"3.0.8", "2.2.7"});
  const std::string code = R"scheme(
(begin
 (use-modules (srfi srfi-9) (rnrs bytevectors))
 (define-record-type <session> (make-session id user) session? (id session-id) (user user-of))
 (define kept '())
 (define all #f)
 (define (many n how)
   (let ((v (make-vector n 0)))
     (do ((i 0 (+ i 1))) ((= i n) v) (vector-set! v i (how i)))))
 (define (forget)
   (do () ((null? kept))
     (let ((rest (cdr kept))) (set-cdr! kept '()) (set! kept rest)))
   (if all (do ((i 0 (+ i 1))) ((= i 5)) (vector-fill! (vector-ref all i) 0)))
   (set! all #f))
 (define (make-all n)
   (forget)
   (set! kept (iota n))
   (set! all (vector (many n (lambda (i) (make-vector 7 i)))
                     (many n (lambda (i) (make-session i (make-string 5 #\a))))
                     (many n (lambda (i) (make-bytevector 100 7)))
                     (many n (lambda (i) (+ i 0.5)))
                     (many n (lambda (i) (expt 7 (+ 60 (modulo i 10))))))))
 (define (stop) (gc) (gc) (display "made") (newline) (force-output))
 (let loop ((n (read)))
   (if (> n 0)
       (begin (make-all n) (stop) (loop (read)))
       (begin (display (length kept)) (newline)))))
)scheme";
  Maker maker({program, "--no-auto-compile", "-c", code}, release);
  check_differences(maker, 1345,
                    {{"pair", 1},
                     {"vector", 1},
                     {"<session>", 1},
                     {"string", 1},
                     {"stringbuf", 1},
                     {"bytevector", 1},
                     {"flonum", 1},
                     {"bignum", 1}});
  maker.make(2345);
  // Small numbers are stored in the words of records, and are not read.
  const ToolRun found =
      run_tool({"find", "<session>[id > 3]", "--values", fmt::format("{}", maker.pid())});
  CAPTURE(found.errors);
  CHECK(found.status != 0);
  if (release.is_tried) CHECK(found.errors.find("values are not known") != std::string::npos);
  CHECK(maker.ends_with("2345"));
}

}  // namespace

TEST_CASE("a Guile program's objects are counted by its type names") {
  check_guile("/usr/bin/guile-3.0");
  if (is_long_run()) check_guile("/usr/bin/guile-2.2");
}

TEST_CASE("a Guile program that marks from malloc's memory itself has an incomplete heap") {
  const std::string program = "/usr/bin/guile-3.0";
  if (::access(program.c_str(), X_OK) != 0) {
    print_skip(program + " is not installed");
    return;
  }
  const std::string code = R"scheme(
(begin
 (use-modules (system foreign))
 (define (c name result . arguments)
   (pointer->procedure result (dynamic-func name (dynamic-link)) arguments))
 (define name (string->pointer "grob"))
 (define type ((c "scm_make_smob_type" unsigned-long '* size_t) name 0))
 (define data ((c "malloc" '* size_t) 64))
 (define grob (pointer->scm ((c "scm_new_smob" '* unsigned-long '*) type data)))
 (define (stop) (gc) (display "made") (newline) (force-output) (read-line))
 (use-modules (ice-9 rdelim))
 (stop)
 ((c "scm_set_smob_mark" void unsigned-long '*) type (dynamic-func "scm_not" (dynamic-link)))
 (stop)
 (write (list name grob)))
)scheme";
  ChildProcess child({program, "--no-auto-compile", "-c", code});
  for (const bool marks : {false, true}) {
    CAPTURE(marks);
    REQUIRE(child.read_line(seconds(120)) == "made");
    const ToolRun run = run_tool({"count", fmt::format("{}", child.pid())});
    CAPTURE(run.errors);
    CHECK(run.status == (marks ? 7 : 0));
    CHECK(marks == (run.errors.find("itself marks what its grob objects") != std::string::npos));
    child.send_line("");
  }
}

}  // namespace heapattach
