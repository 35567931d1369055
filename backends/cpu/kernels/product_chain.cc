// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/product_chain.h"

#include <algorithm>
#include <span>

namespace egret::backends::cpu {

namespace {

// What an own kernel may compute: its epilogue is the chain.
bool is_plain_product(const ir::Node& node) {
  return (node.op->name() == "matmul" || node.op->name() == "conv") &&
         node.attrs.find("activation") == nullptr;
}

}  // namespace

ProductGroup product_group(const Group& group) {
  return {{group.anchor()}, {group.nodes.begin() + 1, group.nodes.end()}, {group.root()}};
}

std::optional<ProductGroup> product_group(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                                          std::span<const ir::NodeId> stored) {
  ProductGroup group;
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = graph.node(id);
    const bool multiplies = is_plain_product(node);
    if (!multiplies && !is_pointwise(graph, id)) return std::nullopt;
    (multiplies ? group.products : group.pointwise).push_back(id);
  }
  if (group.products.empty() || group.products.size() > kMostProducts) return std::nullopt;
  const ir::Node& first = graph.node(group.products.front());
  for (const ir::NodeId id : group.products) {
    const ir::Node& node = graph.node(id);
    const bool reads_inside = std::ranges::any_of(
        node.inputs, [&](ir::NodeId input) { return std::ranges::count(nodes, input) > 0; });
    if (reads_inside || node.inputs[0] != first.inputs[0] || node.op != first.op ||
        node.attrs != first.attrs)
      return std::nullopt;
  }
  if (first.type.dtype != ir::DType::kF32) return std::nullopt;
  for (const ir::NodeId id : nodes) {
    if (graph.node(id).type != first.type) return std::nullopt;
  }
  group.stored.assign(stored.begin(), stored.end());
  group.stored.push_back(nodes.back());
  return group;
}

std::string results_of(const ProductGroup& group) {
  std::string text;
  if (group.products.size() > 1) text = std::to_string(group.products.size()) + " products";
  if (group.stored.size() > 1) {
    text += (text.empty() ? "" : ", ") + std::to_string(group.stored.size()) + " results";
  }
  return text.empty() ? text : ": " + text;
}

// The program's inputs are the products themselves and the operands of the chain.
base::Result<ProductChain> ProductChain::of(PlanBuilder& builder, const ProductGroup& group,
                                            std::int64_t columns) {
  const ir::Node& first = builder.node(group.products.front());
  ProductChain chain;
  chain.columns_ = columns;
  chain.group_ = group;
  if (group.pointwise.empty() && group.products.size() == 1) return chain;
  for (const ir::NodeId id : group.stored) {
    if (builder.node(id).type != first.type)
      return base::unsupported("a value of another shape than the product");
  }
  EGRET_ASSIGN_OR_RETURN(chain.program_,
                         compile_values(builder.graph(), group.pointwise, group.stored, {}));
  if (static_cast<std::size_t>(chain.program_.registers) > kMaxRegisters)
    return base::unsupported("a chain of more values than a block holds");
  for (const ir::NodeId id : chain.program_.inputs) {
    const auto product = std::ranges::find(group.products, id);
    if (product != group.products.end()) {
      chain.inputs_.push_back(
          {.product = static_cast<std::size_t>(product - group.products.begin())});
    } else {
      EGRET_ASSIGN_OR_RETURN(Input input, input_of(builder, id, first.type.shape(), columns));
      chain.inputs_.push_back(std::move(input));
    }
  }
  return chain;
}

// Classifies the operand relative to a product of this shape, whose rows have `columns` elements:
// all rows, one row for all, or a single element.
base::Result<ProductChain::Input> ProductChain::input_of(PlanBuilder& builder, ir::NodeId id,
                                                         const ir::Shape& product,
                                                         std::int64_t columns) {
  using Kind = Input::Kind;
  const ir::TensorType& type = builder.node(id).type;
  if (type.dtype != ir::DType::kF32)
    return base::unsupported("an operand of a type other than f32");
  if (type.elements() == 1) return Input{Kind::kElement, builder.in_row_major(id)};
  const ir::Shape sizes = type.shape();
  // From the last axis: sizes must equal the product's until a row is full; the remaining axes must
  // be all equal or all 1.
  std::int64_t of_row = 1, of_rows = 1;
  for (std::size_t i = 1; i <= product.size(); ++i) {
    const std::int64_t wanted = product[product.size() - i];
    const std::int64_t size = i <= sizes.size() ? sizes[sizes.size() - i] : 1;
    const bool in_row = of_row < columns;
    if (in_row && size != wanted) return base::unsupported("an operand that is not a row");
    (in_row ? of_row : of_rows) *= size;
  }
  const Kind kind = of_rows == 1 ? Kind::kRow : Kind::kRows;
  if (of_row != columns || of_row * of_rows != type.elements() ||
      (of_rows != 1 && of_row * of_rows != ir::TensorType(type.dtype, product).elements()))
    return base::unsupported("an operand that is neither rows nor an element");
  return Input{kind, builder.in_row_major(id)};
}

void ProductChain::append_operands(std::vector<Operand>& operands) const {
  for (const Input& input : inputs_) {
    if (input.kind != Input::Kind::kProduct) operands.push_back(input.operand);
  }
  operands.insert(operands.end(), results_.begin(), results_.end());
}

void ProductChain::place_results(PlanBuilder& builder) {
  for (std::size_t i = 0; i < group_.stored.size(); ++i) results_.push_back(place_of(builder, i));
}

// What the products read is excluded: other blocks of them still read it.
Operand ProductChain::place_of(PlanBuilder& builder, std::size_t result) const {
  const ir::NodeId id = group_.stored[result];
  const ir::TensorType& type = builder.node(id).type;
  const auto is_factor = [&](ir::NodeId input) {
    return std::ranges::any_of(group_.products, [&](ir::NodeId product) {
      return std::ranges::count(builder.node(product).inputs, input) > 0;
    });
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ir::NodeId input = program_.inputs[i];
    const Operand& row = inputs_[i].operand;
    if (inputs_[i].kind == Input::Kind::kProduct || inputs_[i].kind == Input::Kind::kElement ||
        row.type != type || is_factor(input) || !builder.may_overwrite(input, row) ||
        !may_share_place(program_, i, result))
      continue;
    builder.set_home(id, row);
    return row;
  }
  return builder.output(id, row_major(type.shape()));
}

// The program's first registers are its inputs. Rows are read in place: only the pointers change.
void ProductChain::point_to_row(const Addresses& addresses, const Block& block, std::int64_t r,
                                Registers& registers) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    switch (input.kind) {
      case Input::Kind::kProduct:
        registers[i] = block.data[input.product] + r * block.stride;
        break;
      case Input::Kind::kRows:
        registers[i] = addresses.at(input.operand) + (block.row + r) * columns_ + block.column;
        break;
      case Input::Kind::kRow: registers[i] = addresses.at(input.operand) + block.column; break;
      case Input::Kind::kElement: break;  // the same for all rows
    }
  }
}

// Runs the pointwise program row by row on a block of the product, which is still in the cache.
// Elements and constants fill their registers once for all rows.
void ProductChain::run(const Addresses& addresses, const Block& block) const {
  const std::int64_t first = block.row * columns_ + block.column;
  if (inputs_.empty()) {
    float* to = addresses.at(results_[0]) + first;
    for (std::int64_t r = 0; r < block.rows; ++r, to += columns_)
      std::copy_n(block.data[0] + r * block.stride, block.count, to);
    return;
  }
  alignas(64) float own[kMaxRegisters * kBlockElements];
  Registers registers;
  for (std::size_t r = 0; r < static_cast<std::size_t>(program_.registers); ++r)
    registers[r] = own + r * kBlockElements;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].kind == Input::Kind::kElement)
      std::fill_n(registers[i], block.count, *addresses.at(inputs_[i].operand));
  }
  for (std::size_t i = 0; i < program_.constants.size(); ++i)
    std::fill_n(registers[inputs_.size() + i], block.count, program_.constants[i]);
  for (std::int64_t r = 0; r < block.rows; ++r) {
    point_to_row(addresses, block, r, registers);
    // Instructions write the results directly.
    for (std::size_t i = 0; i < results_.size(); ++i) {
      registers[static_cast<std::size_t>(program_.results[i])] =
          addresses.at(results_[i]) + first + r * columns_;
    }
    run_block(program_.code, registers.data(), static_cast<int>(block.count));
  }
}

}  // namespace egret::backends::cpu
