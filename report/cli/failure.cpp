#include "report/cli/failure.h"

#include "report/cli/errors.h"

namespace heapattach {

ExitStatus report_failure(const Error& error,
                          Stage stage,
                          const Deadline& deadline,
                          Console& console) {
  console.error(error_message(error, stage));
  return exit_status_of(error.kind, stage, deadline.interrupted().value_or(0));
}

}  // namespace heapattach
