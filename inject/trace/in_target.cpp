#include "inject/trace/in_target.h"

#include "inject/choose_thread.h"
#include "inject/padding.h"

namespace heapattach::trace {

namespace {

constexpr const char* kAdvice = "--snapshot freeze --stacks, which writes nothing to the process";

}  // namespace

Result<InTarget> InTarget::borrow(RemoteControl& control,
                                  const Process& target,
                                  const MemoryMap& map,
                                  const FrozenView& view) {
  const auto stubs = find_paddings(map, control.memory(), Stub::size_bytes());
  if (stubs.empty()) {
    return Error{ErrorKind::Impossible,
                 "there is no padding after its code for the instructions of a system call"}
        .advise(kAdvice);
  }
  auto thread = choose_thread({control, target, map, stubs}, stopped_threads(view));
  if (!thread) return std::move(thread).error().advise(kAdvice);
  return InTarget(control, *thread, view.deadline);
}

Result<std::uint64_t> InTarget::call(std::string_view doing,
                                     long number,
                                     std::initializer_list<std::uint64_t> arguments,
                                     std::string_view text) {
  const RemoteCall call{
      .number = number, .arguments = arguments, .deadline = deadline_, .name = text};
  const CallResult result = HA_TRY(make_call(*control_, thread_, call));
  constexpr std::int64_t kMostErrno = 4095;
  if (result.value >= 0 || result.value < -kMostErrno) {
    return static_cast<std::uint64_t>(result.value);
  }
  Error error = os_error(doing, static_cast<int>(-result.value));
  error.kind = ErrorKind::Impossible;  // the kernel has refused the target, not us
  return error;
}

}  // namespace heapattach::trace
