// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/verdict.h"

namespace egret::rules {

std::string_view to_string(Verdict::Status status) {
  switch (status) {
    case Verdict::Status::kProven: return "proven";
    case Verdict::Status::kBounded: return "bounded";
    case Verdict::Status::kRefuted: return "refuted";
    case Verdict::Status::kUndecided: return "undecided";
    case Verdict::Status::kVacuous: return "vacuous";
    case Verdict::Status::kTrivial: return "trivial";
    case Verdict::Status::kDisputed: return "disputed";
  }
  return "";
}

}  // namespace egret::rules
