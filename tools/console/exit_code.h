// SPDX-License-Identifier: Apache-2.0
// Exit codes of all programs: one row each, shown by `egret help exit-codes` and in the manual.
// The codes of failures (1 to 8) are those of base::exit_code().
#pragma once

#include <array>
#include <string_view>

namespace egret::tools {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kBadInput = 3,
  kUnsupported = 4,
  kLimit = 5,
  kMismatch = 6,
  kUnavailable = 7,
  kRankFailed = 8,
  kRefuted = 20,
  kUndecided = 30,
  kInterrupted = 130,
  kTerminated = 143,
};

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};

inline constexpr auto kExitCodes = std::to_array<ExitCodeRow>({
    {ExitCode::kOk, "success"},
    {ExitCode::kInternal, "internal error, a bug in Egret"},
    {ExitCode::kUsage, "usage error: unknown verb, flag or value"},
    {ExitCode::kBadInput, "malformed input"},
    {ExitCode::kUnsupported, "unsupported operator or feature"},
    {ExitCode::kLimit,
     "a limit that was set ended the work, or memory ran out; written files are valid"},
    {ExitCode::kMismatch, "a result failed verification; no output was written"},
    {ExitCode::kUnavailable, "a file, device, library or backend is missing"},
    {ExitCode::kRankFailed, "a rank of a distributed run failed"},
    {ExitCode::kRefuted, "verdict: a rule is refuted"},
    {ExitCode::kUndecided, "verdict: a rule is undecided, and none is refuted"},
    {ExitCode::kInterrupted, "interrupted (SIGINT); files are intact"},
    {ExitCode::kTerminated, "terminated (SIGTERM); files are intact"},
});

}  // namespace egret::tools
