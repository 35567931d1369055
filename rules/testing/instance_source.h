// SPDX-License-Identifier: Apache-2.0
// A source of a rule's instances besides random numbers, for rules whose conditions random numbers
// rarely meet.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

class InstanceSource {
 public:
  InstanceSource() = default;
  InstanceSource(const InstanceSource&) = delete;
  InstanceSource& operator=(const InstanceSource&) = delete;
  virtual ~InstanceSource() = default;

  // Another instance; nullopt at the end.
  virtual std::optional<Instance> next() = 0;

  // Why there was none, after next() ended without any.
  struct None {
    bool certain = false;  // the conditions exclude each other; otherwise none was found
    std::string reason;
  };
  virtual None none() = 0;
};

// Makes a source. The instantiator must outlive it.
using MakeInstanceSource = std::unique_ptr<InstanceSource> (*)(Instantiator&, base::Random);

}  // namespace egret::rules
