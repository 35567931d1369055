// SPDX-License-Identifier: Apache-2.0
#include "base/system/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/stop.h"
#include "base/timer.h"

extern char** environ;

namespace egret::base {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20;
constexpr std::size_t kKeptErrors = 2000;  // bytes of standard error, the last
constexpr int kPollMs = 50;                // how soon a stop is noticed
constexpr int kPatienceMs = 500;           // for a program that was asked to end

void close_once(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(std::vector<std::string> command) {
  auto child = std::unique_ptr<ChildProcess>(new ChildProcess);
  child->name_ = command.front();
  std::array<int, 2> input{-1, -1};
  std::array<int, 2> output{-1, -1};
  std::array<int, 2> errors{-1, -1};
  const bool open = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) == 0 &&
                    ::pipe2(output.data(), O_CLOEXEC) == 0 &&
                    ::pipe2(errors.data(), O_CLOEXEC) == 0;
  child->input_ = input[0];
  child->output_ = output[0];
  child->errors_ = errors[0];
  int failure = open ? 0 : errno;
  if (open) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own: a signal of the terminal reaches us alone, and kill() all of it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    failure = ::posix_spawnp(&child->pid_, words[0], &actions, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  close_once(input[1]);
  close_once(output[1]);
  close_once(errors[1]);
  if (failure != 0) {
    child->pid_ = -1;
    return unavailable("cannot start " + child->name_ + ": " + std::strerror(failure));
  }
  ::fcntl(child->errors_, F_SETFL, O_NONBLOCK);
  return child;
}

ChildProcess::~ChildProcess() {
  close_once(input_);
  for (int waited = 0; pid_ > 0 && waited < kPatienceMs; waited += 10) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    if (pid_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill();
  close_once(output_);
  close_once(errors_);
}

void ChildProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void ChildProcess::drain_errors() {
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(errors_, buffer.data(), buffer.size())) > 0;)
    last_errors_.append(buffer.data(), static_cast<std::size_t>(got));
  if (last_errors_.size() > kKeptErrors) last_errors_.erase(0, last_errors_.size() - kKeptErrors);
}

Status ChildProcess::ended(std::string_view what) {
  drain_errors();
  kill();
  while (!last_errors_.empty() && last_errors_.back() == '\n') last_errors_.pop_back();
  return unavailable(name_ + " " + std::string(what) +
                     (last_errors_.empty() ? "" : ":\n" + last_errors_));
}

Status ChildProcess::send(std::string_view line) {
  std::string rest = std::string(line) + "\n";
  std::size_t sent = 0;
  while (pid_ > 0 && sent < rest.size()) {
    const ssize_t count = ::send(input_, rest.data() + sent, rest.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ended("has ended");
    sent += static_cast<std::size_t>(count);
  }
  return pid_ > 0 ? ok() : ended("has ended");
}

Result<std::string> ChildProcess::receive(double seconds) {
  const Stopwatch watch;
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestLine) {
      kill();
      return limit_hit(name_ + " sent a line beyond 16 MiB");
    }
    if (stop_requested()) {
      kill();
      return limit_hit("interrupted while waiting for " + name_);
    }
    if (watch.seconds() > seconds) {
      kill();
      return limit_hit(name_ + " did not answer within " +
                       std::to_string(static_cast<int>(seconds)) + " s");
    }
    if (pid_ <= 0) return ended("has ended");
    std::array<pollfd, 2> open{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0}};
    if (::poll(open.data(), open.size(), kPollMs) <= 0) continue;
    if ((open[1].revents & POLLIN) != 0) drain_errors();
    if (open[0].revents == 0) continue;
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ended("has ended");
    received_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace egret::base
