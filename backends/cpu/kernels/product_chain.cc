// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/product_chain.h"

#include <algorithm>
#include <span>

namespace egret::backends::cpu {

// The program's inputs are the product itself and the operands of the chain.
base::Result<ProductChain> ProductChain::of(PlanBuilder& builder, const Group& group,
                                            std::int64_t columns) {
  const ir::Shape product = builder.node(group.anchor()).type.shape();
  ProductChain chain;
  chain.columns_ = columns;
  if (group.nodes.size() == 1) return chain;
  EGRET_ASSIGN_OR_RETURN(chain.program_,
                         compile_pointwise(builder.graph(), std::span(group.nodes).subspan(1)));
  if (static_cast<std::size_t>(chain.program_.registers) > kMaxRegisters)
    return base::unsupported("a chain of more values than a block holds");
  for (const ir::NodeId id : chain.program_.inputs) {
    if (id == group.anchor()) {
      chain.inputs_.push_back({});
    } else {
      EGRET_ASSIGN_OR_RETURN(Input input, input_of(builder, id, product, columns));
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
}

// The result may overwrite an operand of its own size that dies here. The left matrix of the
// product is excluded: other blocks of the product still read it.
Operand ProductChain::target(PlanBuilder& builder, const Group& group) const {
  const ir::NodeId root = group.root();
  const ir::TensorType& type = builder.node(root).type;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ir::NodeId id = program_.inputs[i];
    const Operand& row = inputs_[i].operand;
    if (inputs_[i].kind == Input::Kind::kProduct || inputs_[i].kind == Input::Kind::kElement ||
        row.type != type || id == builder.node(group.anchor()).inputs[0] ||
        !builder.may_overwrite(id, row))
      continue;
    builder.set_home(root, row);
    return row;
  }
  return builder.output(root, row_major(type.shape()));
}

// The program's first registers are its inputs. Rows are read in place: only the pointers change.
void ProductChain::point_to_row(const Addresses& addresses, const Block& block, std::int64_t r,
                                Registers& registers) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    switch (input.kind) {
      case Input::Kind::kProduct: registers[i] = block.data + r * block.stride; break;
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
void ProductChain::run(const Addresses& addresses, const Block& block,
                       const Operand& target) const {
  float* to = addresses.at(target) + block.row * columns_ + block.column;
  if (inputs_.empty()) {
    for (std::int64_t r = 0; r < block.rows; ++r, to += columns_)
      std::copy_n(block.data + r * block.stride, block.count, to);
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
  for (std::int64_t r = 0; r < block.rows; ++r, to += columns_) {
    point_to_row(addresses, block, r, registers);
    // The last instruction writes the target directly.
    registers[static_cast<std::size_t>(program_.result())] = to;
    run_block(program_.code, registers.data(), static_cast<int>(block.count));
  }
}

}  // namespace egret::backends::cpu
