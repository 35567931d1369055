// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_watch.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/status.h"
#include "runtime/mpi/world.h"

namespace egret::runtime {
namespace {

constexpr int kAsked[] = {SIGINT, SIGTERM};

// The process id of the worker, in the only kind of variable that a signal handler may read.
volatile std::sig_atomic_t worker = 0;

extern "C" void pass_on(int signal) { ::kill(static_cast<pid_t>(worker), signal); }

std::string about_worker(const std::string& what) {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const std::string name = rank == nullptr ? "?" : rank;
  return "rank " + name + " (process " + std::to_string(worker) + ") " + what;
}

// Blocks termination signals for a scope.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t asked;
    sigemptyset(&asked);
    for (const int signal : kAsked) sigaddset(&asked, signal);
    ::sigprocmask(SIG_BLOCK, &asked, &before_);
  }
  ~SignalsHeld() { give_back(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  void give_back() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The watcher forwards signals and reports the end of the worker. The worker's exit code becomes
// its own, and a worker that a signal killed counts as a failed rank.
[[noreturn]] void wait_for_worker(SignalsHeld& held, Say say) {
  struct sigaction action {};
  action.sa_handler = pass_on;
  sigemptyset(&action.sa_mask);
  for (const int signal : kAsked) ::sigaction(signal, &action, nullptr);
  held.give_back();
  while (true) {
    int status = 0;
    const pid_t found = ::waitpid(static_cast<pid_t>(worker), &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) std::_Exit(base::exit_code(base::StatusCode::kInternal));
    if (WIFEXITED(status)) std::_Exit(WEXITSTATUS(status));
    if (WIFSTOPPED(status)) {
      say(about_worker("is stopped; others wait for it"));
      continue;
    }
    const int signal = WTERMSIG(status);
    if (signal == SIGINT || signal == SIGTERM) std::_Exit(128 + signal);
    say(about_worker("was ended by signal " + std::to_string(signal)));
    std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
  }
}

}  // namespace

// A rank that crashes in native code cannot report itself. The process therefore forks: the child
// returns and becomes the rank, and the parent only watches it and never returns.
void watch_rank(Say say) {
  if (!MpiWorld::is_distributed()) return;
  SignalsHeld held;  // until the watcher can forward them
  const pid_t watcher = ::getpid();
  const pid_t made = ::fork();
  if (made > 0) {
    worker = made;
    wait_for_worker(held, say);
  }
  if (made < 0) return;  // it works unwatched
  // The worker dies with its watcher. The check closes the race: the watcher may have died before
  // prctl().
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != watcher) std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
}

}  // namespace egret::runtime
