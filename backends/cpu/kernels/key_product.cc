// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/key_product.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/row_panels.h"

namespace egret::backends::cpu {
namespace {

// Below this size a team of threads costs more than it saves.
constexpr std::int64_t kParallelBytes = 256 << 10;
// Two queries take as long as in oneDNN's kernel, four longer.
constexpr std::int64_t kMostQueries = 1;
// Narrower keys than a vector leave most of it empty.
constexpr std::int64_t kLeastWidth = 16;
// The sums of wider keys would be long, and lose digits.
constexpr std::int64_t kMostWidth = 512;

struct KeyShape {
  std::int64_t batches = 1;
  std::int64_t queries = 0;  // of a batch
  std::int64_t width = 0;    // of a query and of a key, in elements
  std::int64_t keys = 0;     // of a batch
};

// The mean or the sum of the squares of each key.
struct Squares {
  Operand target;
  float scale;
};

class KeyProductStep : public Step {
 public:
  // `starts`: where the keys of each batch begin, in elements from the operand's. Keys lie
  // `key_stride` apart.
  KeyProductStep(const KeyShape& shape, const Operand& queries, const Operand& keys,
                 std::vector<std::int64_t> starts, std::int64_t key_stride,
                 std::optional<Squares> squares, ProductChain chain, int threads)
      : shape_(shape),
        key_stride_(key_stride),
        blocks_((shape.keys + kBlockElements - 1) / kBlockElements),
        dots_(best_dots()),
        queries_(queries),
        keys_(keys),
        starts_(std::move(starts)),
        squares_(std::move(squares)),
        chain_(std::move(chain)),
        threads_(shape.batches * shape.keys * shape.width * 4 >= kParallelBytes ? threads : 1) {}

  base::Status run(const Addresses& addresses) override {
    parallel_for(threads_, shape_.batches * blocks_,
                 [&](std::int64_t i) { run_block(addresses, i / blocks_, i % blocks_); });
    return base::ok();
  }

 private:
  void run_block(const Addresses& addresses, std::int64_t batch, std::int64_t block) const {
    const std::int64_t first = block * kBlockElements;
    const std::int64_t count = std::min<std::int64_t>(kBlockElements, shape_.keys - first);
    const std::int64_t row = batch * shape_.queries;
    const float* const keys =
        addresses.at(keys_) + starts_[static_cast<std::size_t>(batch)] + first * key_stride_;
    float* const squares =
        squares_ ? addresses.at(squares_->target) + batch * shape_.keys + first : nullptr;
    alignas(64) float scores[kMostQueries * kBlockElements];
    for (std::int64_t q = 0; q < shape_.queries; ++q) {
      dots_(addresses.at(queries_) + (row + q) * shape_.width, shape_.width, keys, key_stride_,
            count, scores + q * kBlockElements, q == 0 ? squares : nullptr);
    }
    if (squares_) {
      for (std::int64_t k = 0; k < count; ++k) squares[k] *= squares_->scale;
    }
    chain_.run(addresses, {.data = {scores},
                           .stride = kBlockElements,
                           .row = row,
                           .rows = shape_.queries,
                           .column = first,
                           .count = count});
  }

  KeyShape shape_;
  std::int64_t key_stride_, blocks_;
  DotsFunction dots_;
  Operand queries_, keys_;
  std::vector<std::int64_t> starts_;
  std::optional<Squares> squares_;
  ProductChain chain_;
  int threads_;
};

// Of a product of queries with keys, the latter transposed.
std::optional<KeyShape> key_shape(const ir::Graph& graph, const ir::Node& node) {
  if (node.op->name() != "matmul" || graph.node(node.inputs[1]).kind == ir::NodeKind::kConstant)
    return std::nullopt;
  const ir::TensorType& queries = graph.node(node.inputs[0]).type;
  const ir::TensorType& keys = graph.node(node.inputs[1]).type;
  if (queries.rank() != keys.rank() || queries.rank() < 2 || keys.elements() == 0)
    return std::nullopt;
  const ir::Shape a = queries.shape(), b = keys.shape();
  const std::size_t rank = a.size();
  if (!std::equal(a.begin(), a.end() - 2, b.begin())) return std::nullopt;
  KeyShape shape{1, a[rank - 2], a[rank - 1], b[rank - 1]};
  for (std::size_t i = 0; i + 2 < rank; ++i) shape.batches *= a[i];
  // Without a query there is no pass over the keys, in which their squares are computed, too.
  if (shape.queries < 1 || shape.queries > kMostQueries || shape.keys < 2 ||
      shape.width < kLeastWidth || shape.width > kMostWidth)
    return std::nullopt;
  return shape;
}

// Of the matrices of a batch, in row-major order of the batch axes.
std::vector<std::int64_t> starts_of(const Operand& operand, std::int64_t batches) {
  const ir::Shape shape = operand.shape();
  std::vector<std::int64_t> starts;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::int64_t at = 0, left = batch;
    for (std::size_t axis = shape.size() - 2; axis-- > 0; left /= shape[axis])
      at += left % shape[axis] * operand.layout.strides[axis];
    starts.push_back(at);
  }
  return starts;
}

// A joint kernel's nodes by what they are.
struct KeyGroup {
  ir::NodeId keys{};       // as they lie, outside
  ProductGroup product{};  // with its chain
  ir::NodeId reduction{};  // of the squares, if there is one
};

bool swaps_last_two(const ir::Node& node) {
  if (node.op->name() != "transpose") return false;
  const ir::Integers& perm = node.attrs.integers("perm");
  const std::size_t rank = perm.size();
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return rank >= 2 && perm[rank - 1] == static_cast<std::int64_t>(rank) - 2;
}

bool is_square(const ir::Graph& graph, ir::NodeId id, ir::NodeId of) {
  if (!is_pointwise(graph, id)) return false;
  const auto program = compile_values(graph, {&id, 1}, {}, {&id, 1});
  if (!program.ok() || program->inputs != std::vector{of} || program->code.size() != 1)
    return false;
  const Instruction& code = program->code[0];
  return code.op == VectorOp::kSquare || (code.op == VectorOp::kMul && code.a == code.b);
}

// The sum or the mean over the last axis.
bool reduces_width(const ir::Graph& graph, const ir::Node& node) {
  if (node.op->name() != "reduce_sum" && node.op->name() != "reduce_mean") return false;
  const ir::Integers& axes = node.attrs.integers("axes");
  return axes.size() == 1 && axes[0] == graph.node(node.inputs[0]).type.rank() - 1;
}

std::optional<KeyGroup> key_group(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                                  std::span<const ir::NodeId> stored) {
  const auto is_matmul = [&](ir::NodeId id) { return graph.node(id).op->name() == "matmul"; };
  const auto product = std::ranges::find_if(nodes, is_matmul);
  if (product == nodes.end()) return std::nullopt;
  const auto has = [](std::span<const ir::NodeId> all, ir::NodeId id) {
    return std::ranges::count(all, id) > 0;
  };
  const ir::NodeId transposed = graph.node(*product).inputs[1];
  if (!has(nodes, transposed) || !swaps_last_two(graph.node(transposed))) return std::nullopt;
  KeyGroup group{.keys = graph.node(transposed).inputs[0]};
  // What the chain may not read.
  std::vector<ir::NodeId> others{transposed};
  for (const ir::NodeId id : nodes) {
    if (!reduces_width(graph, graph.node(id))) continue;
    const ir::NodeId square = graph.node(id).inputs[0];
    if (group.reduction.valid() || !has(nodes, square) || !is_square(graph, square, group.keys))
      return std::nullopt;
    group.reduction = id;
    others.insert(others.end(), {square, id});
  }
  std::vector<ir::NodeId> chain, kept;
  for (const ir::NodeId id : nodes) {
    if (!has(others, id)) chain.push_back(id);
  }
  for (const ir::NodeId id : chain) {
    const auto& inputs = graph.node(id).inputs;
    if (std::ranges::any_of(inputs, [&](ir::NodeId input) {
          return has(others, input) && !(id == *product && input == transposed);
        }))
      return std::nullopt;
  }
  // Of the others, only the reduction leaves the kernel.
  std::vector<ir::NodeId> all(stored.begin(), stored.end());
  all.push_back(nodes.back());
  for (const ir::NodeId id : all) {
    if (has(others, id) && id != group.reduction) return std::nullopt;
    if (id != group.reduction && id != chain.back()) kept.push_back(id);
  }
  auto of_product = product_group(graph, chain, kept);
  if (!of_product || of_product->products.size() != 1) return std::nullopt;
  group.product = *std::move(of_product);
  return group;
}

}  // namespace

base::Status make_key_product(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  if (builder.options().precision != Precision::kF32 ||
      builder.given_form(group.anchor()) != OperandForm::kF32)
    return base::unsupported("is in f32");
  const auto shape = key_shape(builder.graph(), node);
  if (!shape) return base::unsupported("needs few rows and a computed matrix");
  const Operand keys = builder.home(node.inputs[1]);
  const ir::Shape& strides = keys.layout.strides;
  if (keys.layout.block != 1 || strides[strides.size() - 2] != 1)
    return base::unsupported("needs a transposed matrix");
  EGRET_ASSIGN_OR_RETURN(ProductChain chain, ProductChain::of(builder, group, shape->keys));
  const Operand queries = builder.in_row_major(node.inputs[0]);
  std::vector<Operand> touched{queries, keys};
  chain.place_results(builder);
  chain.append_operands(touched);
  builder.add(std::make_unique<KeyProductStep>(*shape, queries, keys,
                                               starts_of(keys, shape->batches), strides.back(),
                                               std::nullopt, std::move(chain), builder.threads()),
              touched, "matmul", "own:keys");
  return base::ok();
}

bool is_joint_key_product(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                          std::span<const ir::NodeId> stored, Precision precision) {
  if (precision != Precision::kF32) return false;
  const auto group = key_group(graph, nodes, stored);
  return group && graph.node(group->keys).kind != ir::NodeKind::kConstant &&
         key_shape(graph, graph.node(group->product.products.front())).has_value();
}

base::Status make_joint_key_product(PlanBuilder& builder, const Group& group,
                                    std::span<const ir::NodeId> stored) {
  const ir::Graph& graph = builder.graph();
  const auto parts = key_group(graph, group.nodes, stored);
  if (!parts) return base::unsupported("no product with transposed keys");
  const ir::NodeId product = parts->product.products.front();
  const auto shape = key_shape(graph, builder.node(product));
  if (!shape || builder.given_form(product) != OperandForm::kF32)
    return base::unsupported("needs few rows and a computed matrix, in f32");
  EGRET_ASSIGN_OR_RETURN(ProductChain chain,
                         ProductChain::of(builder, parts->product, shape->keys));
  Operand keys = builder.home(parts->keys);
  if (keys.layout.block != 1 || keys.layout.strides.back() != 1)
    keys = builder.in_row_major(parts->keys);
  const Operand queries = builder.in_row_major(builder.node(product).inputs[0]);
  std::vector<Operand> touched{queries, keys};
  chain.place_results(builder);
  chain.append_operands(touched);
  std::optional<Squares> squares;
  if (parts->reduction.valid()) {
    const ir::Node& reduction = builder.node(parts->reduction);
    squares = Squares{.target = builder.output(parts->reduction, row_major(reduction.type.shape())),
                      .scale = reduction.op->name() == "reduce_mean"
                                   ? 1.0F / static_cast<float>(shape->width)
                                   : 1.0F};
    touched.push_back(squares->target);
  }
  const std::int64_t key_stride = keys.layout.strides[keys.layout.strides.size() - 2];
  builder.add(
      std::make_unique<KeyProductStep>(*shape, queries, keys, starts_of(keys, shape->batches),
                                       key_stride, squares, std::move(chain), builder.threads()),
      touched, "matmul",
      (squares ? "own:keys and squares" : "own:keys") + results_of(parts->product));
  return base::ok();
}

}  // namespace egret::backends::cpu
