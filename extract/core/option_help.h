// SPDX-License-Identifier: Apache-2.0
// The help of options that several verbs have. The environment variable EGRET_NAME sets an option
// in all of them, so they share one meaning.
#pragma once

namespace egret::extract {

inline constexpr const char* kExtractorHelp =
    "Extraction algorithm; auto runs exact algorithms until the time limit and keeps the best "
    "answer";
inline constexpr const char* kExtractTimeHelp =
    "Time limit of one extraction; it then returns the best answer so far";
inline constexpr const char* kForbidHelp =
    "Operator that the result must not contain, by name; `egret extract` also takes a node's name";

}  // namespace egret::extract
