// SPDX-License-Identifier: Apache-2.0
// Applies the matches of a rule without callbacks, one after the other but for the last node of
// each, which follows some matches later: what it is made of is known by then, and so its place in
// memory can be fetched ahead. Growing e-graphs spend most of their time here.
//
// For e-graphs without analysis (where no node is refused) and proofs, and rules that equate one
// pair. What
// comes out is the same as one by one, up to the numbering of new classes.
#pragma once

#include <array>
#include <cstdint>

#include "egraph/egraph.h"
#include "egraph/rewrite.h"

namespace egret::egraph {

class ApplyStream {
 public:
  static bool suits(const Rewrite& rule, const EGraph& egraph) {
    return rule.is_plain() && rule.only_target().valid() && !egraph.has_analysis() &&
           egraph.proofs() == nullptr;
  }

  // The rule must suit; both must outlive the stream.
  ApplyStream(const Rewrite& rule, EGraph& egraph);

  void apply(const Match& match);
  // Completes what is under way. To be called at the end.
  void finish();

  // Matches whose last node is still to come.
  std::uint64_t under_way() const { return begun_ - completed_; }

  // Of the matches completed.
  std::uint64_t changed() const { return changed_; }
  std::uint64_t unchanged() const { return unchanged_; }
  std::uint64_t refused() const { return refused_; }
  const base::Status& refusal() const { return refusal_; }

 private:
  static constexpr std::uint64_t kDelay = 16;  // matches between a node's children and the node
  static constexpr std::uint64_t kNear = 8;

  // The last node of a match.
  struct Last {
    ClassId target;
    std::uint32_t size = 0;
    std::uint32_t hash = 0;  // when its memory was asked for
    std::array<ClassId, Rewrite::kMaxPlainChildren> children;

    std::span<const ClassId> span() const { return {children.data(), size}; }
  };
  Last& at(std::uint64_t i) { return under_way_[i % kDelay]; }
  void complete(const Last& last);
  void refuse(base::Status why);

  const Rewrite& rule_;
  EGraph& egraph_;
  OpId last_op_;
  VarId target_;
  bool large_;  // beyond the caches
  std::array<Last, kDelay> under_way_;
  std::uint64_t begun_ = 0;  // matches
  std::uint64_t completed_ = 0;
  std::uint64_t changed_ = 0;
  std::uint64_t unchanged_ = 0;
  std::uint64_t refused_ = 0;
  base::Status refusal_;
};

}  // namespace egret::egraph
