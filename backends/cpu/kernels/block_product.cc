// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/block_product.h"

#include <algorithm>
#include <optional>

#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/loops/block_transpose.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/product_tiles.h"
#include "backends/cpu/plan/winograd.h"

namespace egret::backends::cpu {
namespace {

// Rows of a block: its results, its left operands and the panels share a second-level cache of 2
// MiB, or half a MiB with AVX2.
constexpr std::int64_t kBlockRows = 192, kBlockRowsOfParts = 64;
std::int64_t most_block_rows() { return has_whole_tiles() ? kBlockRows : kBlockRowsOfParts; }
// Where tiles in parts are faster than oneDNN 2.6.3. For up to so many rows, its kernel without
// AVX-512 reads the right matrix where it lies. Rows of a multiple of 2 KiB share sets of the cache
// there, and it takes 1.3 to 2 times as long as tiles; otherwise as long, or less (an AMD EPYC with
// AVX2, 40 shapes).
constexpr std::int64_t kMostRowsByParts = 256, kColumnsInSets = 512;
// The results of a group are 192 rows of 784 floats, 600 KB. The copied left rows take 160 KB, and
// one panel of a run takes 36 KB (192 x 48 floats).
constexpr std::int64_t kGroupPanels = 16;
constexpr std::int64_t kParallelWork = std::int64_t{1} << 20;  // multiplications
constexpr std::int64_t kLeastWidth = 2 * kTileLanes;
constexpr std::int64_t kLeastPackedDepth = 8;       // of a computed matrix
constexpr std::int64_t kLeastRows = 4 * kTileRows;  // of a thread
static_assert(kResultStride >= kGroupPanels * kTileColumns);

// The product in panels: the packed weights are cut into runs of kTileDepth rows, and each run into
// panels of kTileColumns columns. Within a panel, the columns of a row are contiguous, so that a
// tile reads the panel once, from front to back (the packing of Goto and van de Geijn, 2008).
struct BlockShape {
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool packs = false;  // the right matrix is computed: each run packs it, panel by panel
  std::int64_t block_rows() const { return std::min(most_block_rows(), rows); }  // at most
  std::int64_t panels() const { return (columns + kTileColumns - 1) / kTileColumns; }
  // Columns of a panel, padded to a multiple of kTileLanes.
  std::int64_t panel_width(std::int64_t panel) const {
    return std::min(kTileColumns, packed_columns() - panel * kTileColumns);
  }
  std::int64_t packed_columns() const {
    return (columns + kTileLanes - 1) / kTileLanes * kTileLanes;
  }
  // The depth of the run that starts at `k`, a multiple of kTileDepth.
  std::int64_t run_depth(std::int64_t k) const { return std::min(kTileDepth, depth - k); }
  // The offset of this run's panel, in packed elements.
  std::int64_t panel_at(std::int64_t k, std::int64_t panel) const {
    return k * packed_columns() + panel * run_depth(k) * kTileColumns;
  }
};

// The shape, if the node is a product of f32 rows with one matrix that is large enough.
std::optional<BlockShape> block_shape(const ir::Graph& graph, const ir::Node& node) {
  if (node.kind != ir::NodeKind::kOperator ||
      (node.op->name() != "matmul" && node.op->name() != "fused_matmul"))
    return std::nullopt;
  for (const ir::NodeId input : node.inputs) {
    const ir::TensorType& type = graph.node(input).type;
    if (!type.is_concrete() || type.dtype != ir::DType::kF32 || type.elements() == 0)
      return std::nullopt;
  }
  const ir::Shape a = graph.node(node.inputs[0]).type.shape();
  const ir::Shape b = graph.node(node.inputs[1]).type.shape();
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const BlockShape shape{graph.node(node.inputs[0]).type.elements() / a.back(), a.back(), b.back(),
                         graph.node(node.inputs[1]).kind != ir::NodeKind::kConstant};
  const std::int64_t least_depth = shape.packs ? kLeastPackedDepth : kLeastWidth;
  const bool one_matrix = graph.node(node.inputs[1]).type.elements() == shape.depth * shape.columns;
  if (!one_matrix || b.size() > a.size() || shape.depth < least_depth ||
      shape.columns < kLeastWidth)
    return std::nullopt;
  return shape;
}

bool pays_by_parts(const BlockShape& shape) {
  return shape.rows <= kMostRowsByParts && shape.columns % kColumnsInSets == 0;
}

// A share of the rows and panels for each thread.
struct Split {
  std::int64_t rows = 1, columns = 1;
  std::int64_t parts() const { return rows * columns; }
};

// The split with the least work for the busiest thread. Of equal ones, the one that divides the
// rows most: threads with the same rows would each copy them. Few rows are not divided, because
// each thread would read all panels.
Split split_of(const BlockShape& shape, int threads) {
  Split best;
  if (shape.rows * shape.depth * shape.columns < kParallelWork) return best;
  const auto most = [](std::int64_t work, std::int64_t parts) {
    return (work + parts - 1) / parts;
  };
  // The work of one thread, in row-panel pairs, if nothing is divided. Descending counts of rows
  // and a strict comparison implement the preference among equal splits.
  std::int64_t least = shape.rows * shape.panels();
  for (std::int64_t rows = threads; rows >= 1; --rows) {
    const std::int64_t columns = threads / rows;
    const std::int64_t work = most(shape.rows, rows) * most(shape.panels(), columns);
    const bool few = rows > 1 && shape.rows < rows * kLeastRows;
    if (few || columns > shape.panels() || work >= least) continue;
    best = {rows, columns};
    least = work;
  }
  return best;
}

class BlockProductStep : public Step {
 public:
  // One operand of weights for each product.
  BlockProductStep(const BlockShape& shape, const Split& split, const Operand& left,
                   std::vector<Operand> weights, ProductChain chain, const Operand& scratch)
      : shape_(shape),
        split_(split),
        left_(left),
        weights_(std::move(weights)),
        chain_(std::move(chain)),
        scratch_(scratch),
        tiles_(*tile_functions()) {}

  static std::int64_t scratch_bytes(const BlockShape& shape, const Split& split) {
    const std::int64_t panel = shape.packs ? kTileDepth * kTileColumns : 0;
    return split.parts() * (scratch_elements(shape) + panel) *
           static_cast<std::int64_t>(sizeof(float));
  }

  base::Status run(const Addresses& addresses) override {
    const auto parts = static_cast<int>(split_.parts());
    parallel_for(parts, parts, [&](std::int64_t part) { run_part(addresses, part); });
    return base::ok();
  }

 private:
  struct Range {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
  };
  // Part `index` of so many equal parts.
  // Consecutive parts share their boundary, so they cover the range exactly. Sizes differ by at
  // most one.
  static Range part_of(const Range& range, std::int64_t index, std::int64_t parts) {
    return {range.begin + range.size() * index / parts,
            range.begin + range.size() * (index + 1) / parts};
  }
  static std::int64_t scratch_elements(const BlockShape& shape) {
    return shape.block_rows() * (kLeftStride + kResultStride);
  }
  // Panels of each product whose results are in one block, side by side.
  std::int64_t group_panels() const {
    return kGroupPanels / static_cast<std::int64_t>(weights_.size());
  }
  float* results_of_product(float* result, std::size_t product) const {
    return result + static_cast<std::int64_t>(product) * group_panels() * kTileColumns;
  }

  // One thread's rectangle of rows and panels: blocks of rows, then groups of panels.
  void run_part(const Addresses& addresses, std::int64_t part) const {
    float* const left =
        addresses.at(scratch_) + part * (scratch_bytes(shape_, {}) / std::int64_t{sizeof(float)});
    float* const result = left + shape_.block_rows() * kLeftStride;
    const Range rows = part_of({0, shape_.rows}, part / split_.columns, split_.rows);
    const Range panels = part_of({0, shape_.panels()}, part % split_.columns, split_.columns);
    // Equal blocks instead of full ones and a short rest: no block is so small that reading the
    // panels dominates it.
    const std::int64_t blocks = (rows.size() + most_block_rows() - 1) / most_block_rows();
    for (std::int64_t b = 0; b < blocks; ++b) {
      const Range block = part_of(rows, b, blocks);
      // A group of panels bounds the block of results: rows x 768 columns stay in the second-level
      // cache until finish() has run the chain on them.
      for (std::int64_t p = panels.begin; p < panels.end; p += group_panels()) {
        const Range group{p, std::min(panels.end, p + group_panels())};
        multiply(addresses, block, group, left, result);
        finish(addresses, block, group, result);
      }
    }
  }

  // A block of rows times a group of panels into the dense block of results. The loop over the
  // depth is outermost, so that the copied rows of one run are reused by all panels.
  void multiply(const Addresses& addresses, const Range& rows, const Range& panels, float* left,
                float* result) const {
    for (std::int64_t k = 0; k < shape_.depth; k += kTileDepth) {
      const std::int64_t depth = shape_.run_depth(k);
      const float* const from = addresses.at(left_) + rows.begin * shape_.depth + k;
      for (std::int64_t r = 0; r < rows.size(); ++r)
        // Rows are copied once for each run of the depth: the tile reads them at a fixed, padded
        // stride.
        std::copy_n(from + r * shape_.depth, depth, left + r * kLeftStride);
      for (std::size_t i = 0; i < weights_.size(); ++i) {
        const float* const packed = addresses.at(weights_[i]);
        float* const to = results_of_product(result, i);
        for (std::int64_t p = panels.begin; p < panels.end; ++p) {
          const float* panel = packed + shape_.panel_at(k, p);
          if (shape_.packs) {
            float* const own = left + scratch_elements(shape_);
            pack_panel(packed, weights_[i].layout, k, p, own);
            panel = own;
          }
          run_panel({.left = left,
                     .panel = panel,
                     .depth = depth,
                     .result = to + (p - panels.begin) * kTileColumns,
                     // The first run overwrites the result, later ones add.
                     .adds = k > 0,
                     .next = panel_after(addresses, k, p, panels, i),
                     .stride = 0},
                    shape_.panel_width(p), rows.size());
        }
      }
    }
  }

  // One panel of a run of a matrix where it lies. Missing columns are 0.
  void pack_panel(const float* from, const Layout& layout, std::int64_t k, std::int64_t panel,
                  float* to) const {
    const std::int64_t width = shape_.panel_width(panel), depth = shape_.run_depth(k);
    const std::int64_t count = std::min(kTileColumns, shape_.columns - panel * kTileColumns);
    const std::int64_t row_stride = layout.strides[layout.strides.size() - 2];
    const std::int64_t column_stride = layout.strides.back();
    from += k * row_stride + panel * kTileColumns * column_stride;
    if (column_stride != 1)
      transpose_into(from, column_stride, row_stride, count, depth, to, width);
    for (std::int64_t row = 0; row < depth; ++row) {
      if (column_stride == 1) std::copy_n(from + row * row_stride, count, to + row * width);
      std::fill_n(to + row * width + count, width - count, 0.0F);
    }
  }

  // The next panel in order of use: in this run, of the next product, in the next run, or in the
  // next group.
  const float* panel_after(const Addresses& addresses, std::int64_t k, std::int64_t panel,
                           const Range& panels, std::size_t product) const {
    if (shape_.packs) return addresses.at(weights_[product]);  // the copy brings it on
    if (panel + 1 < panels.end)
      return addresses.at(weights_[product]) + shape_.panel_at(k, panel + 1);
    if (product + 1 < weights_.size())
      return addresses.at(weights_[product + 1]) + shape_.panel_at(k, panels.begin);
    const std::int64_t next = k + kTileDepth;
    return addresses.at(weights_[0]) + (next < shape_.depth
                                            ? shape_.panel_at(next, panels.begin)
                                            : shape_.panel_at(0, panels.end % shape_.panels()));
  }

  // All rows of the block times one panel. Each tile prefetches its share of the next panel.
  void run_panel(Tile tile, std::int64_t width, std::int64_t rows) const {
    const float* const left = tile.left;
    float* const result = tile.result;
    const std::int64_t count = (rows + kTileRows - 1) / kTileRows;
    const auto& tiles = tiles_[static_cast<std::size_t>(width / kTileLanes)];
    // The tiles of one panel prefetch the next panel together. A tile runs depth / kPrefetchEvery
    // steps, so this stride covers its share of depth x kTileColumns numbers.
    tile.stride = (kTileColumns * kPrefetchEvery + count - 1) / count;
    // Equal parts again: with 10 rows, two tiles of 5 instead of 9 and 1.
    for (std::int64_t t = 0; t < count; ++t) {
      const Range part = part_of({0, rows}, t, count);
      tile.left = left + part.begin * kLeftStride;
      tile.result = result + part.begin * kResultStride;
      tiles[static_cast<std::size_t>(part.size())](tile);
      tile.next += tile.depth * kTileColumns / count;
    }
  }

  // Runs the fused epilogue on the block of results and writes its values.
  void finish(const Addresses& addresses, const Range& rows, const Range& panels,
              float* result) const {
    const std::int64_t begin = panels.begin * kTileColumns;
    const std::int64_t end = std::min(shape_.columns, panels.end * kTileColumns);
    // The chain holds its registers in blocks of kBlockElements columns.
    for (std::int64_t column = begin; column < end; column += kBlockElements) {
      ProductChain::Block block{.data = {},
                                .stride = kResultStride,
                                .row = rows.begin,
                                .rows = rows.size(),
                                .column = column,
                                .count = std::min<std::int64_t>(kBlockElements, end - column)};
      for (std::size_t i = 0; i < weights_.size(); ++i)
        block.data[i] = results_of_product(result, i) + (column - begin);
      chain_.run(addresses, block);
    }
  }

  BlockShape shape_;
  Split split_;
  Operand left_;
  std::vector<Operand> weights_;
  ProductChain chain_;
  Operand scratch_;
  const TileFunctions& tiles_;
};

// Packs the weights into panels; missing columns of the last panel are 0.
ir::Tensor packed(const float* from, const BlockShape& shape, int threads) {
  ir::Tensor result(ir::DType::kF32, ir::Shape{shape.depth * shape.packed_columns()});
  float* const all = result.mutable_as<float>().data();
  // Runs of the depth occupy disjoint ranges of the packed weights, so threads pack them
  // independently. The tensor starts as zeros, which are the padding columns.
  parallel_for(threads, (shape.depth + kTileDepth - 1) / kTileDepth, [&](std::int64_t run) {
    const std::int64_t begin = run * kTileDepth;
    const std::int64_t end = std::min(shape.depth, begin + kTileDepth);
    for (std::int64_t panel = 0; panel < shape.panels(); ++panel) {
      const std::int64_t column = panel * kTileColumns;
      const std::int64_t width = std::min(kTileColumns, shape.columns - column);
      float* to = all + shape.panel_at(begin, panel);
      for (std::int64_t row = begin; row < end; ++row, to += shape.panel_width(panel))
        std::copy_n(from + row * shape.columns + column, width, to);
    }
  });
  return result;
}

// Packs once per plan, even if several products read the same weights.
Operand packed_weights(PlanBuilder& builder, ir::NodeId id, const BlockShape& shape) {
  constexpr const char* kForm = "panels of tiles";
  const Operand source = builder.in_row_major(id);
  if (const Operand* known = builder.find_packed(source, kForm)) return *known;
  const auto* from = reinterpret_cast<const float*>(builder.weights_data(source) + source.offset);
  const Operand operand = builder.weights(packed(from, shape, builder.threads()));
  builder.remember_packed(source, kForm, operand);
  return operand;
}

// A computed matrix where it lies, if strides say where.
Operand readable(PlanBuilder& builder, ir::NodeId id) {
  const Operand& home = builder.home(id);
  const ir::Shape& strides = home.layout.strides;
  const bool plain = home.layout.block == 1 &&
                     std::ranges::all_of(strides, [](std::int64_t stride) { return stride > 0; });
  return plain ? home : builder.in_row_major(id);
}

}  // namespace

bool is_block_product(const ir::Graph& graph, ir::NodeId id, Precision precision) {
  if (!may_be_block_product(graph, id, precision)) return false;
  if (has_whole_tiles()) return has_two_product_units();
  return pays_by_parts(*block_shape(graph, graph.node(id)));
}

bool may_be_block_product(const ir::Graph& graph, ir::NodeId id, Precision precision) {
  if (precision != Precision::kF32 || tile_functions() == nullptr || is_row_product(graph, id))
    return false;
  const auto shape = block_shape(graph, graph.node(id));
  // Beside whole tiles, oneDNN's kernel does not copy a computed matrix.
  return shape && (!shape->packs || (!has_whole_tiles() && pays_by_parts(*shape)));
}

base::Status make_block_product(PlanBuilder& builder, const Group& group) {
  if (!is_block_product(builder.graph(), group.anchor(), builder.options().precision))
    return base::unsupported("needs many rows and constant weights");
  return make_block_product(builder, product_group(group));
}

base::Status make_block_product(PlanBuilder& builder, const ProductGroup& group) {
  for (const ir::NodeId id : group.products) {
    if (builder.node(id).attrs.find("activation") != nullptr ||
        builder.given_form(id) != OperandForm::kF32 ||
        !may_be_block_product(builder.graph(), id, builder.options().precision))
      return base::unsupported("needs many rows and constant weights");
  }
  if (builder.least_scratch) return base::unsupported("tiles take scratch space");
  const ir::Node& node = builder.node(group.products.front());
  const Operand& home = builder.home(node.inputs[0]);
  if (!is_row_major(home.layout, home.shape()))
    return base::unsupported("the input is not row-major");
  const BlockShape shape = *block_shape(builder.graph(), node);
  for (const ir::NodeId id : group.products) {
    if (block_shape(builder.graph(), builder.node(id))->packs != shape.packs)
      return base::unsupported("some of the matrices are constants");
  }
  EGRET_ASSIGN_OR_RETURN(ProductChain chain, ProductChain::of(builder, group, shape.columns));
  const Split split = split_of(shape, builder.threads());
  const Operand left = builder.in_row_major(node.inputs[0]);
  std::vector<Operand> weights;
  for (const ir::NodeId id : group.products) {
    const ir::NodeId right = builder.node(id).inputs[1];
    weights.push_back(shape.packs ? readable(builder, right)
                                  : packed_weights(builder, right, shape));
  }
  const Operand scratch = builder.bytes(BlockProductStep::scratch_bytes(shape, split));
  chain.place_results(builder);
  std::vector<Operand> touched{left, scratch};
  touched.insert(touched.end(), weights.begin(), weights.end());
  chain.append_operands(touched);
  builder.add(std::make_unique<BlockProductStep>(shape, split, left, std::move(weights),
                                                 std::move(chain), scratch),
              touched, "matmul", "own:tiles" + results_of(group));
  return base::ok();
}

}  // namespace egret::backends::cpu
