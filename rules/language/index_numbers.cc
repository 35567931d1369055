// SPDX-License-Identifier: Apache-2.0
#include "rules/language/index_numbers.h"

#include <utility>

namespace egret::rules {
namespace {

thread_local const IndexNumbers* innermost = nullptr;

}  // namespace

IndexNumbers::IndexNumbers(Lookup lookup)
    : lookup_(std::move(lookup)), outer_(std::exchange(innermost, this)) {}

IndexNumbers::~IndexNumbers() { innermost = outer_; }

std::optional<ir::Index> IndexNumbers::of(double number) {
  return innermost != nullptr ? innermost->lookup_(number) : std::nullopt;
}

}  // namespace egret::rules
