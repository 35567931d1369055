// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "backends/codegen/composition.h"
#include "backends/cuda/gemm.h"
#include "ir/contraction.h"
#include "ir/lane_plan.h"
#include "ir/term_graph.h"

namespace egret::backends::cuda {
namespace {

constexpr double kLeastProducts = 1 << 16;  // below, a launch of an emitted kernel does as well
constexpr int kMostMoves = 8;

// One variable that it may lack: then its extent is 1.
struct Axis {
  int symbol = -1;
  std::int64_t extent = 1;

  std::int64_t stride(const ir::Affine& form) const { return symbol < 0 ? 0 : form.factor(symbol); }
};

// Columns-first storage of a matrix with these strides: one of them is 1.
std::optional<Gemm::Operand> stored(std::int64_t rows, std::int64_t row_stride,
                                    std::int64_t columns, std::int64_t column_stride) {
  if (row_stride == 1 && column_stride >= rows)
    return Gemm::Operand{
        .transposed = false, .rows = rows, .columns = columns, .leading = column_stride};
  if (column_stride == 1 && row_stride >= columns)
    return Gemm::Operand{
        .transposed = true, .rows = columns, .columns = rows, .leading = row_stride};
  return std::nullopt;
}

// Of two variables the outer one becomes the batch, if there is none yet.
bool take_axes(const ir::LoopNest& nest, std::vector<int>& variables, std::vector<int>& batch) {
  if (variables.size() == 2 && batch.empty()) {
    const bool first_inner = nest.output.factor(variables[0]) < nest.output.factor(variables[1]);
    const auto outer = variables.begin() + (first_inner ? 1 : 0);
    batch.push_back(*outer);
    variables.erase(outer);
  }
  return variables.size() == 1 && batch.size() <= 1;
}

std::optional<Gemm> gemm_of(const ir::LoopNest& nest, const ir::Contraction& contraction) {
  std::vector<int> columns = contraction.columns.variables;
  std::vector<int> rows = contraction.rows.variables;
  std::vector<int> batches = contraction.batch;
  if (!contraction.rows.guards.empty() || !contraction.columns.guards.empty() ||
      contraction.reduced.size() != 1 || !take_axes(nest, columns, batches) ||
      !take_axes(nest, rows, batches))
    return std::nullopt;
  const auto axis = [&](int symbol) { return Axis{symbol, nest.extent(symbol)}; };
  const Axis m = axis(columns[0]), n = axis(rows[0]), k = axis(contraction.reduced[0]);
  const Axis batch = batches.empty() ? Axis{} : axis(batches[0]);
  const ir::Affine& of_a = contraction.columns.form;
  const ir::Affine& of_b = contraction.rows.form;
  const auto a = stored(m.extent, m.stride(of_a), k.extent, k.stride(of_a));
  const auto b = stored(k.extent, k.stride(of_b), n.extent, n.stride(of_b));
  if (!a || !b || m.stride(nest.output) != 1 || n.stride(nest.output) < m.extent ||
      nest.output.constant != 0)
    return std::nullopt;
  Gemm gemm{.m = m.extent, .n = n.extent, .k = k.extent, .batch = batch.extent, .a = *a, .b = *b};
  gemm.a.input = contraction.columns.input;
  gemm.b.input = contraction.rows.input;
  gemm.a.offset = of_a.constant;
  gemm.b.offset = of_b.constant;
  gemm.a.batch_stride = batch.stride(of_a);
  gemm.b.batch_stride = batch.stride(of_b);
  gemm.leading = n.stride(nest.output);
  gemm.batch_stride = batch.stride(nest.output);
  return gemm;
}

}  // namespace

std::optional<Gemm> find_gemm(const ir::Denotation& denotation,
                              std::span<const ir::TensorType> inputs) {
  const ir::DType type = denotation.type.dtype;
  if (!ir::is_float(type) || inputs.empty() || inputs.size() > 2 ||
      denotation.type.elements() == 0 ||
      !std::ranges::all_of(inputs, [&](const auto& input) { return input.dtype == type; }))
    return std::nullopt;
  std::vector<ir::Shape> shapes;
  for (const ir::TensorType& input : inputs) shapes.push_back(input.shape());
  const std::vector<ir::DType> types(inputs.size(), type);
  const auto terms = ir::term_graph(denotation, types);
  if (!terms.ok()) return std::nullopt;
  const ir::Shape shape = denotation.type.shape();
  auto nest = ir::loop_nest(*terms, shapes, shape, {ir::Shape(shape.size(), 0), shape},
                            ir::Precision::kF64);
  if (!nest.ok()) return std::nullopt;
  ir::merge_variables(*nest);
  const auto contraction = ir::find_contraction(*nest);
  if (!contraction) return std::nullopt;
  auto gemm = gemm_of(*nest, *contraction);
  if (!gemm || static_cast<double>(gemm->m) * static_cast<double>(gemm->n) *
                       static_cast<double>(gemm->k) * static_cast<double>(gemm->batch) <
                   kLeastProducts)
    return std::nullopt;
  gemm->type = type;
  return gemm;
}

namespace {

class Finder {
 public:
  explicit Finder(const ir::Graph& graph)
      : graph_(graph), uses_(use_counts(graph)), taken_(graph.size(), false) {}

  std::vector<GemmRegion> run() {
    std::vector<GemmRegion> found;
    for (std::size_t i = graph_.size(); i-- > 0;) {
      if (taken_[i] || graph_.node(ir::NodeId(i)).kind != ir::NodeKind::kOperator) continue;
      if (auto region = product_of({ir::NodeId(i)})) found.push_back(grown(*std::move(region)));
    }
    return found;
  }

 private:
  std::optional<GemmRegion> product_of(std::vector<ir::NodeId> nodes) const {
    auto composition = codegen::compose(graph_, nodes);
    if (!composition.ok()) return std::nullopt;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId id : composition->inputs) types.push_back(graph_.node(id).type);
    const auto gemm = find_gemm(composition->denotation, types);
    if (!gemm) return std::nullopt;
    return GemmRegion{std::move(nodes), std::move(composition->inputs), *gemm};
  }

  // What only moves elements on their way to the product joins: the product stays one.
  GemmRegion grown(GemmRegion region) {
    std::set<ir::NodeId> candidates(region.inputs.begin(), region.inputs.end());
    for (int moves = 0; !candidates.empty() && moves < kMostMoves; ++moves) {
      const ir::NodeId id = *candidates.rbegin();
      candidates.erase(id);
      if (graph_.node(id).kind != ir::NodeKind::kOperator || taken_[id.index()] ||
          uses_[id.index()] != 1)
        continue;
      std::vector<ir::NodeId> nodes = region.nodes;
      nodes.insert(std::ranges::lower_bound(nodes, id), id);
      auto larger = product_of(std::move(nodes));
      if (!larger || larger->gemm.k != region.gemm.k || larger->gemm.m != region.gemm.m ||
          larger->gemm.n != region.gemm.n)
        continue;
      region = *std::move(larger);
      candidates.insert(region.inputs.begin(), region.inputs.end());
    }
    for (const ir::NodeId id : region.nodes) taken_[id.index()] = true;
    return region;
  }

  const ir::Graph& graph_;
  std::vector<int> uses_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<GemmRegion> find_gemms(const ir::Graph& graph) { return Finder(graph).run(); }

}  // namespace egret::backends::cuda
