// SPDX-License-Identifier: Apache-2.0
#include "base/system/shell_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/stop.h"
#include "base/timer.h"

extern char** environ;

namespace egret::base {
namespace {

constexpr int kShortestNapMs = 1;
constexpr int kLongestNapMs = 50;  // how soon a stop is noticed

void kill_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
  while (::waitpid(leader, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<int> run_command(const std::string& command, double seconds) {
  std::vector<std::string> words = {"/bin/sh", "-c", command};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int failure =
      ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return unavailable(std::string("cannot start /bin/sh: ") + std::strerror(failure));
  const Stopwatch watch;
  for (int nap = kShortestNapMs;; nap = std::min(2 * nap, kLongestNapMs)) {
    int state = 0;
    if (::waitpid(pid, &state, WNOHANG) == pid) {
      ::kill(-pid, SIGKILL);  // what it left running
      return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }
    if (stop_requested()) {
      kill_group(pid);
      return limit_hit("interrupted while a command ran");
    }
    if (watch.seconds() > seconds) {
      kill_group(pid);
      return limit_hit("the command did not end within " +
                       std::to_string(static_cast<int>(seconds)) + " s");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(nap));
  }
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace egret::base
