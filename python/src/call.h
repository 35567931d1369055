// SPDX-License-Identifier: Apache-2.0
// One long call from Python into the library: the interpreter's lock is released, progress goes to
// a Python callback, Ctrl-C asks the library to stop, and failures become exceptions.
//
// Python calls may be in progress in several threads. A stop request is one of the process
// (base/stop.h), so it reaches all of them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/progress.h"
#include "base/status.h"

namespace egret::python {

namespace nb = nanobind;

// A failure of the library on its way to Python, where it becomes a subclass of egret.Error.
struct Failure {
  base::Status status;
};
[[noreturn]] void raise(const base::Status& status);
template <typename T>
T value_or_raise(base::Result<T> result) {
  if (!result.ok()) raise(result.status());
  return *std::move(result);
}

// After Ctrl-C: a call that has a result raises KeyboardInterrupt all the same, or returns the
// result and says that it was interrupted.
enum class OnInterrupt : unsigned char { kRaise, kKeepResult };

class Call {
 public:
  // With the lock held. `progress`: a callable or None.
  explicit Call(nb::object progress = nb::none(), OnInterrupt policy = OnInterrupt::kRaise);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  base::ProgressSink* progress();

  // Runs body() without the lock, and returns its result. Raises what a callback raised, and
  // KeyboardInterrupt after Ctrl-C unless there is a result to keep.
  template <typename Body>
  auto run(Body&& body) -> decltype(body()) {
    decltype(body()) result = released(std::forward<Body>(body));
    finish(result.ok());
    if (!result.ok()) raise(result.status());
    return result;
  }
  bool interrupted() const { return interrupted_; }

  // For callbacks, with the lock held: keeps the current Python exception for run(), asks the
  // library to stop, and gives the failure that the callback reports.
  base::Status fail(nb::python_error& error);
  bool failed() const { return failed_; }

 private:
  class Sink;
  template <typename Body>
  static auto released(Body&& body) -> decltype(body()) {
    const nb::gil_scoped_release unlocked;
    return body();
  }
  void finish(bool has_result);

  OnInterrupt policy_;
  std::unique_ptr<Sink> sink_;
  std::optional<nb::python_error> error_;
  bool failed_ = false;
  bool interrupted_ = false;
  bool installed_ = false;  // the signal handler, by this call
};

void bind_errors(nb::module_& module);

}  // namespace egret::python
