// SPDX-License-Identifier: Apache-2.0
// Nodes whose authors count on rounding: equal in real arithmetic to something simpler, and not in
// that of floating-point numbers.
//
//   - Sums and products with numbers so large that sums keep no fraction. Quantizers round by
//     (x + c) - c. Masks are (1 - m) * lowest: multiplied out, lowest - m * lowest is 0 where m is
//     1, but a sum (x + lowest) - m * lowest loses x.
//   - Sums in which a term cancels: the parts of compensated sums, (a + b) - a, that recover what
//     rounding lost (Kahan, "Further remarks on reducing truncation errors", Communications of the
//     ACM 8, 1965; Dekker, "A floating-point technique for extending the available precision",
//     Numerische Mathematik 18, 1971). The difference of a value and itself is 0 and not among
//     them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "frontends/nodes/onnx_node.h"

namespace egret::frontends {

class RoundingDependence {
 public:
  // Whether the node must stay as it is. `values` are those of the program, by ValueId. Each node
  // is asked about once, in topological order. O(terms of its operands' sums), at most 2 * 64.
  bool of(const OnnxImportContext& context, const OnnxProgramNode& node,
          const std::vector<ir::Value>& values);
  // `value` is what the node last asked about computes, as its readers see it.
  void computed(ir::Value value);

 private:
  // Terms with their factors; none is 0. Values that no sum makes are terms of their own.
  using Sum = std::map<ir::NodeId, double>;

  static bool has_large_operand(const OnnxImportContext& context, const OnnxProgramNode& node,
                                const std::vector<ir::Value>& values);
  Sum sum_of(ir::Value value) const;

  std::map<ir::NodeId, Sum> sums_;
  std::optional<Sum> last_;
};

}  // namespace egret::frontends
