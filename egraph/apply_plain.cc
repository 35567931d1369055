// SPDX-License-Identifier: Apache-2.0
// Applying rules without callbacks: what growing e-graphs spend their time on. No allocation, and
// in e-graphs beyond the caches' size most of the memory is there when it is needed.
#include <algorithm>
#include <array>

#include "egraph/apply_stream.h"
#include "egraph/rewrite.h"

namespace egret::egraph {
Rewrite::Application Rewrite::apply_plain(EGraph& egraph, const Match& match) const {
  std::array<ClassId, kMaxPlainVars> row;
  ClassId* next = std::copy(match.classes().begin(), match.classes().end(), row.data());
  const EGraph::Savepoint before = egraph.savepoint();
  Application result{Outcome::kUnchanged, {}};
  const VarId target = only_target();
  const std::size_t count = steps_.size() - (target.valid() ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Arguments arguments(steps_[i].children, row.data());
    *next = egraph.try_add(std::get<OpId>(steps_[i].make), arguments, result.refusal);
    if (!next->valid()) return egraph.rollback(before), result.outcome = Outcome::kRefused, result;
    ++next;
  }
  if (target.valid()) {
    const Step& last = steps_.back();
    const Arguments arguments(last.children, row.data());
    const auto addition = egraph.try_add_to(row[target.index()], std::get<OpId>(last.make),
                                            arguments, result.refusal);
    if (addition == EGraph::Addition::kChanged) result.outcome = Outcome::kChanged;
    if (addition == EGraph::Addition::kRefused) {
      egraph.rollback(before);
      result.outcome = Outcome::kRefused;
    }
    return result;
  }
  for (const auto& [a, b] : equations_) {
    const base::Result<bool> merged = egraph.merge(row[a.index()], row[b.index()]);
    if (!merged.ok()) {
      egraph.rollback(before);
      return {Outcome::kRefused, merged.status()};
    }
    if (*merged) result.outcome = Outcome::kChanged;
  }
  return result;
}

void Rewrite::prefetch(const EGraph& egraph, const Match& match, Ahead ahead) const {
  if (ahead == Ahead::kFar) {
    for (const ClassId id : match.classes()) egraph.prefetch_class(id);
    return;
  }
  const std::size_t matched = pattern_.var_count();
  // An ApplyStream looks after the last step itself.
  const bool streamed = ApplyStream::suits(*this, egraph);
  for (const Step& step : steps().first(steps_.size() - (streamed ? 1 : 0))) {
    const auto* op = std::get_if<OpId>(&step.make);
    if (op == nullptr || step.children.size() > kMaxPlainChildren) return;
    if (std::any_of(step.children.begin(), step.children.end(),
                    [&](VarId var) { return var.index() >= matched; })) {
      continue;
    }
    const Arguments arguments(step.children, match.classes().data());
    if (ahead == Ahead::kMiddle) {
      egraph.prefetch_slot(*op, arguments);
    } else {
      egraph.prefetch_node(*op, arguments);
    }
  }
  for (const auto& [a, b] : equations_) {
    for (const VarId var : {a, b}) {
      if (var.index() >= matched) continue;
      if (ahead == Ahead::kMiddle) {
        egraph.prefetch_row(match[var]);
      } else {
        egraph.prefetch_list(match[var]);
      }
    }
  }
}

}  // namespace egret::egraph
