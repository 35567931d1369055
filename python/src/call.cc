// SPDX-License-Identifier: Apache-2.0
#include "python/src/call.h"

#include <nanobind/stl/string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/check.h"
#include "base/lack_of_memory.h"
#include "base/stop.h"
#include "base/timer.h"

namespace egret::python {
namespace {

constexpr double kSecondsBetweenReports = 0.1;

// The handler that was there before: Python's own, which makes the interpreter raise
// KeyboardInterrupt as soon as it runs again.
std::atomic<void (*)(int)> handler_before{nullptr};

extern "C" void on_interrupt(int signal) {
  base::request_stop(signal);
  if (auto* before = handler_before.load(); before != nullptr) before(signal);
}

// Python runs its signal handlers on the main thread alone.
bool is_main_thread() { return ::getpid() == static_cast<pid_t>(::syscall(SYS_gettid)); }

bool install_handler() {
  if (!is_main_thread()) return false;
  struct sigaction before {};
  ::sigaction(SIGINT, nullptr, &before);
  const bool is_plain = (before.sa_flags & SA_SIGINFO) == 0;
  if (!is_plain || before.sa_handler == SIG_IGN || before.sa_handler == SIG_DFL) return false;
  if (before.sa_handler == on_interrupt) return false;  // a call within a callback of another one
  handler_before = before.sa_handler;
  struct sigaction action = before;
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  return true;
}

void remove_handler() {
  struct sigaction action {};
  ::sigaction(SIGINT, nullptr, &action);
  action.sa_handler = handler_before.load();
  ::sigaction(SIGINT, &action, nullptr);
}

std::string class_of(base::StatusCode code) {
  switch (code) {
    case base::StatusCode::kUsage: return "Usage";
    case base::StatusCode::kBadInput: return "BadInput";
    case base::StatusCode::kUnsupported: return "Unsupported";
    case base::StatusCode::kLimit: return "Limit";
    case base::StatusCode::kMismatch: return "Mismatch";
    case base::StatusCode::kUnavailable: return "Unavailable";
    case base::StatusCode::kRankFailed: return "RankFailed";
    case base::StatusCode::kInternal:
    case base::StatusCode::kOk: break;
  }
  return "Internal";
}

void set_error(base::StatusCode code, const std::string& message) {
  const nb::object type = nb::module_::import_("egret._errors").attr(class_of(code).c_str());
  PyErr_SetString(type.ptr(), message.c_str());
}

}  // namespace

class Call::Sink final : public base::ProgressSink {
 public:
  Sink(Call& call, nb::object callback) : call_(call), callback_(std::move(callback)) {}

  void begin_phase(std::string_view phase) override { tell("begin", {phase, {}, 0, 0, {}}); }
  bool due() override { return watch_.seconds() >= kSecondsBetweenReports; }
  void report(const base::ProgressReport& report) override {
    if (!due()) return;
    watch_.restart();
    tell("report", report);
  }
  void end_phase(std::string_view phase, double seconds) override {
    tell("end", {phase, {}, 1, seconds, {}});
  }

 private:
  void tell(const char* event, const base::ProgressReport& report) {
    const nb::gil_scoped_acquire locked;
    if (call_.failed()) return;
    try {
      nb::dict values;
      for (const base::ProgressValue& value : report.values)
        values[nb::str(value.column->name.data(), value.column->name.size())] = value.value;
      callback_(event, std::string(report.phase), report.fraction, report.elapsed_seconds, values,
                std::string(report.detail));
    } catch (nb::python_error& error) {
      (void)call_.fail(error);
    }
  }

  Call& call_;
  nb::object callback_;
  base::Stopwatch watch_;
};

void raise(const base::Status& status) { throw Failure{status}; }

Call::Call(nb::object progress, OnInterrupt policy)
    : policy_(policy), installed_(install_handler()) {
  if (!progress.is_none()) sink_ = std::make_unique<Sink>(*this, std::move(progress));
}

Call::~Call() {
  if (installed_) {
    remove_handler();
    base::request_stop(0);
  }
}

base::ProgressSink* Call::progress() { return sink_.get(); }

base::Status Call::fail(nb::python_error& error) {
  const bool is_first = !failed_;
  failed_ = true;
  const std::string text = error.what();
  if (is_first) error_.emplace(error);
  base::request_stop(SIGINT);
  return base::usage_error(text);
}

// On the main thread the interpreter has noticed a Ctrl-C if a callback raised KeyboardInterrupt,
// and will notice it now otherwise. A request that another call began is left to that call; here it
// is an interruption too.
void Call::finish(bool has_result) {
  const bool stopped = base::stop_requested();
  const bool keeps_result = has_result && policy_ == OnInterrupt::kKeepResult;
  if (installed_ || failed_) base::request_stop(0);
  if (error_ && error_->matches(PyExc_KeyboardInterrupt)) {
    interrupted_ = true;
    if (keeps_result) error_.reset();
  }
  if (error_) {
    nb::python_error error = *error_;
    error_.reset();
    throw error;
  }
  if (PyErr_CheckSignals() != 0) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0 || !keeps_result)
      nb::raise_python_error();
    PyErr_Clear();
    interrupted_ = true;
  } else if (stopped && !interrupted_) {
    interrupted_ = true;
    if (has_result) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    nb::raise_python_error();
  }
}

void bind_errors(nb::module_& module) {
  (void)module;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      set_error(failure.status.code(), failure.status.message());
    } catch (const base::CheckFailure& failure) {
      set_error(base::StatusCode::kInternal,
                std::string(failure.file) + ":" + std::to_string(failure.line) + ": " +
                    std::string(failure.condition) + (failure.message.empty() ? "" : ": ") +
                    std::string(failure.message));
    } catch (const std::exception& other) {
      if (!base::is_lack_of_memory(other)) throw;
      set_error(base::StatusCode::kLimit, "memory ran out");
    }
  });
}

}  // namespace egret::python
