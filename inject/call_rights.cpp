#include "inject/call_rights.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "inject/call_names.h"

namespace heapattach {

namespace {

constexpr std::uint64_t kWriteFile = 1U << 1;
constexpr std::uint64_t kRemoveDirectory = 1U << 4;
constexpr std::uint64_t kRemoveFile = 1U << 5;
constexpr std::uint64_t kMakeCharacterDevice = 1U << 6;
constexpr std::uint64_t kMakeDirectory = 1U << 7;
constexpr std::uint64_t kMakeFile = 1U << 8;
constexpr std::uint64_t kMakeSocket = 1U << 9;
constexpr std::uint64_t kMakeFifo = 1U << 10;
constexpr std::uint64_t kMakeBlockDevice = 1U << 11;
constexpr std::uint64_t kMakeLink = 1U << 12;
constexpr std::uint64_t kMoveBetweenDirectories = 1U << 13;
constexpr std::uint64_t kTruncate = 1U << 14;
constexpr std::uint64_t kControlDevice = 1U << 15;

constexpr std::uint64_t kOpen = kWriteFile | kMakeFile | kTruncate;
constexpr std::uint64_t kNodes =
    kMakeCharacterDevice | kMakeBlockDevice | kMakeFile | kMakeSocket | kMakeFifo;
constexpr std::uint64_t kLink = kNodes | kMakeLink | kMoveBetweenDirectories;
constexpr std::uint64_t kRename = kLink | kMakeDirectory | kRemoveDirectory | kRemoveFile;

constexpr std::uint64_t kBindTcp = 1U << 0;
constexpr std::uint64_t kConnectTcp = 1U << 1;
constexpr std::uint64_t kAbstractSocket = 1U << 0;
constexpr std::uint64_t kSignal = 1U << 1;

struct Needs {
  std::string_view call;
  LandlockRights rights;
};

// Landlock has no rights for chmod, chown, utime and extended attributes. Only the system call
// filter refuses these.
constexpr std::array kNeeds{
    Needs{"open", {.files = kOpen}},
    Needs{"openat", {.files = kOpen}},
    Needs{"openat2", {.files = kOpen}},
    Needs{"open_by_handle_at", {.files = kOpen}},
    Needs{"creat", {.files = kOpen}},
    Needs{"mkdir", {.files = kMakeDirectory}},
    Needs{"mkdirat", {.files = kMakeDirectory}},
    Needs{"rmdir", {.files = kRemoveDirectory}},
    Needs{"unlink", {.files = kRemoveFile}},
    Needs{"unlinkat", {.files = kRemoveFile | kRemoveDirectory}},
    Needs{"rename", {.files = kRename}},
    Needs{"renameat", {.files = kRename}},
    Needs{"renameat2", {.files = kRename}},
    Needs{"link", {.files = kLink}},
    Needs{"linkat", {.files = kLink}},
    Needs{"symlink", {.files = kMakeLink}},
    Needs{"symlinkat", {.files = kMakeLink}},
    Needs{"mknod", {.files = kNodes}},
    Needs{"mknodat", {.files = kNodes}},
    Needs{"truncate", {.files = kTruncate}},
    Needs{"ioctl", {.files = kControlDevice}},
    Needs{"bind", {.files = kMakeSocket, .network = kBindTcp, .scoped = 0}},
    Needs{"connect", {.files = 0, .network = kConnectTcp, .scoped = kAbstractSocket}},
    Needs{"sendto", {.files = 0, .network = kConnectTcp, .scoped = kAbstractSocket}},
    Needs{"sendmsg", {.files = 0, .network = kConnectTcp, .scoped = kAbstractSocket}},
    Needs{"sendmmsg", {.files = 0, .network = kConnectTcp, .scoped = kAbstractSocket}},
    Needs{"kill", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"tkill", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"tgkill", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"rt_sigqueueinfo", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"rt_tgsigqueueinfo", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"pidfd_send_signal", {.files = 0, .network = 0, .scoped = kSignal}},
    Needs{"fcntl", {.files = 0, .network = 0, .scoped = kSignal}}};

}  // namespace

LandlockRights rights_for(std::span<const int> calls) {
  LandlockRights all;
  for (const int number : calls) {
    const auto* const needs =
        std::find_if(kNeeds.begin(), kNeeds.end(),
                     [name = call_name(number)](const Needs& one) { return one.call == name; });
    if (needs == kNeeds.end()) continue;
    all.files |= needs->rights.files;
    all.network |= needs->rights.network;
    all.scoped |= needs->rights.scoped;
  }
  return all;
}

}  // namespace heapattach
