// SPDX-License-Identifier: Apache-2.0
// The rule files that are compiled into Egret, as texts, and what is known of their rules.
#pragma once

#include <span>
#include <string_view>

namespace egret::rules {

std::span<const std::string_view> builtin_rule_texts();
// JSON documents; see rules/tensors/rule_status.h.
std::span<const std::string_view> builtin_rule_statuses();

}  // namespace egret::rules
