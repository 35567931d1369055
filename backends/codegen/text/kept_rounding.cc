// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/text/kept_rounding.h"

#include <map>
#include <vector>

namespace egret::backends::codegen {
namespace {

using ir::ConstantSize;
using ir::ExprOp;

// Longer sums are terms of their own.
constexpr std::size_t kMostTerms = 64;

// A sum of sums as its terms with their factors, none of which is 0. Values that no sum makes are
// terms of their own.
struct Sum {
  std::map<int, double> terms;
  int additions = 0;
  bool has_large = false;  // a large constant is among what was added
};

// The nest, and what its inputs are that are constants.
struct Values {
  const ir::LoopNest& nest;
  std::span<const ir::ConstantSize> inputs;

  bool is_constant(int id, ConstantSize size) const {
    const ir::NestNode& node = nest.node(id);
    // Nests compute in f64; f32 is what rounds earlier.
    if (node.op == ExprOp::kConst)
      return node.is_real() && ir::constant_size(ir::DType::kF32, node.real) == size;
    const auto input = static_cast<std::size_t>(node.input);
    if (node.op == ExprOp::kCast) return is_constant(node.kids[0], size);
    return node.op == ExprOp::kRead && input < inputs.size() && inputs[input] == size;
  }
};

class Sums {
 public:
  explicit Sums(const Values& values)
      : values_(values), nest_(values.nest), sums_(nest_.nodes.size()) {}

  const Sum& of(int id) {
    Sum& sum = sums_[static_cast<std::size_t>(id)];
    if (!sum.terms.empty()) return sum;
    const ir::NestNode& node = nest_.node(id);
    Sum made;
    if (node.op == ExprOp::kNeg) {
      made = of(node.kids[0]);
      for (auto& [term, factor] : made.terms) factor = -factor;
    } else if (node.op == ExprOp::kAdd || node.op == ExprOp::kSub) {
      made = joined(of(node.kids[0]), of(node.kids[1]), node.op == ExprOp::kSub ? -1 : 1,
                    node.kids[0] != node.kids[1]);
    }
    if (made.terms.empty() || made.terms.size() > kMostTerms)
      made = {.terms = {{id, 1}}, .has_large = values_.is_constant(id, ConstantSize::kLarge)};
    return sum = std::move(made);
  }
  bool any_cancels() const { return cancels_; }

 private:
  Sum joined(Sum sum, const Sum& other, double sign, bool differ) {
    for (const auto& [term, factor] : other.terms) {
      double& all = sum.terms[term];
      // 1 - (1 - mask) is no compensated sum.
      cancels_ =
          cancels_ || (differ && all * sign * factor < 0 && nest_.node(term).op != ExprOp::kConst);
      all += sign * factor;
      if (all == 0) sum.terms.erase(term);
    }
    sum.additions += other.additions + 1;
    sum.has_large = sum.has_large || other.has_large;
    return sum;
  }

  const Values& values_;
  const ir::LoopNest& nest_;
  std::vector<Sum> sums_;
  bool cancels_ = false;
};

bool multiplies(const ir::NestNode& node) {
  return node.op == ExprOp::kMul || node.op == ExprOp::kDiv;
}

// Whether a product or quotient of a product has a factor so large that another order may overflow.
bool scales_far(const Values& values, const ir::NestNode& node) {
  const auto has_large = [&](const ir::NestNode& of) {
    if (of.op == ExprOp::kDiv) return values.is_constant(of.kids[1], ConstantSize::kTiny);
    return values.is_constant(of.kids[0], ConstantSize::kLarge) ||
           values.is_constant(of.kids[1], ConstantSize::kLarge);
  };
  if (!multiplies(node)) return false;
  bool is_chain = false, far = has_large(node);
  for (const int kid : node.kids) {
    const ir::NestNode& inner = values.nest.node(kid);
    if (!multiplies(inner)) continue;
    is_chain = true;
    far = far || has_large(inner);
  }
  return is_chain && far;
}

}  // namespace

bool counts_on_rounding(const ir::LoopNest& nest, std::span<const ConstantSize> inputs) {
  const Values values{nest, inputs};
  Sums sums(values);
  for (std::size_t i = 0; i < nest.nodes.size(); ++i) {
    const ir::NestNode& node = nest.nodes[i];
    if (!node.is_real()) continue;
    if (scales_far(values, node)) return true;
    if (node.op != ExprOp::kAdd && node.op != ExprOp::kSub) continue;
    const Sum& sum = sums.of(static_cast<int>(i));
    // A single addition has no other order.
    if (sums.any_cancels() || (sum.has_large && sum.additions > 1)) return true;
  }
  return false;
}

std::string in_written_order(const std::string& function) {
  const std::size_t body = function.find("{\n") + 2;
  return "#pragma GCC push_options\n"
         "#pragma GCC optimize(\"no-associative-math\", \"fp-contract=off\")\n" +
         function.substr(0, body) +
         "#if defined(__clang__)\n#pragma clang fp contract(off) reassociate(off)\n#endif\n" +
         function.substr(body) + "#pragma GCC pop_options\n";
}

}  // namespace egret::backends::codegen
