// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/independent_work.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "cost/model.h"
#include "parallel/placed/schedule.h"

namespace egret::parallel {
namespace {

using egraph::ClassId;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kBits = 64;

class IndependentWork {
 public:
  IndependentWork(const PlacedEGraph& placed, const Cluster& machine)
      : tensors_(placed.tensors()),
        original_(tensors_.original()),
        place_(tensors_.egraph().id_count(), kNone),
        order_(operands_first(tensors_, original_)) {
    for (std::size_t i = 0; i < order_.size(); ++i) place_[order_[i].index()] = i;
    const auto model = cost::make_model("roofline", machine.rates);
    for (const ClassId id : order_)
      work_.push_back(seconds_of(id, *model) / static_cast<double>(machine.mesh.ranks()));
    add_ancestors();
  }

  std::vector<double> by_class() const {
    double total = 0;
    for (const double one : work_) total += one;
    std::vector<double> result(place_.size(), -1);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const double tied = before_[i] + after_[i] + work_[i];
      result[order_[i].index()] = std::max(0.0, total - tied);
    }
    // Values of rules, from operands to readers, then the other way.
    for (bool changed = true; changed;) {
      changed = false;
      for (const ClassId id : tensors_.egraph().classes()) {
        for (const egraph::NodeId node : tensors_.egraph().nodes(id)) {
          for (const ClassId child : tensors_.egraph().children(node)) {
            double& own = result[id.index()];
            double& operand = result[tensors_.egraph().find(child).index()];
            if ((own < 0) == (operand < 0)) continue;
            own = operand = std::max(own, operand);
            changed = true;
          }
        }
      }
    }
    for (double& one : result) one = std::max(one, 0.0);
    return result;
  }

 private:
  std::span<const ClassId> children(ClassId id) const {
    return tensors_.egraph().children(original_.node_of[id.index()]);
  }

  double seconds_of(ClassId id, cost::Model& model) const {
    const egraph::NodeId node = original_.node_of[id.index()];
    const egraph::OpId op = tensors_.egraph().op(node);
    if (tensors_.is_constant(id) || tensors_.language().is_input(op)) return 0;
    std::vector<ir::TensorType> types;
    const auto own = children(id);
    const auto constant = std::make_unique<bool[]>(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      types.push_back(tensors_.type(own[i]));
      constant[i] = tensors_.is_constant(own[i]);
    }
    const auto cost = model.cost({.op = &tensors_.language().op(op),
                                  .attrs = &tensors_.language().attrs(op),
                                  .inputs = types,
                                  .constant = {constant.get(), own.size()},
                                  .output = &tensors_.type(id)});
    return cost.ok() ? cost->seconds : 0;
  }

  // A set of bits for each value.
  void add_ancestors() {
    const std::size_t words = (order_.size() + kBits - 1) / kBits;
    std::vector<std::uint64_t> sets(words * order_.size(), 0);
    before_.assign(order_.size(), 0);
    after_.assign(order_.size(), 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::uint64_t* own = sets.data() + i * words;
      for (const ClassId child : children(order_[i])) {
        const std::size_t operand = place_[tensors_.egraph().find(child).index()];
        const std::uint64_t* other = sets.data() + operand * words;
        for (std::size_t w = 0; w < words; ++w) own[w] |= other[w];
        own[operand / kBits] |= std::uint64_t{1} << (operand % kBits);
      }
      for (std::size_t w = 0; w < words; ++w) {
        for (std::uint64_t bits = own[w]; bits != 0; bits &= bits - 1) {
          const std::size_t ancestor = w * kBits + static_cast<std::size_t>(std::countr_zero(bits));
          before_[i] += work_[ancestor];
          after_[ancestor] += work_[i];
        }
      }
    }
  }

  const rules::TensorEGraph& tensors_;
  const rules::Selection original_;
  std::vector<std::size_t> place_;  // in the order, by class
  const std::vector<ClassId> order_;
  std::vector<double> work_, before_, after_;  // seconds, by place in the order
};

}  // namespace

std::vector<double> independent_seconds(const PlacedEGraph& placed, const Cluster& machine) {
  return IndependentWork(placed, machine).by_class();
}

}  // namespace egret::parallel
