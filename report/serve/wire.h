#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/fd.h"
#include "attach/base/result.h"
#include "report/exit_status.h"
#include "report/serve/capture.h"
#include "report/serve/schedule.h"

// The messages between the keeper, which has rights and reads no HTTP, and the front, which reads
// HTTP and has no rights. Each is one packet of a fixed size; an answer may carry a descriptor. The
// front may be under an attacker's control: the keeper takes nothing from it but numbers, and
// checks these.
namespace heapattach::serve {

struct AskMessage {
  std::uint64_t asker = 0;
  What what = What::Processes;
  bool is_over = false;  // nobody waits any longer for the answer to the asker
  pid_t pid = 0;
  std::int64_t seconds = 0;  // of a recording
};

struct AnswerMessage {
  std::uint64_t asker = 0;
  Outcome outcome = Outcome::Finished;
  bool has_output = false;
  ExitStatus status = ExitStatus::Complete;
  std::int64_t age_ms = 0;
  std::int64_t pause_ns = 0;
  std::int64_t budget_left_ns = 0;
  std::int64_t retry_after_s = 0;
  std::array<char, 480> message{};  // ends with a zero
};

struct ReceivedAnswer {
  AnswerMessage message;
  Fd output;
};

// Two connected sockets for these messages; they do not block.
Result<std::pair<Fd, Fd>> make_wire();

// False if the other side is gone or takes nothing for a while.
[[nodiscard]] bool send(int wire, const AskMessage& ask);
[[nodiscard]] bool send(int wire, const Answer& answer);

enum class Received : std::uint8_t { Message, Nothing, End };
[[nodiscard]] Received receive(int wire, AskMessage& ask);
[[nodiscard]] Received receive(int wire, ReceivedAnswer& answer);

// The list of processes, with what the keeper knows of each, as the answer to What::Processes.
struct ServerState {
  std::vector<Account> accounts;             // without their budgets
  std::vector<std::int64_t> budget_left_ns;  // what is left of the budget of each
  std::size_t left_out = 0;
  std::int64_t budget_ns = 0;  // per minute
};
[[nodiscard]] std::vector<std::byte> encode(const Schedule& schedule,
                                            std::chrono::nanoseconds budget,
                                            Schedule::Time now);
[[nodiscard]] std::optional<ServerState> decode(std::span<const std::byte> bytes);

}  // namespace heapattach::serve
