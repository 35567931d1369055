// SPDX-License-Identifier: Apache-2.0
// Regions of pointwise operators: one pass over memory, in blocks (pointwise_program.h).
//
// The output takes the layout of an input of the same shape; other inputs are read through strides.
// Further values of the region, of the shape of its root, may be stored in the same pass.
// Loops are cut into planes of rows x inner elements. A block takes several rows where inner loops
// are short (16 channels of a block), so that its instructions run on long arrays.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/joint_kernel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/regions/region_inputs.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kParallelElements = 16384;

// Layouts with blocks of channels pad the last block. Kernels rely on zeros there, and an operator
// such as exp would leave others.
template <typename T>
void zero_channel_padding(T* data, const Layout& layout, const ir::Shape& shape) {
  const StridedView view = strided_view(layout, shape);
  std::int64_t positions = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) positions *= shape[axis];
  const std::int64_t tail = shape[1] % layout.block;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    T* last = data + n * view.strides[0] + (view.shape[1] - 1) * view.strides[1];
    for (std::int64_t p = 0; p < positions; ++p, last += layout.block)
      std::fill(last + tail, last + layout.block, T{0});
  }
}

// Runs a program on blocks of at most kBlockElements elements. A block is either a piece of one
// long row or several whole short rows; outer loops, blocks of rows and pieces are numbered as one
// sequence that the threads divide.
class PointwiseStep : public Step {
 public:
  // `outputs`: where the program's results go, in one layout.
  PointwiseStep(PointwiseProgram program, std::vector<RegionInput> inputs,
                std::vector<Operand> outputs, ir::Shape loops, const Operand& registers,
                int threads)
      : program_(std::move(program)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        loops_(std::move(loops)),
        registers_(registers),
        threads_(threads) {
    // The last two loops are the plane of rows and inner elements. Missing loops are added with
    // size 1.
    while (loops_.size() < 2) {
      loops_.insert(loops_.begin(), 1);
      for (RegionInput& input : inputs_) input.strides.insert(input.strides.begin(), 0);
    }
    inner_ = loops_.back();
    rows_ = loops_[loops_.size() - 2];
    outer_ =
        std::accumulate(loops_.begin(), loops_.end() - 2, std::int64_t{1}, std::multiplies<>());
    // At most one of rows_per_block_ and pieces_per_row_ exceeds 1.
    rows_per_block_ = inner_ >= kBlockElements ? 1 : kBlockElements / inner_;
    pieces_per_row_ = (inner_ + kBlockElements - 1) / kBlockElements;
    row_blocks_ = (rows_ + rows_per_block_ - 1) / rows_per_block_;
    for (RegionInput& input : inputs_) {
      const std::int64_t row = input.strides[loops_.size() - 2];
      // A block of several rows is contiguous in the input only if its rows follow each other
      // without a gap.
      input.direct = input.operand.type.dtype == ir::DType::kF32 && input.strides.back() == 1 &&
                     (rows_per_block_ == 1 || row == inner_ || rows_ == 1);
    }
  }

  // Each part has its own registers: values of a block never leave the first-level cache or the
  // thread.
  base::Status run(const Addresses& addresses) override {
    const std::int64_t blocks = outer_ * row_blocks_ * pieces_per_row_;
    const bool parallel = outer_ * rows_ * inner_ >= kParallelElements && threads_ > 1;
    const int parts = parallel ? threads_ : 1;
    parallel_for(parts, parts, [&](std::int64_t part) {
      run_part(addresses, static_cast<int>(part), blocks * part / parts,
               blocks * (part + 1) / parts);
    });
    for (const Operand& output : outputs_) {
      if (!is_padded(output.layout, output.shape())) continue;
      if (is_bool(output)) {
        zero_channel_padding(addresses.at<std::uint8_t>(output), output.layout, output.shape());
      } else {
        zero_channel_padding(addresses.at(output), output.layout, output.shape());
      }
    }
    return base::ok();
  }

 private:
  static bool is_bool(const Operand& operand) { return operand.type.dtype == ir::DType::kBool; }

  // Constants are filled once per part. The registers of results point into the outputs, so that
  // instructions write there directly; booleans are computed as floats and narrowed afterwards.
  void run_part(const Addresses& addresses, int part, std::int64_t begin, std::int64_t end) const {
    float* const base =
        addresses.at(registers_) + std::int64_t{part} * program_.registers * kBlockElements;
    float* own[kMostRegisters];
    float* registers[kMostRegisters];
    for (int r = 0; r < program_.registers; ++r)
      own[r] = registers[r] = base + std::int64_t{r} * kBlockElements;
    for (std::size_t i = 0; i < program_.constants.size(); ++i)
      std::fill_n(own[inputs_.size() + i], kBlockElements, program_.constants[i]);

    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t piece = block % pieces_per_row_;
      const std::int64_t row_block = block / pieces_per_row_ % row_blocks_;
      const std::int64_t outer = block / pieces_per_row_ / row_blocks_;
      const std::int64_t row = row_block * rows_per_block_;
      const std::int64_t first = piece * kBlockElements;
      const std::int64_t rows = std::min(rows_per_block_, rows_ - row);
      const std::int64_t inner = std::min<std::int64_t>(kBlockElements, inner_ - first);
      // Registers of repeated inputs survive from block to block of a plane. A thread's first block
      // and each new plane load them again.
      const bool new_plane = block == begin || (piece == 0 && row_block == 0);
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        registers[i] = load(inputs_[i], addresses, outer, row, first, rows, inner, own[i],
                            new_plane || inner != last_inner(block, begin));
      const std::int64_t to = (outer * rows_ + row) * inner_ + first;
      const int count = static_cast<int>(rows * inner);
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (!is_bool(outputs_[i])) registers[program_.results[i]] = addresses.at(outputs_[i]) + to;
      }
      run_block(program_.code, registers, count);
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (!is_bool(outputs_[i])) continue;
        auto* const out = addresses.at<std::uint8_t>(outputs_[i]) + to;
        const float* const from = registers[program_.results[i]];
        for (int k = 0; k < count; ++k) out[k] = from[k] != 0.0F ? 1 : 0;
      }
    }
  }

  // The inner length of the previous block. The buffer of a repeated row stays valid while the
  // length is the same.
  std::int64_t last_inner(std::int64_t block, std::int64_t begin) const {
    if (block == begin) return -1;
    const std::int64_t piece = (block - 1) % pieces_per_row_;
    return std::min<std::int64_t>(kBlockElements, inner_ - piece * kBlockElements);
  }

  // The input's elements for one block: in place if they are contiguous floats; else gathered,
  // widened to float, into the input's own register.
  float* load(const RegionInput& input, const Addresses& addresses, std::int64_t outer,
              std::int64_t row, std::int64_t first, std::int64_t rows, std::int64_t inner,
              float* own, bool refill) const {
    const std::size_t loops = loops_.size();
    // The outer number is decomposed into loop indices, innermost first.
    std::int64_t at = row * input.strides[loops - 2] + first * input.strides[loops - 1];
    for (std::size_t axis = loops - 2; axis-- > 0;) {
      at += outer % loops_[axis] * input.strides[axis];
      outer /= loops_[axis];
    }
    if (input.direct) return addresses.at(input.operand) + at;
    const std::int64_t row_stride = input.strides[loops - 2];
    const std::int64_t stride = input.strides[loops - 1];
    // The previous block loaded the same elements: the row repeats and one piece covers it. The
    // last block of a plane may have fewer rows, a subset of the earlier contents.
    if (!refill && row_stride == 0 && (stride == 0 || pieces_per_row_ == 1)) return own;
    copy_rows(input.operand, addresses, at, row_stride, stride, rows, inner, own);
    return own;
  }

  PointwiseProgram program_;
  std::vector<RegionInput> inputs_;
  std::vector<Operand> outputs_;
  ir::Shape loops_;
  Operand registers_;
  int threads_;
  std::int64_t inner_ = 1, rows_ = 1, outer_ = 1;
  std::int64_t rows_per_block_ = 1, pieces_per_row_ = 1, row_blocks_ = 1;
};

}  // namespace

bool is_joint_region(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                     std::span<const ir::NodeId> stored) {
  const ir::TensorType& type = graph.node(nodes.back()).type;
  if (type.elements() == 0) return false;
  for (const ir::NodeId id : nodes) {
    if (!is_pointwise(graph, id)) return false;
  }
  for (const ir::NodeId id : stored) {
    if (graph.node(id).type.shape() != type.shape()) return false;
  }
  const auto program = compile_pointwise(graph, nodes, stored);
  return program.ok() && program->registers <= kMostRegisters;
}

base::Status make_pointwise_kernel(PlanBuilder& builder, const Group& group) {
  return make_joint_kernel(builder, group, {});
}

base::Status make_joint_kernel(PlanBuilder& builder, const Group& group,
                               std::span<const ir::NodeId> stored) {
  const ir::NodeId root = group.root();
  const ir::TensorType& type = builder.node(root).type;
  const ir::Shape shape = type.shape();
  if (type.elements() == 0) return base::unsupported("an empty tensor");
  std::vector<ir::NodeId> values{root};
  values.insert(values.end(), stored.begin(), stored.end());
  for (const ir::NodeId id : stored) {
    if (builder.node(id).type.shape() != shape)
      return base::unsupported("values of several shapes in one region");
  }
  EGRET_ASSIGN_OR_RETURN(PointwiseProgram program,
                         compile_pointwise(builder.graph(), group.nodes, stored));
  if (program.registers > kMostRegisters)
    return base::unsupported("a region of more values than a block holds");

  Layout layout = choose_layout(builder, program, shape);
  std::vector<RegionInput> inputs(program.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (place_input(builder, program.inputs[i], shape, layout, inputs[i])) continue;
    EGRET_CHECK(layout.block > 1, "row-major inputs broadcast by strides");
    layout = row_major(shape);  // a padded layout that an input cannot follow
    // Restarts with the new layout, once: row-major inputs never fail.
    i = static_cast<std::size_t>(-1);
  }

  std::vector<Operand> outputs;
  for (std::size_t i = 0; i < values.size(); ++i)
    outputs.push_back(place_output(builder, program, inputs, i, values[i], layout));

  std::vector<Operand> touched;
  for (const RegionInput& input : inputs) touched.push_back(input.operand);
  const Operand registers = builder.bytes(register_bytes(program, builder.threads()));
  touched.push_back(registers);
  touched.insert(touched.end(), outputs.rbegin(), outputs.rend());
  const std::string implementation =
      "own:block " + std::to_string(program.code.size()) + " instructions";
  const ir::Shape loops = join_loops(layout, shape, inputs);
  builder.add(
      std::make_unique<PointwiseStep>(std::move(program), std::move(inputs), std::move(outputs),
                                      loops, registers, builder.threads()),
      touched, "pointwise", implementation);
  return base::ok();
}

}  // namespace egret::backends::cpu
