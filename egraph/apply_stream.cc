// SPDX-License-Identifier: Apache-2.0
#include "egraph/apply_stream.h"

#include <algorithm>
#include <utility>

namespace egret::egraph {

ApplyStream::ApplyStream(const Rewrite& rule, EGraph& egraph)
    : rule_(rule),
      egraph_(egraph),
      last_op_(std::get<OpId>(rule.steps().back().make)),
      target_(rule.only_target()),
      large_(egraph.is_large()) {}

void ApplyStream::apply(const Match& match) {
  std::array<ClassId, Rewrite::kMaxPlainVars> row;
  ClassId* next = std::copy(match.classes().begin(), match.classes().end(), row.data());
  const EGraph::Savepoint before = egraph_.savepoint();
  const auto steps = rule_.steps();
  for (const Rewrite::Step& step : steps.first(steps.size() - 1)) {
    const Rewrite::Arguments arguments(step.children, row.data());
    base::Status why;
    *next = egraph_.try_add(std::get<OpId>(step.make), arguments, why);
    if (!next->valid()) {
      egraph_.rollback(before);
      return refuse(std::move(why));
    }
    ++next;
  }
  if (begun_ == completed_ + kDelay) complete(at(completed_++));
  Last& last = at(begun_++);
  const auto& children = steps.back().children;
  last.target = row[target_.index()];
  last.size = static_cast<std::uint32_t>(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) last.children[i] = row[children[i].index()];
  if (!large_) return;
  last.hash = egraph_.prefetch_slot(last_op_, last.span());
  if (begun_ > completed_ + kNear) egraph_.prefetch_node(at(begun_ - kNear).hash);
}

void ApplyStream::finish() {
  while (completed_ < begun_) complete(at(completed_++));
}

void ApplyStream::complete(const Last& last) {
  base::Status why;
  switch (egraph_.try_add_to(last.target, last_op_, last.span(), why)) {
    case EGraph::Addition::kChanged: ++changed_; break;
    case EGraph::Addition::kUnchanged: ++unchanged_; break;
    case EGraph::Addition::kRefused: refuse(std::move(why)); break;
  }
}

void ApplyStream::refuse(base::Status why) {
  if (refused_++ == 0) refusal_ = std::move(why);
}

}  // namespace egret::egraph
