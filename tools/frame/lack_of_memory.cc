// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/lack_of_memory.h"

#include <cxxabi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string_view>

#include "base/formats/json.h"
#include "base/lack_of_memory.h"
#include "tools/console/exit_code.h"

namespace egret::tools {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// What the libraries take until main() begins: the allocator's first segment, 32 MiB, for which it
// may reserve twice as much to find an aligned one, and some MiB for tables.
constexpr std::size_t kToBegin = 80 * kMiB;
constexpr std::size_t kStack = 1 * kMiB;

constexpr int kLimit = static_cast<int>(ExitCode::kLimit);

void write_parts(int descriptor, std::string_view before, std::string_view after) {
  const auto part = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()};
  };
  const std::array<iovec, 3> parts = {part(before), part(kNoMemory), part(after)};
  // Where this fails there is nobody to tell.
  [[maybe_unused]] const ssize_t written =
      ::writev(descriptor, parts.data(), static_cast<int>(parts.size()));
}

std::terminate_handler before = nullptr;

// Without a current exception there is nothing to ask: a joinable thread was destroyed, say.
[[noreturn]] void on_terminate() {
  if (abi::__cxa_current_exception_type() != nullptr) {
    try {
      throw;
    } catch (const std::exception& thrown) {
      if (base::is_lack_of_memory(thrown)) ::_exit(say_no_memory());
    } catch (...) {  // the handler before says what it is
    }
  }
  if (before != nullptr) before();
  ::_exit(static_cast<int>(ExitCode::kInternal));
}

// Runs before the libraries initialize themselves, when all are loaded.
[[maybe_unused]] void before_libraries(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  before = std::set_terminate(on_terminate);
  if (!base::has_room(kToBegin)) ::_exit(say_no_memory());
}

#if defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::section(".preinit_array"), gnu::used]] void (*at_start)(int, char**,
                                                               char**) = &before_libraries;
#endif

}  // namespace

int say_no_memory(bool json) {
  write_parts(STDERR_FILENO, "egret: error: ", "\n");
  if (json) {
    static_assert(base::kJsonSchemaVersion == 1, "as the document below says");
    std::fflush(stdout);
    write_parts(STDOUT_FILENO,
                "{\n  \"schema_version\": 1,\n  \"error\": {\n    \"code\": 5,\n"
                "    \"kind\": \"limit hit\",\n    \"message\": \"",
                "\"\n  }\n}\n");
  }
  return kLimit;
}

// One byte of the lowest page lets the stack grow down to it.
[[gnu::noinline]] void reserve_stack() {
  volatile std::byte room[kStack];
  room[0] = std::byte{0};
  (void)room[0];
}

}  // namespace egret::tools
