// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

namespace egret::base {

int exit_code(StatusCode code) { return static_cast<int>(code); }

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInternal: return "internal error";
    case StatusCode::kUsage: return "usage error";
    case StatusCode::kBadInput: return "bad input";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kLimit: return "limit hit";
    case StatusCode::kMismatch: return "mismatch";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kRankFailed: return "rank failed";
  }
  return "unknown";
}

Status Status::at(std::string_view place) const {
  if (ok()) return *this;
  return {code_, std::string(place) + ": " + message_};
}

Status internal_error(std::string message) { return {StatusCode::kInternal, std::move(message)}; }
Status usage_error(std::string message) { return {StatusCode::kUsage, std::move(message)}; }
Status bad_input(std::string message) { return {StatusCode::kBadInput, std::move(message)}; }
Status unsupported(std::string message) { return {StatusCode::kUnsupported, std::move(message)}; }
Status limit_hit(std::string message) { return {StatusCode::kLimit, std::move(message)}; }
Status mismatch(std::string message) { return {StatusCode::kMismatch, std::move(message)}; }
Status unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }

}  // namespace egret::base
