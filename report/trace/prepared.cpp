#include "report/trace/prepared.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "symbols/crystal/type_sources.h"

namespace heapattach::trace {

Result<boehm::Collector> find_collector(snapshot::Opened& target, const Deadline& deadline) {
  return target.find_as_map_grows(
      [&] { return boehm::find_collector(target.modules, target.memory, target.map, deadline); });
}

Result<Prepared> prepare(const Request& request) {
  snapshot::Opened target = HA_TRY(snapshot::Opened::open(request));
  boehm::Collector collector = HA_TRY(find_collector(target, request.deadline));
  FoundHooks found = HA_TRY(find_hooks(target.modules, collector, target.memory, request.deadline));
  return Prepared{std::move(target), std::move(collector), std::move(found)};
}

namespace {

// Learns only named classes, and only calls that make objects of one class.
Result<void> learn_crystal_types(const Request& request, Prepared& prepared) {
  std::vector<crystal::TypeList> lists;
  if (!request.type_info.empty()) {
    lists = HA_TRY(crystal::read_type_info(request.type_info, request.deadline));
  }
  auto scan = crystal::scan_allocators(prepared.target.modules, prepared.target.memory);
  if (!scan || (!scan->is_crystal && lists.empty())) return {};
  prepared.is_crystal = scan->is_crystal;
  crystal::JoinedTypes joined = crystal::join_types(std::move(lists), *std::move(scan));
  for (const crystal::Type& type : joined.table.types()) {
    for (const std::uint64_t at : type.made_at) {
      const auto [known, is_new] = prepared.types.try_emplace(at, type.name);
      if (!is_new && known->second != type.name) known->second.clear();
    }
  }
  prepared.classes = std::move(joined.table);
  return {};
}

}  // namespace

Result<void> learn_types(const Request& request, Prepared& prepared) {
  HA_TRY(learn_crystal_types(request, prepared));
  const snapshot::Opened& target = prepared.target;
  prepared.objects = ObjectTypes(prepared.classes, target.modules, target.memory);
  return {};
}

std::optional<std::uint64_t> total_bytes(const Prepared& prepared) {
  if (prepared.found.total.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  for (const RemoteAddr variable : prepared.found.total) {
    const auto value = prepared.target.memory.read_as<std::uint64_t>(variable);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

std::optional<double> current_rate(const Prepared& prepared) {
  constexpr std::chrono::milliseconds kRateTime{100};
  const auto begin = std::chrono::steady_clock::now();
  const auto before = total_bytes(prepared);
  std::this_thread::sleep_for(kRateTime);
  const auto after = total_bytes(prepared);
  if (!before || !after || *after < *before) return std::nullopt;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(*after - *before) / time.count();
}

std::optional<std::uint64_t> collections_so_far(const Prepared& prepared) {
  const RemoteAddr variable = prepared.found.hooks.collections;
  if (variable.value == 0) return std::nullopt;
  const auto count = prepared.target.memory.read_as<std::uint64_t>(variable);
  return count ? std::optional(*count) : std::nullopt;
}

}  // namespace heapattach::trace
