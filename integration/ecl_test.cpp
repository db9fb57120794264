// ECL: objects are counted by its type names.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "integration/language_counts.h"
#include "integration/rounds.h"

namespace heapattach {

TEST_CASE("an ECL program's objects are counted by its type names") {
  const std::string ecl = "/usr/bin/ecl";
  if (::access(ecl.c_str(), X_OK) != 0) {
    print_skip(ecl + " is not installed");
    return;
  }
  const Release release = release_of("ecl", {ecl, "--version"}, {"21.2.1"});
  const std::string code = R"lisp(
(progn
 (defstruct session id user)
 (defclass account () ((number :initarg :number) (owner :initarg :owner)))
 (defvar *kept* nil)
 (defvar *all* nil)
 (defun many (n how)
   (let ((a (make-array n))) (dotimes (i n a) (setf (aref a i) (funcall how i)))))
 (defun forget ()
   (loop while *kept* do (let ((rest (cdr *kept*))) (setf (cdr *kept*) nil) (setf *kept* rest)))
   (loop for made across *all* do (fill made nil))
   (setf *all* nil))
 (defun make-all (n)
   (forget)
   (setf *kept* (make-list n :initial-element 7))
   (setf *all* (vector (many n (lambda (i) (make-array 7 :initial-element i)))
                       (many n (lambda (i) (make-session :id i :user i)))
                       (many n (lambda (i) (make-instance 'account :number i :owner i)))
                       (many n (lambda (i) (* 1.5d0 (+ i 0.25d0))))
                       (many n (lambda (i) (make-string 40 :initial-element #\a)))
                       (many n (lambda (i) (expt 7 (+ 60 (mod i 10))))))))
 (defun stop () (si:gc t) (si:gc t) (format t "~%made~%") (finish-output))
 (loop for n = (read) while (> n 0) do (make-all n) (stop))
 (format t "~%~a~%" (length *kept*))
 (finish-output)
 (quit))
)lisp";
  Maker maker({ecl, "--norc", "--eval", code}, release);
  check_differences(maker, 1345,
                    {{"cons", 1},
                     {"vector", 1},
                     {"(elements of vector)", 1},
                     {"SESSION", 1},
                     {"(slots of SESSION)", 1},
                     {"ACCOUNT", 1},
                     {"double-float", 1},
                     {"string", 1},
                     {"bignum", 1}});
  maker.make(2345);
  CHECK(maker.ends_with("2345"));
}

}  // namespace heapattach
