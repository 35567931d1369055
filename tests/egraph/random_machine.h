// SPDX-License-Identifier: Apache-2.0
// Random calls of all that changes an e-graph, on a small language, so that collisions, cycles and
// congruences are frequent. The same stream gives the same calls.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/random.h"
#include "egraph/core/egraph.h"
#include "tests/egraph/smallest_size.h"

namespace egret::egraph {

class RandomMachine {
 public:
  explicit RandomMachine(bool analysed)
      : language_{ops_.op("a", 0),    ops_.op("b", 0), ops_.op("c", 0),    ops_.op("f", 1),
                  ops_.op("f", 1, 1), ops_.op("g", 2), ops_.op("g", 2, 1), ops_.op("h", 3)},
        analysed_(analysed),
        egraph_(std::make_unique<EGraph>(ops_, analysis())) {
    for (int i = 0; i < 3; ++i)
      handles_.push_back(*egraph_->add(language_[static_cast<std::size_t>(i)]));
  }

  OpTable& ops() { return ops_; }
  Analysis* analysis() { return analysed_ ? &analysis_ : nullptr; }
  EGraph& egraph() { return *egraph_; }
  void set_egraph(std::unique_ptr<EGraph> egraph) { egraph_ = std::move(egraph); }
  std::vector<ClassId>& handles() { return handles_; }
  ClassId any(base::Random& random) const { return handles_[random.below(handles_.size())]; }

  // One call.
  void step(base::Random& random) {
    EGraph& egraph = *egraph_;
    const std::uint64_t dice = random.below(100);
    if (dice < 55) {
      const OpId op = language_[random.below(language_.size())];
      std::vector<ClassId> children;
      for (std::size_t i = 0; i < ops_.arity(op); ++i) children.push_back(any(random));
      if (dice < 40) {
        handles_.push_back(*egraph.add(op, children));
      } else if (dice < 50) {
        EXPECT_TRUE(egraph.add_to(any(random), op, children).ok());
      } else {
        const auto mark = egraph.savepoint();
        EXPECT_TRUE(egraph.add(op, children).ok());
        EXPECT_TRUE(egraph.rollback(mark));
      }
    } else if (dice < 80) {
      const ClassId a = any(random), b = any(random);
      EXPECT_TRUE(egraph.merge(a, b).ok());
    } else if (dice < 85) {
      const auto nodes = egraph.nodes(egraph.find(any(random)));
      if (!nodes.empty()) egraph.hide(nodes[random.below(nodes.size())]);
    } else {
      EXPECT_TRUE(egraph.rebuild().ok());
      if (dice < 97 || egraph.checkpoints() > 0) return;
      egraph.compact();
      egraph.shrink_to_fit();
    }
  }

 private:
  OpTable ops_;
  std::vector<OpId> language_;
  SmallestSize analysis_;
  bool analysed_;
  std::unique_ptr<EGraph> egraph_;
  std::vector<ClassId> handles_;
};

}  // namespace egret::egraph
