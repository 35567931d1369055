// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/local_messages.h"

#include <utility>

namespace egret::runtime {
namespace {

class LocalRank final : public Messages {
 public:
  LocalRank(std::vector<std::unique_ptr<Mailbox>>& mailboxes, std::int64_t rank, double limit_s)
      : mailboxes_(mailboxes), rank_(rank), limit_s_(limit_s) {}

  base::Status send(std::int64_t to, std::int64_t tag, MessageBytes bytes) override {
    mailboxes_[static_cast<std::size_t>(to)]->put(rank_, tag, std::move(bytes));
    return base::ok();
  }
  base::Result<std::optional<MessageBytes>> take(std::int64_t from, std::int64_t tag) override {
    return own().take(from, tag);
  }
  base::Result<MessageBytes> receive(std::int64_t from, std::int64_t tag) override {
    return own().wait(from, tag, limit_s_);
  }

 private:
  Mailbox& own() { return *mailboxes_[static_cast<std::size_t>(rank_)]; }

  std::vector<std::unique_ptr<Mailbox>>& mailboxes_;
  const std::int64_t rank_;
  const double limit_s_;
};

}  // namespace

LocalMessages::LocalMessages(std::int64_t ranks, double limit_s) : limit_s_(limit_s) {
  for (std::int64_t i = 0; i < ranks; ++i) mailboxes_.push_back(std::make_unique<Mailbox>());
}

std::unique_ptr<Messages> LocalMessages::of(std::int64_t rank) {
  return std::make_unique<LocalRank>(mailboxes_, rank, limit_s_);
}

void LocalMessages::fail(const base::Status& failure) {
  for (const auto& mailbox : mailboxes_) mailbox->fail(failure);
}

}  // namespace egret::runtime
