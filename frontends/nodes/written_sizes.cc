// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/written_sizes.h"

#include <algorithm>

#include "frontends/onnx.pb.h"
#include "ir/core/plain_sign.h"

namespace egret::frontends {
namespace {

constexpr int kModOpset = 10;
constexpr int kIntegerExtremaOpset = 12;
constexpr int kShapeOfAxesOpset = 15;  // Shape takes a range of axes

void add_attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(2);  // an integer
  attribute.set_i(value);
}

bool is_negation(const ir::ExprNode* node) {
  return node->op == ir::ExprOp::kIndexMul && node->kids[1]->op == ir::ExprOp::kIndexConst &&
         node->kids[1]->integer == -1;
}

}  // namespace

std::string OnnxGraphWriter::Sizes::append(std::string_view op_type,
                                           std::vector<std::string> inputs) {
  onnx::NodeProto& node = *writer_.graph_.add_node();
  node.set_op_type(std::string(op_type));
  for (std::string& name : inputs) node.add_input(std::move(name));
  node.add_output(writer_.fresh_name("size"));
  node.set_name(node.output(0));
  return node.output(0);
}

onnx::NodeProto& OnnxGraphWriter::Sizes::last_node() {
  return *writer_.graph_.mutable_node(writer_.graph_.node_size() - 1);
}

void OnnxGraphWriter::Sizes::note(const std::string& value, const ir::TensorType& type) {
  if (!type.is_concrete()) shapes_.push_back({value, type.dims, ""});
}

void OnnxGraphWriter::Sizes::forget(const std::set<std::string_view>& outputs) {
  std::erase_if(computed_, [&](const auto& entry) { return outputs.contains(entry.second); });
  for (Shape& shape : shapes_) {
    if (outputs.contains(shape.node)) shape.node.clear();
  }
}

// The sizes of a value that was written, as a tensor: one node, or two before opset 15.
std::string OnnxGraphWriter::Sizes::axes_of(Shape& shape, std::size_t first, std::size_t count) {
  const bool all = count == shape.dims.size();
  if (!all && writer_.opset_ >= kShapeOfAxesOpset) {
    const std::string made = append("Shape", {shape.value});
    add_attribute(last_node(), "start", static_cast<std::int64_t>(first));
    add_attribute(last_node(), "end", static_cast<std::int64_t>(first + count));
    return made;
  }
  if (shape.node.empty()) shape.node = append("Shape", {shape.value});
  if (all) return shape.node;
  ir::Integers axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(first + i));
  return append("Gather", {shape.node, writer_.shared_constant(ir::Tensor::of_integers(axes))});
}

// The longest run of axes of one value that begins as `sizes` do; the first such value.
OnnxGraphWriter::Sizes::AxisRun OnnxGraphWriter::Sizes::longest_run(
    std::span<const ir::Index> sizes) {
  AxisRun best;
  for (Shape& shape : shapes_) {
    for (std::size_t first = 0; first < shape.dims.size(); ++first) {
      std::size_t count = 0;
      bool open = false;
      while (count < sizes.size() && first + count < shape.dims.size() &&
             shape.dims[first + count].same(sizes[count])) {
        open = open || !sizes[count].is_constant();
        ++count;
      }
      if (open && count > best.count) best = {&shape, first, count};
    }
  }
  return best;
}

base::Result<std::string> OnnxGraphWriter::Sizes::tensor_of(std::span<const ir::Index> sizes) {
  std::vector<std::string> parts;
  for (std::span<const ir::Index> rest = sizes; !rest.empty();) {
    const auto open = std::ranges::find_if(rest, [](ir::Index one) { return !one.is_constant(); });
    const AxisRun run = longest_run(rest);
    std::size_t count = 1;
    if (run.count > 1) {
      parts.push_back(axes_of(*run.shape, run.first, run.count));
      count = run.count;
    } else if (open != rest.begin()) {
      // Numbers up to the next size that is none.
      ir::Integers numbers;
      for (auto one = rest.begin(); one != open; ++one) numbers.push_back(one->constant());
      parts.push_back(writer_.shared_constant(ir::Tensor::of_integers(numbers)));
      count = numbers.size();
    } else {
      EGRET_ASSIGN_OR_RETURN(std::string part, vector_of(rest.front()));
      parts.push_back(std::move(part));
    }
    rest = rest.subspan(count);
  }
  if (parts.size() == 1) return parts.front();
  const std::string joined = append("Concat", std::move(parts));
  add_attribute(last_node(), "axis", 0);
  return joined;
}

// The quotients and remainders of sizes have positive divisors and dividends of either sign; ONNX
// cuts quotients off towards 0. Where x may be negative, x div y is therefore (x - (x mod y)) / y,
// and Mod takes the divisor's sign.
base::Result<std::string> OnnxGraphWriter::Sizes::vector_of(ir::Index size) {
  if (size.is_constant())
    return writer_.shared_constant(ir::Tensor::of_integers(ir::Integers{size.constant()}));
  const ir::ExprNode& node = *size.node();
  if (const auto found = computed_.find(&node); found != computed_.end()) return found->second;
  std::string name;
  if (const AxisRun run = longest_run({&size, 1}); run.count == 1) {
    name = axes_of(*run.shape, run.first, 1);
  } else if (node.op == ir::ExprOp::kSymbol) {
    return base::unsupported("no input has the size " + std::string(node.name));
  } else {
    if (node.kids.size() != 2)
      return base::unsupported("the size " + to_string(size) + " cannot be computed");
    // A number comes last in a sum: 8 - x is x * -1 + 8.
    const bool is_sum = node.op == ir::ExprOp::kIndexAdd;
    const bool from_number = is_sum && is_negation(node.kids[0]);
    const ir::ExprNode* const first = from_number ? node.kids[1] : node.kids[0];
    const ir::ExprNode* const other = from_number ? node.kids[0] : node.kids[1];
    const bool is_difference = is_sum && is_negation(other);
    const ir::ExprNode* const second = is_difference ? other->kids[0] : other;
    EGRET_ASSIGN_OR_RETURN(const std::string a, vector_of(ir::Index(first)));
    EGRET_ASSIGN_OR_RETURN(const std::string b, vector_of(ir::Index(second)));
    switch (node.op) {
      case ir::ExprOp::kIndexAdd: name = append(is_difference ? "Sub" : "Add", {a, b}); break;
      case ir::ExprOp::kIndexMul: name = append("Mul", {a, b}); break;
      case ir::ExprOp::kIndexMin:
      case ir::ExprOp::kIndexMax: {
        writer_.need_opset(kIntegerExtremaOpset, "the minimum of two sizes");
        name = append(node.op == ir::ExprOp::kIndexMin ? "Min" : "Max", {a, b});
        break;
      }
      case ir::ExprOp::kIndexMod:
        writer_.need_opset(kModOpset, "the remainder of a size");
        name = append("Mod", {a, b});
        break;
      case ir::ExprOp::kIndexDiv: {
        if (ir::is_plainly_nonnegative(*node.kids[0])) {
          name = append("Div", {a, b});
          break;
        }
        writer_.need_opset(kModOpset, "the quotient of a size");
        const std::string rest = append("Mod", {a, b});
        name = append("Div", {append("Sub", {a, rest}), b});
        break;
      }
      default: return base::unsupported("the size " + to_string(size) + " cannot be computed");
    }
  }
  computed_.emplace(&node, name);
  return name;
}

}  // namespace egret::frontends
