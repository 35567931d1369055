// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/confined_run.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace egret::hostile {
namespace {

[[noreturn]] void child(int out, const std::function<base::Status()>& action) {
  ::alarm(60);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory{std::uint64_t{2} << 30, std::uint64_t{2} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  const base::Status status = action();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const double took = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const std::string report =
      std::to_string(took) + " " + std::to_string(static_cast<double>(usage.ru_maxrss) / 1024) +
      " " + std::to_string(static_cast<int>(status.code())) + " " + status.message();
  ssize_t done = 0;
  while (done < static_cast<ssize_t>(report.size())) {
    const ssize_t n = ::write(out, report.data() + done, report.size() - static_cast<size_t>(done));
    if (n <= 0) break;
    done += n;
  }
  ::_exit(0);
}

}  // namespace

ConfinedResult run_confined(const std::function<base::Status()>& action) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t pid = ::fork();
  if (pid < 0) return {};
  if (pid == 0) {
    ::close(ends[0]);
    child(ends[1], action);
  }
  ::close(ends[1]);
  std::string report;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(ends[0], buffer, sizeof buffer)) > 0)
    report.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);

  ConfinedResult result;
  result.finished = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !report.empty();
  if (!result.finished) return result;
  std::size_t used = 0;
  result.seconds = std::stod(report, &used);
  report.erase(0, used);
  result.peak_megabytes = std::stod(report, &used);
  report.erase(0, used);
  result.code = static_cast<base::StatusCode>(std::stoi(report, &used));
  result.message = report.substr(used + 1);
  return result;
}

}  // namespace egret::hostile
