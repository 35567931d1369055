// SPDX-License-Identifier: Apache-2.0
// Matrix products by oneDNN, where Egret has no kernel of its own for them.
//
// Batch axes are joined where one descriptor can express it: with one matrix b all rows of a are
// one matrix; with equal batches both have one batch axis. Transposed and sliced inputs are read in
// place when one of their last two axes is contiguous. A constant b is packed once, in the form
// that the implementation prefers. With less precision (rounding.h), a and a computed b are rounded
// and laid out row-major. The product is written as a transpose behind it wants to read it, where
// oneDNN has a kernel for that.
#include <algorithm>

#include "backends/cpu/kernels/block_product.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/key_product.h"
#include "backends/cpu/kernels/rounding.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/plan/epilogue.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/reader_layout.h"

namespace egret::backends::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::matmul;

std::int64_t product(const ir::Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t result = 1;
  for (std::size_t i = first; i < last; ++i) result *= shape[i];
  return result;
}

// The operand with axes [first, last) joined into one, where strides allow it.
bool join_axes(Operand& operand, std::size_t first, std::size_t last) {
  const ir::Shape shape = operand.shape();
  ir::Shape joined(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  ir::Shape strides(operand.layout.strides.begin(),
                    operand.layout.strides.begin() + static_cast<std::ptrdiff_t>(first));
  std::int64_t size = 1;
  std::int64_t stride = 1;
  // From the innermost axis outwards: an axis continues the joined one if its stride equals the
  // extent already joined. Axes of size 1 have no effect.
  for (std::size_t i = last; i-- > first;) {
    if (shape[i] == 1) continue;
    if (size == 1) {
      stride = operand.layout.strides[i];
    } else if (operand.layout.strides[i] != stride * size) {
      return false;
    }
    size *= shape[i];
  }
  joined.push_back(size);
  strides.push_back(stride);
  for (std::size_t i = last; i < shape.size(); ++i) {
    joined.push_back(shape[i]);
    strides.push_back(operand.layout.strides[i]);
  }
  operand.type = ir::TensorType(operand.type.dtype, joined);
  operand.layout = {strides, 1};
  return true;
}

// Whether a matrix primitive can read it: the last two axes are a matrix or its transpose.
bool is_matrix(const Operand& operand) {
  const ir::Shape shape = operand.shape();
  const ir::Shape& strides = operand.layout.strides;
  const std::size_t rank = shape.size();
  if (operand.layout.block != 1) return false;
  for (std::size_t i = 0; i < rank; ++i) {
    if (shape[i] > 1 && strides[i] <= 0) return false;
  }
  // BLAS form: the inner stride is 1, and the outer stride (the leading dimension) is at least the
  // inner size.
  const auto contiguous = [&](std::size_t inner, std::size_t outer) {
    return (shape[inner] == 1 || strides[inner] == 1) &&
           (shape[outer] == 1 || strides[outer] >= std::max<std::int64_t>(shape[inner], 1));
  };
  return contiguous(rank - 1, rank - 2) || contiguous(rank - 2, rank - 1);
}

// Axes of size 1 get the stride of a dense matrix: oneDNN derives leading dimensions from it.
void clean_strides(Operand& operand) {
  const ir::Shape shape = operand.shape();
  ir::Shape& strides = operand.layout.strides;
  const std::size_t rank = shape.size();
  if (shape[rank - 1] == 1 && shape[rank - 2] > 1 && strides[rank - 2] == 1) {
    strides[rank - 1] = shape[rank - 2];  // a column, taken as the transpose of a row
  } else if (shape[rank - 1] == 1) {
    strides[rank - 1] = 1;
  }
  if (shape[rank - 2] == 1 && strides[rank - 1] == 1) strides[rank - 2] = shape[rank - 1];
  if (shape[rank - 2] == 1 && strides[rank - 1] != 1) strides[rank - 2] = 1;
  // Batch axes of size 1 get the stride that a dense tensor would have at this place.
  std::int64_t span = 1;
  for (std::size_t i = rank; i-- > 0;) {
    if (i + 2 < rank && shape[i] == 1) strides[i] = span;
    span = std::max(span, strides[i] * shape[i]);
  }
}

// Makes one product: chooses the axes of the primitive, describes it, and adds its steps.
class MatmulMaker {
 public:
  MatmulMaker(PlanBuilder& builder, const Group& group, std::vector<PostOperation> operations,
              Lowering how)
      : builder_(builder),
        group_(group),
        node_(builder.node(group.anchor())),
        operations_(std::move(operations)),
        how_(std::move(how)) {
    if (node_.inputs.size() > 2)
      operations_.insert(operations_.begin(), {PostOperation::Kind::kBinary,
                                               dnnl::algorithm::binary_add, 0, 0, node_.inputs[2]});
  }

  // Tries the forms from the fastest on: joined batch axes first; separate ones where an operand of
  // the epilogue varies over them; last, row-major copies of inputs that no implementation reads in
  // place.
  base::Status make() {
    place_inputs(true);
    if (!std::ranges::all_of(operations_, [&](const PostOperation& operation) {
          return !operation.operand.valid() ||
                 operand_view(builder_.node(operation.operand).type.shape(), target_).ok();
        }))
      place_inputs(false);
    if (write_for_reader()) {
      const base::Status made = guarded([&] { return describe_primitive(); });
      if (made.ok()) return add_steps();
      write_row_major();
    }
    base::Status made = guarded([&] { return describe_primitive(); });
    if (!made.ok() && (a_strided_ || b_strided_)) {
      use_row_major();
      made = guarded([&] { return describe_primitive(); });
    }
    if (!made.ok()) return made;
    return add_steps();
  }

 private:
  // Chooses the axes of the primitive and where a and b are read. An operand of the epilogue that
  // varies over batch axes forbids joining them.
  void place_inputs(bool join) {
    const ir::Shape a = builder_.node(node_.inputs[0]).type.shape();
    const ir::Shape b = builder_.node(node_.inputs[1]).type.shape();
    target_.node_shape = node_.type.shape();
    const std::size_t rank = target_.node_shape.size();
    // Three cases: all rows of a against one matrix, equal batches with one joined batch axis, and
    // the general case with all axes, which oneDNN broadcasts.
    const bool one_matrix = join && product(b, 0, b.size() - 2) == 1 && a.size() == rank;
    const bool equal_batches =
        join && a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin());
    a_ = readable(node_.inputs[0], a_strided_);
    b_ = readable(node_.inputs[1], b_strided_);
    if (one_matrix) {
      drop_batch(b_);
      if (!join_axes(a_, 0, rank - 1)) {
        a_ = laid_out(node_.inputs[0]);
        a_strided_ = false;
        EGRET_CHECK(join_axes(a_, 0, rank - 1), "row-major axes join");
      }
      target_.shape = {product(target_.node_shape, 0, rank - 1), target_.node_shape[rank - 1]};
    } else if (equal_batches && rank > 3) {
      join_batch(a_, node_.inputs[0], a_strided_);
      join_batch(b_, node_.inputs[1], b_strided_);
      if (a_.type.rank() == 3 && b_.type.rank() == 3) {
        target_.shape = {product(target_.node_shape, 0, rank - 2), target_.node_shape[rank - 2],
                         target_.node_shape[rank - 1]};
      } else {  // strided batches stay as they are
        a_ = readable(node_.inputs[0], a_strided_);
        b_ = readable(node_.inputs[1], b_strided_);
        target_.shape = target_.node_shape;
      }
    } else {
      target_.shape = target_.node_shape;
      widen(a_, rank);
      widen(b_, rank);
    }
    clean_strides(a_);
    clean_strides(b_);
    write_row_major();
  }

  // A product alone is written in the layout that its reader wants, if the primitive's axes can say
  // it. Rows stay contiguous.
  bool write_for_reader() {
    if (group_.nodes.size() > 1 || !operations_.empty() || lowers()) return false;
    const auto wanted = layout_of_transpose(builder_.graph(), group_.root());
    const std::size_t rank = target_.node_shape.size();
    if (!wanted || rank < 3 || target_.shape.size() < 3) return false;
    Operand whole{.type = node_.type, .layout = *wanted};
    if (target_.shape.size() != rank && !join_axes(whole, 0, rank - 2)) return false;
    clean_strides(whole);
    written_ = *wanted;
    target_.layout = whole.layout;
    return true;
  }
  void write_row_major() {
    written_ = row_major(target_.node_shape);
    target_.layout = row_major(target_.shape);
  }

  // Keeps the axes that place_inputs() chose, and only replaces a and b by row-major copies.
  void use_row_major() {
    const std::size_t rank = target_.node_shape.size();
    a_ = laid_out(node_.inputs[0]);
    b_ = laid_out(node_.inputs[1]);
    a_strided_ = b_strided_ = false;
    if (target_.shape.size() == 2 && rank != 2) {
      drop_batch(b_);
      EGRET_CHECK(join_axes(a_, 0, rank - 1), "row-major axes join");
    } else if (target_.shape.size() != rank) {
      EGRET_CHECK(join_axes(a_, 0, rank - 2) && join_axes(b_, 0, rank - 2), "row-major axes join");
    } else {
      widen(a_, rank);
      widen(b_, rank);
    }
  }

  // Constants stay f32 until they are packed.
  Operand laid_out(ir::NodeId id) {
    return lowers() && !builder_.is_constant(id)
               ? builder_.rounded(id, row_major(builder_.node(id).type.shape()), how_)
               : builder_.in_row_major(id);
  }
  Operand readable(ir::NodeId id, bool& strided) {
    strided = false;
    if (lowers() && !builder_.is_constant(id)) return laid_out(id);
    const Operand& home = builder_.home(id);
    strided = is_matrix(home) && !is_row_major(home.layout, home.shape());
    return strided ? home : builder_.in_row_major(id);
  }
  static void join_batch(Operand& operand, ir::NodeId /*id*/, bool /*strided*/) {
    (void)join_axes(operand, 0, static_cast<std::size_t>(operand.type.rank()) - 2);
  }
  static void drop_batch(Operand& operand) {
    const ir::Shape shape = operand.shape();
    const ir::Shape strides = operand.layout.strides;
    operand.type = ir::TensorType(operand.type.dtype, ir::Shape(shape.end() - 2, shape.end()));
    operand.layout.strides = ir::Shape(strides.end() - 2, strides.end());
  }
  // Puts axes of size 1 in front: oneDNN broadcasts only between operands of equal rank.
  static void widen(Operand& operand, std::size_t rank) {
    ir::Shape shape = operand.shape();
    if (shape.size() == rank) return;
    // A stride that spans the whole operand is valid for an axis of size 1 in any implementation.
    const std::int64_t span = span_elements(operand.layout, shape);
    const auto missing = static_cast<std::ptrdiff_t>(rank - shape.size());
    shape.insert(shape.begin(), static_cast<std::size_t>(missing), 1);
    operand.layout.strides.insert(operand.layout.strides.begin(), static_cast<std::size_t>(missing),
                                  span);
    operand.type = ir::TensorType(operand.type.dtype, shape);
  }

  // A constant matrix b is left in "any" layout: the implementation packs it in its own form, once.
  base::Status describe_primitive() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    accumulate_ = accumulated_operation(builder_, group_, operations_, target_, true);
    EGRET_ASSIGN_OR_RETURN(const dnnl::post_ops ops,
                           describe_epilogue(builder_.graph(), operations_, target_, accumulate_));
    writes_rounded_ = may_write_rounded();
    const Lowering target =
        writes_rounded_ ? builder_.written_as[group_.root().index()] : Lowering();
    attr.set_post_ops(with_rounding(ops, target));
    const bool constant = builder_.weights_data(b_) != nullptr;
    if (how_.form == OperandForm::kI8) {
      if (!constant || b_.type.rank() != 2 || target_.shape.size() != 2)
        return base::unsupported("products of integers with a computed matrix");
      attr.set_output_scales(how_.weight_scales.size() == 1 ? 0 : 1 << 1, scales_of(how_));
    }
    const Element element = how_.form == OperandForm::kI8 ? Element::s8
                            : lowers()                    ? Element::bf16
                                                          : Element::f32;
    const memory::desc b = constant && b_.type.rank() == 2
                               ? any_layout(b_.shape(), element)
                               : descriptor(b_.shape(), b_.layout, element);
    const Primitive::desc desc(
        descriptor(a_.shape(), a_.layout, element_of(element_of(how_))), b,
        descriptor(target_.shape, target_.layout, element_of(element_of(target))));
    const Primitive::primitive_desc pd(desc, attr, onednn_engine());
    const std::string implementation = pd.impl_info_str();
    EGRET_RETURN_IF_ERROR(reject_reference(implementation));
    if (how_.form == OperandForm::kBF16 && implementation.find("bf16") == std::string::npos)
      return base::unsupported(implementation + " does not support bf16");
    primitive_ = pd;
    return base::ok();
  }

  bool lowers() const { return how_.form != OperandForm::kF32; }

  // Whether all readers want the value rounded; an accumulated sum must be f32.
  bool may_write_rounded() const {
    const std::vector<Lowering>& forms = builder_.written_as;
    return lowers() && !forms.empty() && accumulate_ < 0 &&
           forms[group_.root().index()].form == how_.form;
  }

  base::Result<Operand> packed_b() {
    const memory::desc wanted = primitive_.weights_desc();
    if (how_.form != OperandForm::kI8) {
      return weights_operand(builder_, descriptor_of(b_), b_, wanted);
    }
    const ir::Tensor& values = builder_.constant(node_.inputs[1]);
    const Operand integers =
        builder_.weights(weights_in_i8(values, values.type().rank() - 1, how_.weight_scales));
    return weights_operand(builder_, descriptor_of(integers), integers, wanted);
  }

  base::Status add_steps() {
    const Primitive::primitive_desc& pd = primitive_;
    EGRET_ASSIGN_OR_RETURN(const Operand b, packed_b());
    EGRET_ASSIGN_OR_RETURN(BoundEpilogue epilogue,
                           bind_epilogue(builder_, group_, operations_, target_, accumulate_));
    std::vector<PrimitiveStep::Argument> arguments = std::move(epilogue.arguments);
    arguments.push_back({DNNL_ARG_SRC, pd.src_desc(), a_});
    arguments.push_back({DNNL_ARG_WEIGHTS, pd.weights_desc(), b});
    const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
    if (scratch > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder_.bytes(scratch)});
    Operand target;
    const ir::Shape shape = node_.type.shape();
    if (epilogue.accumulated) {
      target = *epilogue.accumulated;
      target.type = node_.type;
      target.layout = row_major(shape);
      builder_.set_home(group_.root(), target);
    } else {
      target = writes_rounded_ ? builder_.rounded_output(group_.root(), row_major(shape))
                               : builder_.output(group_.root(), written_);
    }
    arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), target});
    auto step = std::make_unique<PrimitiveStep>(Primitive(pd), std::move(arguments));
    const std::vector<Operand> touched = step->operands();
    builder_.add(std::move(step), touched, "matmul", pd.impl_info_str());
    return base::ok();
  }

  PlanBuilder& builder_;
  const Group& group_;
  const ir::Node& node_;
  std::vector<PostOperation> operations_;
  Operand a_, b_;
  bool a_strided_ = false, b_strided_ = false;
  Lowering how_;
  bool writes_rounded_ = false;
  EpilogueTarget target_;
  Layout written_;  // of the node's value
  int accumulate_ = -1;
  Primitive::primitive_desc primitive_;
};

}  // namespace

base::Status make_matmul_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  if (node.type.dtype != ir::DType::kF32)
    return base::unsupported("matmul of a type other than f32");
  if (node.type.rank() > 6) return base::unsupported("matmul with more than 4 batch axes");
  if (node.type.elements() == 0 || builder.node(node.inputs[0]).type.elements() == 0)
    return base::unsupported("an empty tensor");
  if (make_row_product(builder, group).ok()) return base::ok();
  if (make_key_product(builder, group).ok()) return base::ok();
  if (make_block_product(builder, group).ok()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(std::vector<PostOperation> operations,
                         post_operations(builder.graph(), group));
  Lowering how = lowering_of(builder, group.anchor());
  if (how.form != OperandForm::kF32) {
    const bool asked = builder.given_form(group.anchor()) != OperandForm::kF32;
    base::Status made = MatmulMaker(builder, group, operations, std::move(how)).make();
    // The product alone is computed as the graph says, if its epilogue is what no kernel takes.
    if (made.ok() || (asked && group.nodes.size() > 1)) return made;
  }
  return MatmulMaker(builder, group, std::move(operations), {}).make();
}

}  // namespace egret::backends::cpu
