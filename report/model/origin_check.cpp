#include "report/model/origin_check.h"

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace heapattach::snapshot {

namespace {

// Parses "2026-11-20T09:00:00Z" into the day and the seconds since midnight. That is enough to
// compare two start times, which may differ a little because the clock was set.
std::optional<std::pair<std::string_view, int>> day_and_second(std::string_view time) {
  constexpr std::size_t kDay = 10;
  if (time.size() < kDay + 9 || time[kDay] != 'T') return std::nullopt;
  int parts[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const at = time.data() + kDay + 1 + 3 * i;
    if (std::from_chars(at, at + 2, parts[i]).ptr != at + 2) return std::nullopt;
  }
  return std::pair(time.substr(0, kDay), parts[0] * 3600 + parts[1] * 60 + parts[2]);
}

bool is_same_start(std::string_view a, std::string_view b) {
  constexpr int kSlack = 2;  // the kernel's time of boot moves when the clock is set
  if (a == b) return true;
  const auto at_a = day_and_second(a);
  const auto at_b = day_and_second(b);
  return at_a && at_b && at_a->first == at_b->first &&
         std::abs(at_a->second - at_b->second) <= kSlack;
}

bool is_same_program(const Header& a, const Header& b) {
  if (!a.build_id.empty() && !b.build_id.empty()) return a.build_id == b.build_id;
  return a.exe == b.exe;
}

// Whether the snapshot is from a core file, which has neither the machine nor the start time of its
// process.
bool is_core(const Header& header) {
  return header.source == "core";
}

bool is_same_process(const Header& a, const Header& b) {
  if (a.pid != b.pid || !is_same_program(a, b)) return false;
  return is_core(a) || is_core(b) || (a.host == b.host && is_same_start(a.started, b.started));
}

// Whether the times have the form that this program writes, in which they sort like texts.
bool are_times_of_one_form(std::string_view a, std::string_view b) {
  return !a.empty() && a.size() == b.size() && a.back() == 'Z' && b.back() == 'Z';
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "an unknown program" : text;
}

void remark_identity(const NamedSnapshot& a, const NamedSnapshot& b, OriginCheck& origins) {
  const Header& of_a = a.snapshot->header;
  const Header& of_b = b.snapshot->header;
  if (is_same_process(of_a, of_b)) {
    if (!is_core(of_a) && !is_core(of_b)) return;
    origins.remarks.push_back(
        fmt::format("a core file does not record the machine or the start time of its process: {} "
                    "and {} are assumed to be the same process, by pid and program",
                    a.name, b.name));
    return;
  }
  origins.is_same_process = false;
  std::string what;
  if (!is_same_program(of_a, of_b)) {
    what = of_a.exe == of_b.exe ? fmt::format("{} and {} are from two builds of {}", a.name, b.name,
                                              or_unknown(of_a.exe))
                                : fmt::format("{} is from {}, {} is from {}: two programs", a.name,
                                              or_unknown(of_a.exe), b.name, or_unknown(of_b.exe));
  } else {
    what = fmt::format("{} and {} are from two processes of {} ({} and {})", a.name, b.name,
                       or_unknown(of_a.exe), of_a.pid, of_b.pid);
  }
  origins.remarks.push_back(what +
                            "; types are compared by name, single objects cannot be matched");
}

void remark_times(const NamedSnapshot& a, const NamedSnapshot& b, OriginCheck& origins) {
  const std::string& at_a = a.snapshot->header.captured;
  const std::string& at_b = b.snapshot->header.captured;
  if (!are_times_of_one_form(at_a, at_b)) return;
  if (at_a > at_b) {
    origins.remarks.push_back(
        fmt::format("{} was taken after {} ({} and {}): are they in the wrong order? growth "
                    "would be shown with the wrong sign",
                    a.name, b.name, at_a, at_b));
  } else if (at_a == at_b && is_same_process(a.snapshot->header, b.snapshot->header)) {
    origins.remarks.push_back(fmt::format(
        "{} and {} were taken at the same moment: nothing can have grown", a.name, b.name));
  }
}

std::optional<double> untyped_share(const Header& header) {
  if (!header.typed) return std::nullopt;
  const TypedBytes& typed = *header.typed;
  const std::uint64_t all = typed.header + typed.vtable + typed.referrer + typed.unknown;
  if (all == 0) return std::nullopt;
  return 100.0 * static_cast<double>(typed.unknown) / static_cast<double>(all);
}

// Remarks if one snapshot has far more bytes without a type. If debug information was available for
// only one of them, the objects have other names but are the same.
void remark_types(const NamedSnapshot& a, const NamedSnapshot& b, OriginCheck& origins) {
  constexpr double kMuch = 25;
  const auto of_a = untyped_share(a.snapshot->header);
  const auto of_b = untyped_share(b.snapshot->header);
  if (!of_a || !of_b || std::abs(*of_a - *of_b) < kMuch) return;
  origins.remarks.push_back(
      fmt::format("in {} {:.0f} % of the bytes have no type, in {} {:.0f} %: apparent growth "
                  "may only be a missing name",
                  a.name, *of_a, b.name, *of_b));
}

}  // namespace

OriginCheck check_origins(std::span<const NamedSnapshot> snapshots) {
  OriginCheck origins;
  for (std::size_t i = 0; i + 1 < snapshots.size(); ++i) {
    remark_identity(snapshots[i], snapshots[i + 1], origins);
    remark_times(snapshots[i], snapshots[i + 1], origins);
    remark_types(snapshots[i], snapshots[i + 1], origins);
  }
  for (const NamedSnapshot& one : snapshots) {
    if (one.snapshot->complete) continue;
    origins.remarks.push_back(fmt::format("{} is partial: {}", one.name, one.snapshot->reason));
  }
  return origins;
}

}  // namespace heapattach::snapshot
