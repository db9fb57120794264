#include "symbols/debuginfod/transfers.h"

#include <algorithm>
#include <charconv>

namespace heapattach::debuginfod {

namespace {

constexpr std::uint64_t kAdvance = 1024;  // bytes; more than the library's rounds of waiting
constexpr std::size_t kLongestText = 200;

// Removes the next word from a line, and returns it.
std::string_view take_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

std::optional<std::uint64_t> take_number(std::string_view& rest) {
  const std::string_view word = take_word(rest);
  std::uint64_t value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || read.ec != std::errc() || read.ptr != word.data() + word.size()) return {};
  return value;
}

bool is_ended(const Transfer& transfer) {
  return transfer.state == Transfer::State::Found || transfer.state == Transfer::State::Failed;
}

void advance(Transfer& transfer, std::uint64_t done, std::uint64_t all, Transfers::Time now) {
  if (done >= transfer.seen + kAdvance || all != transfer.all) {
    transfer.seen = done;
    transfer.advanced = now;
  }
  transfer.done = done;
  transfer.all = all;
}

}  // namespace

void Transfers::read(std::string_view line, Time now) {
  const std::string_view what = take_word(line);
  if (what == "missing") {
    loading_problem_ = line.empty() ? "unknown" : std::string(line.substr(0, kLongestText));
    return;
  }
  const auto index = take_number(line);
  if (!index || *index >= transfers_.size() || is_ended(transfers_[*index])) return;
  Transfer& transfer = transfers_[*index];
  if (what == "begin") {
    transfer.state = Transfer::State::Begun;
    transfer.advanced = now;
  } else if (what == "at") {
    const auto done = take_number(line);
    const auto all = take_number(line);
    if (done && all) advance(transfer, *done, *all, now);
  } else if (what == "found" && line.starts_with('/')) {
    transfer.state = Transfer::State::Found;
    transfer.path = line;
  } else if (what == "failed") {
    constexpr std::uint64_t kLargestErrno = 4095;
    transfer.state = Transfer::State::Failed;
    transfer.failure = static_cast<int>(std::min(take_number(line).value_or(0), kLargestErrno));
  }
}

std::size_t Transfers::ended() const {
  return static_cast<std::size_t>(std::ranges::count_if(transfers_, is_ended));
}

std::optional<std::size_t> Transfers::stalled(Time now, std::chrono::milliseconds limit) const {
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    const Transfer& one = transfers_[i];
    if (one.state == Transfer::State::Begun && now - one.advanced >= limit) return i;
  }
  return std::nullopt;
}

}  // namespace heapattach::debuginfod
