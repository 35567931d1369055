// SPDX-License-Identifier: Apache-2.0
// Messages between ranks that are threads of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/mpi/mailbox.h"

namespace egret::runtime {

class LocalMessages {
 public:
  LocalMessages(std::int64_t ranks, double limit_s);
  std::int64_t ranks() const { return static_cast<std::int64_t>(mailboxes_.size()); }
  // The object outlives what it makes.
  std::unique_ptr<Messages> of(std::int64_t rank);
  // All waiting ranks fail, now and later.
  void fail(const base::Status& failure);

 private:
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
  double limit_s_;
};

}  // namespace egret::runtime
