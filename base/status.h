// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: how everything that input, files, budget or machine can cause is reported.
// No exception crosses a folder; a library never prints and never aborts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace egret::base {

// What went wrong, in the words of the command line's exit codes (see exit_code()).
enum class StatusCode : unsigned char {
  kOk,
  kInternal,     // our own bug, noticed where a check would lose the user's work
  kUsage,        // the caller asked for something that makes no sense
  kBadInput,     // a file or value is malformed
  kUnsupported,  // well-formed, but an operator or feature that Egret does not have
  kLimit,        // a limit was hit
  kMismatch,     // a result did not verify
  kUnavailable,  // a device, backend, library or file is missing
  kRankFailed,   // a rank of a distributed run failed
};

// The process exit code of docs/interface: 0, 1, 2, 3, 4, 5, 6, 7, 8 in the order of StatusCode.
int exit_code(StatusCode code);
// "bad input", "unsupported", ... for messages and JSON.
std::string_view to_string(StatusCode code);

// Success, or a code with a message that names place, reason and, where there is one, the remedy.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure with "PLACE: " put before its message; success stays success.
  Status at(std::string_view place) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status ok() { return {}; }
Status internal_error(std::string message);
Status usage_error(std::string message);
Status bad_input(std::string message);
Status unsupported(std::string message);
Status limit_hit(std::string message);
Status mismatch(std::string message);
Status unavailable(std::string message);

// A value or the Status that explains its absence.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    EGRET_CHECK(!status_.ok(), "a Result without a value needs a failure");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    check();
    return *value_;
  }
  const T& value() const& {
    check();
    return *value_;
  }
  T&& value() && {
    check();
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T value_or(T other) && { return value_ ? *std::move(value_) : std::move(other); }

 private:
  void check() const { EGRET_CHECK(value_.has_value(), "value() of a failed Result"); }

  std::optional<T> value_;
  Status status_;
};

}  // namespace egret::base

#define EGRET_CONCAT_INNER_(a, b) a##b
#define EGRET_CONCAT_(a, b) EGRET_CONCAT_INNER_(a, b)

// Returns the failure of a Status expression from the enclosing function.
#define EGRET_RETURN_IF_ERROR(expression)                                             \
  do {                                                                                \
    if (auto egret_status_ = (expression); !egret_status_.ok()) return egret_status_; \
  } while (false)

// EGRET_ASSIGN_OR_RETURN(auto graph, import(path)): unwraps a Result or returns its failure.
#define EGRET_ASSIGN_OR_RETURN(declaration, expression) \
  EGRET_ASSIGN_OR_RETURN_(EGRET_CONCAT_(egret_result_, __LINE__), declaration, expression)
#define EGRET_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return result.status();                      \
  declaration = *std::move(result)
