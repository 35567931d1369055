// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/row_product.h"

#include <algorithm>
#include <optional>

#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/loops/block_transpose.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/row_panels.h"

namespace egret::backends::cpu {
namespace {

// Below this size a team of threads costs more than it saves.
constexpr std::int64_t kParallelBytes = 256 << 10;
constexpr std::int64_t kMostRows = 8;

struct RowShape {
  std::int64_t count = 1;                          // rows of the product
  std::int64_t rows = 0, columns = 0;              // of the weights
  std::int64_t row_stride = 0, column_stride = 0;  // in elements, as they come
  bool bf16 = false;                               // how they are packed

  // A word holds two bf16 weights of neighbouring rows.
  std::int64_t packed_rows() const { return bf16 ? (rows + 1) / 2 : rows; }
};

// A few rows times constant weights. Each weight is read once, so memory bounds the time: panels
// are read in order, and each thread has its own share of them.
class RowProductStep : public Step {
 public:
  // One operand of weights for each product.
  RowProductStep(const RowShape& shape, const Operand& row, std::vector<Operand> weights,
                 ProductChain chain, int threads)
      : count_(shape.count),
        rows_(shape.rows),
        columns_(shape.columns),
        panels_(panels_of(shape.packed_rows(), shape.columns)),
        panel_(shape.bf16 ? best_bf16_panel() : best_panel()),
        row_(row),
        weights_(std::move(weights)),
        chain_(std::move(chain)) {
    const auto products = static_cast<std::int64_t>(weights_.size());
    parts_ = products * shape.packed_rows() * columns_ * 4 >= kParallelBytes
                 ? std::min<int>(threads, static_cast<int>(panels_.size()))
                 : 1;
  }

  base::Status run(const Addresses& addresses) override {
    parallel_for(parts_, parts_,
                 [&](std::int64_t part) { run_part(addresses, static_cast<std::size_t>(part)); });
    return base::ok();
  }

 private:
  void run_part(const Addresses& addresses, std::size_t part) const {
    constexpr std::size_t kBlockPanels = kBlockElements / kPanel;
    const auto parts = static_cast<std::size_t>(parts_);
    const std::size_t end = panels_.size() * (part + 1) / parts;
    for (std::size_t p = panels_.size() * part / parts; p < end; p += kBlockPanels)
      run_block_of_panels(addresses, p, std::min(end, p + kBlockPanels));
  }

  // The chain may overwrite one of its own operands, so the product goes to a buffer first.
  void run_block_of_panels(const Addresses& addresses, std::size_t begin, std::size_t end) const {
    const std::int64_t first = panels_[begin].first;
    // Only the last panel of all may be wider than its columns: panels are multiples of 16 columns.
    // The buffer has room for the padding, and the chain reads `last - first` columns.
    const std::int64_t last = end < panels_.size() ? panels_[end].first : columns_;
    alignas(64) float products[kMostProducts][kMostRows * kBlockElements];
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const float* const w = addresses.at(weights_[i]);
      for (std::size_t p = begin; p < end; ++p) {
        const Panel& panel = panels_[p];
        panel_(panel.vectors, {addresses.at(row_), rows_}, w + panel.at, rows_,
               {products[i] + (panel.first - first), kBlockElements}, count_);
      }
    }
    chain_.run(addresses, {.data = {products[0], products[1], products[2], products[3]},
                           .stride = kBlockElements,
                           .row = 0,
                           .rows = count_,
                           .column = first,
                           .count = last - first});
  }

  std::int64_t count_, rows_, columns_;
  std::vector<Panel> panels_;
  PanelFunction panel_;
  Operand row_;
  std::vector<Operand> weights_;
  ProductChain chain_;
  int parts_ = 1;
};

std::int64_t elements(const ir::Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

// A convolution whose single window covers the image, without padding, is a product of rows.
std::optional<RowShape> conv_shape(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape source = graph.node(node.inputs[0]).type.shape();
  const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
  if (node.attrs.integer("group") != 1 || source[0] > kMostRows) return std::nullopt;
  const bool padded =
      std::ranges::any_of(node.attrs.integers("pads"), [](std::int64_t pad) { return pad != 0; });
  // The window equals the image in channels and spatial sizes. An image and its filter have then
  // the same row-major order, and the convolution is their dot product.
  if (padded || !std::equal(source.begin() + 1, source.end(), weights.begin() + 1))
    return std::nullopt;
  const ir::Integers& dilations = node.attrs.integers("dilations");
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    if (dilations[i] != 1 && weights[i + 2] != 1) return std::nullopt;
  }
  const std::int64_t rows = elements(weights, 1, weights.size());
  // Filters are the columns of the product: one weight further is the next row, one filter further
  // is the next column.
  return RowShape{source[0], rows, weights[0], 1, rows};
}

// At most kMostRows rows, times one matrix.
std::optional<RowShape> matmul_shape(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape a = graph.node(node.inputs[0]).type.shape();
  const ir::Shape b = graph.node(node.inputs[1]).type.shape();
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const std::int64_t count = elements(a, 0, a.size() - 1);
  if (count > kMostRows || elements(b, 0, b.size() - 2) != 1) return std::nullopt;
  return RowShape{count, b[b.size() - 2], b[b.size() - 1], b[b.size() - 1], 1};
}

std::optional<RowShape> row_shape(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (const ir::NodeId input : node.inputs) {
    const ir::TensorType& type = graph.node(input).type;
    if (!type.is_concrete() || type.dtype != ir::DType::kF32 || type.elements() == 0)
      return std::nullopt;
  }
  const bool conv = node.attrs.find("pads") != nullptr;
  return conv ? conv_shape(graph, node) : matmul_shape(graph, node);
}

// Whether packing is a pure permutation of the weights, which can be done in place.
bool packs_in_place(const RowShape& shape) { return !shape.bf16 && shape.columns % kPanel == 0; }

void pack_in_place(std::span<float> weights, const RowShape& shape) {
  // Rows are contiguous. In units of kPanel columns, the packed order is the transpose of the
  // matrix of blocks: panel by panel instead of row by row.
  if (shape.column_stride == 1)
    return transpose_blocks(weights, shape.rows, shape.columns / kPanel, kPanel);
  // Columns are contiguous, and so are the columns of a panel: transpose each panel.
  for (std::int64_t first = 0; first < shape.columns; first += kPanel) {
    transpose_blocks(weights.subspan(static_cast<std::size_t>(first * shape.rows),
                                     static_cast<std::size_t>(kPanel * shape.rows)),
                     kPanel, shape.rows, 1);
  }
}

// Visits the weights panel by panel, row by row; `write` takes the packed offset, the row and the
// column.
template <typename Write>
void for_each_weight(const RowShape& shape, const std::vector<Panel>& panels, const Write& write) {
  for (const Panel& panel : panels) {
    const std::int64_t width = panel.vectors * kLanes;
    const std::int64_t used = std::min(width, shape.columns - panel.first);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t i = 0; i < used; ++i)
        write(panel.at + (shape.bf16 ? row / 2 : row) * width + i, row, panel.first + i);
    }
  }
}

ir::Tensor packed_copy(const float* from, const RowShape& shape) {
  const std::vector<Panel> panels = panels_of(shape.packed_rows(), shape.columns);
  const std::int64_t size = panels.back().at + shape.packed_rows() * panels.back().vectors * kLanes;
  const auto weight = [&](std::int64_t row, std::int64_t column) {
    return from[row * shape.row_stride + column * shape.column_stride];
  };
  ir::Tensor packed(shape.bf16 ? ir::DType::kU32 : ir::DType::kF32, ir::Shape{size});
  if (shape.bf16) {
    const auto words = packed.mutable_as<std::uint32_t>();
    for_each_weight(shape, panels, [&](std::int64_t at, std::int64_t row, std::int64_t column) {
      const std::uint32_t rounded = ir::float_to_bfloat16(weight(row, column));
      // Even rows go to the low half, odd rows to the high half. The words start as zeros, so a
      // missing last odd row reads as 0.
      words[static_cast<std::size_t>(at)] |= rounded << (row % 2 * 16);
    });
  } else {
    const auto numbers = packed.mutable_as<float>();
    for_each_weight(shape, panels, [&](std::int64_t at, std::int64_t row, std::int64_t column) {
      numbers[static_cast<std::size_t>(at)] = weight(row, column);
    });
  }
  return packed;
}

// Frees the original weights where nothing else needs them: those of a large layer can be most of
// the process's memory.
Operand packed_weights(PlanBuilder& builder, ir::NodeId id, const RowShape& shape) {
  const Operand source = builder.in_row_major(id);
  // The key of the packed form. Weights of one shape may be read by rows or by columns.
  const std::string form =
      (shape.bf16 ? "bf16 panels of rows " : "panels of rows ") + std::to_string(shape.row_stride);
  if (const Operand* packed = builder.find_packed(source, form)) return *packed;
  ir::Tensor packed = packs_in_place(shape) ? builder.take_weights(id) : ir::Tensor();
  if (packed.bytes() > 0) {
    pack_in_place(packed.mutable_as<float>(), shape);
  } else {
    packed = packed_copy(
        reinterpret_cast<const float*>(builder.weights_data(source) + source.offset), shape);
  }
  Operand operand = builder.weights(std::move(packed));
  builder.remember_packed(source, form, operand);
  return operand;
}

}  // namespace

bool is_row_product(const ir::Graph& graph, ir::NodeId id) {
  return row_shape(graph, id).has_value();
}

base::Status make_row_product(PlanBuilder& builder, const Group& group) {
  return make_row_product(builder, product_group(group));
}

base::Status make_row_product(PlanBuilder& builder, const ProductGroup& group) {
  const ir::NodeId anchor = group.products.front();
  const ir::Node& node = builder.node(anchor);
  auto shape = row_shape(builder.graph(), anchor);
  const bool fused = node.attrs.find("activation") != nullptr;
  if (!shape || fused) return base::unsupported("needs few rows and constant weights");
  const OperandForm form = builder.given_form(anchor);
  for (const ir::NodeId id : group.products) {
    if (!builder.is_constant(builder.node(id).inputs[1]))
      return base::unsupported("needs few rows and constant weights");
    if (builder.given_form(id) != form || form == OperandForm::kI8)
      return base::unsupported("has no weights in integers");
  }
  shape->bf16 = builder.options().precision == Precision::kBF16 || form == OperandForm::kBF16;
  EGRET_ASSIGN_OR_RETURN(ProductChain chain, ProductChain::of(builder, group, shape->columns));
  const Operand row = builder.in_row_major(node.inputs[0]);
  std::vector<Operand> weights;
  for (const ir::NodeId id : group.products)
    weights.push_back(packed_weights(builder, builder.node(id).inputs[1], *shape));
  chain.place_results(builder);
  std::vector<Operand> touched{row};
  touched.insert(touched.end(), weights.begin(), weights.end());
  chain.append_operands(touched);
  auto step = std::make_unique<RowProductStep>(*shape, row, std::move(weights), std::move(chain),
                                               builder.threads());
  const std::string results = results_of(group);
  builder.add(std::move(step), touched, node.op->name(),
              (shape->bf16 ? "own:row_bf16" : "own:row") + results);
  return base::ok();
}

}  // namespace egret::backends::cpu
