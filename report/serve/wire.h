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
// front may be under an attacker's control: the keeper accepts only numbers from it, and checks
// them.
namespace heapattach::serve {

struct AskMessage {
  std::uint64_t asker = 0;
  What what = What::Processes;
  bool is_over = false;  // the asker no longer waits for its answer
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

// Makes two connected non-blocking sockets for these messages.
Result<std::pair<Fd, Fd>> make_wire();

// Returns false if the other side is gone, or accepts nothing for a while.
[[nodiscard]] bool send(int wire, const AskMessage& ask);
[[nodiscard]] bool send(int wire, const Answer& answer);

enum class Received : std::uint8_t { Message, Nothing, End };
[[nodiscard]] Received receive(int wire, AskMessage& ask);
[[nodiscard]] Received receive(int wire, ReceivedAnswer& answer);

// The answer to What::Processes: the list of processes, with the keeper's account of each.
struct ServerState {
  std::vector<Account> accounts;             // without their budgets
  std::vector<std::int64_t> budget_left_ns;  // the rest of each account's budget
  std::size_t left_out = 0;
  std::int64_t budget_ns = 0;  // per minute
};
[[nodiscard]] std::vector<std::byte> encode(const Schedule& schedule,
                                            std::chrono::nanoseconds budget,
                                            Schedule::Time now);
[[nodiscard]] std::optional<ServerState> decode(std::span<const std::byte> bytes);

}  // namespace heapattach::serve
