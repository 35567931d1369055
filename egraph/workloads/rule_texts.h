// SPDX-License-Identifier: Apache-2.0
// The rules of the workloads, in the syntax of egraph/search/syntax.h and in the order of their
// sources.
#pragma once

#include <string_view>

namespace egret::egraph::workloads {

extern const std::string_view kMicroRules;           // egglog's math microbenchmark
extern const std::string_view kMathRules;            // needs ConstantFolding
extern const std::string_view kAssociativityRules;   // sums in all their orders
extern const std::string_view kSumRules;             // the same, from one side
extern const std::string_view kLambdaRules;          // needs LambdaAnalysis
extern const std::string_view kContrapositiveRules;  // these two need TruthAnalysis
extern const std::string_view kChainRules;
extern const std::string_view kSimpleRules;

}  // namespace egret::egraph::workloads
