// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/milp_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/timer.h"

namespace egret::extract {
namespace {

struct Header {
  bool proven = false;
  bool infeasible = false;
  double bound = 0;
  std::size_t values = 0;
  std::size_t message = 0;  // bytes of an error, instead of an answer
};

void write_all(int out, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(out, next, size);
    if (n <= 0) return;
    next += n;
    size -= static_cast<std::size_t>(n);
  }
}

void write_failure(int out, std::string_view message) {
  const Header failed{.message = message.size()};
  write_all(out, &failed, sizeof failed);
  write_all(out, message.data(), message.size());
}

void write_answer(int out, const base::Result<MilpAnswer>& answer) {
  if (!answer.ok()) return write_failure(out, answer.status().message());
  const Header header{.proven = answer->proven,
                      .infeasible = answer->infeasible,
                      .bound = answer->bound,
                      .values = answer->values.size()};
  write_all(out, &header, sizeof header);
  write_all(out, answer->values.data(), answer->values.size() * sizeof(double));
}

constexpr int kFailed = 1;  // exit code of a child that cannot say what failed

// The child's part: solves, writes the answer to the pipe and leaves without destructors or exit
// handlers, which belong to the parent. So does what catches exceptions: the frames that this one
// was called from would go on in the child as a second parent. The kernel ends it if the parent
// dies.
[[noreturn]] void answer_to(int out, const TimedSolve& solve, double seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::set_terminate([] { ::_exit(kFailed); });
  try {
    write_answer(out, solve(seconds));
  } catch (const std::bad_alloc&) {
    write_failure(out, "not enough memory");
  } catch (...) {
    ::_exit(kFailed);
  }
  ::_exit(0);
}

enum class End : unsigned char { kClosed, kLate, kStopped };

// Reads until the other end is closed, the deadline expires, or should_stop() holds.
End read_all(int in, std::vector<char>& data, const base::Deadline& deadline,
             const std::function<bool()>& should_stop) {
  constexpr int kPollMs = 50;
  char buffer[65536];
  while (true) {
    if (deadline.expired()) return End::kLate;
    if (should_stop && should_stop()) return End::kStopped;
    pollfd ready{in, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t n = ::read(in, buffer, sizeof buffer);
    if (n <= 0) return End::kClosed;
    data.insert(data.end(), buffer, buffer + n);
  }
}

// An answer that is cut short counts as lost. The sizes in the header tell.
MilpAnswer parse(const std::vector<char>& data) {
  MilpAnswer answer;
  answer.lost = true;
  Header header;
  if (data.size() < sizeof header) return answer;
  std::copy_n(data.data(), sizeof header, reinterpret_cast<char*>(&header));
  if (header.message > 0) {
    answer.fate = "failed: " + std::string(data.begin() + sizeof header, data.end());
    return answer;
  }
  if (data.size() != sizeof header + header.values * sizeof(double)) return answer;
  answer.lost = false;
  answer.proven = header.proven;
  answer.infeasible = header.infeasible;
  answer.bound = header.bound;
  answer.values.resize(header.values);
  std::copy_n(data.data() + sizeof header, header.values * sizeof(double),
              reinterpret_cast<char*>(answer.values.data()));
  return answer;
}

// Describes the end of a process that ended by itself without an answer.
std::string fate_of(int status) {
  if (WIFSIGNALED(status)) return "crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
  return "ended without an answer (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

// Runs a solver in a forked process. A solver may crash, or may not look at its clock for minutes;
// a process can be ended from outside in both cases, a thread cannot. The child has a copy of the
// program, so only the answer is transferred. Without a second process the solver runs here.
base::Result<MilpAnswer> solve_in_process(const TimedSolve& solve, double seconds,
                                          const std::function<bool()>& should_stop) {
  // Solvers exceed their limits somewhat, so they get a shorter one.
  const double told = seconds - std::min(0.1 * seconds, std::max(0.5, 0.03 * seconds));
  int ends[2];
  if (::pipe(ends) != 0) return solve(seconds);
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return solve(seconds);
  }
  if (child == 0) {
    ::close(ends[0]);
    answer_to(ends[1], solve, told);
  }
  ::close(ends[1]);
  std::vector<char> data;
  const End end = read_all(ends[0], data, base::Deadline::after(seconds), should_stop);
  ::close(ends[0]);
  if (end != End::kClosed) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (end != End::kClosed) data.clear();
  MilpAnswer answer = parse(data);
  if (end == End::kLate) answer.fate = "ran past its time and was ended";
  if (end == End::kClosed && answer.lost && answer.fate.empty()) answer.fate = fate_of(status);
  return answer;
}

}  // namespace egret::extract
