// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/row_product.h"

#include <algorithm>
#include <array>
#include <optional>

#include "backends/cpu/block_transpose.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel_loop.h"
#include "backends/cpu/pointwise_program.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kPanel = 64;  // columns
constexpr std::int64_t kParallelBytes = 256 << 10;
constexpr std::int64_t kMostRows = 8;

// Columns [first, first + 16 vectors) as rows of so many vectors, from `at` in the packed weights.
struct Panel {
  std::int64_t first, at;
  int vectors;
};

std::vector<Panel> panels_of(std::int64_t rows, std::int64_t columns) {
  std::vector<Panel> panels;
  std::int64_t at = 0;
  for (std::int64_t first = 0; first < columns;) {
    const std::int64_t left = (columns - first + kLanes - 1) / kLanes;
    const int vectors = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    panels.push_back({first, at, vectors});
    at += rows * vectors * kLanes;
    first += vectors * kLanes;
  }
  return panels;
}

// Written with vectors and compiled for each instruction set by itself, as in pool_kernel.cc.
using Block __attribute__((vector_size(64), aligned(4), may_alias)) = float;

// Rows of a matrix, so many elements apart. Those of x are not written.
struct Rows {
  float* data;
  std::int64_t stride;
};

// Even and odd rows are summed apart, in panels of all widths: equal columns give equal results.
// Eight sums are then under way in the widest, so that additions wait for none before them. Sums of
// kRun rows are added up apart, so that the rounding error grows with the runs and not with the
// rows. The prefetch is for weights that lie in memory: it passes the ends of pages, where the
// processor's own stops.
#define EGRET_PANEL(suffix, target)                                                               \
  template <int kVectors>                                                                         \
  target void panel_##suffix(const float* x, const float* w, std::int64_t rows, float* y) {       \
    Block total[kVectors] = {};                                                                   \
    for (std::int64_t row = 0; row < rows;) {                                                     \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                             \
      Block even[kVectors] = {}, odd[kVectors] = {};                                              \
      for (; row + 2 <= end; row += 2, w += 2 * kVectors * kLanes) {                              \
        for (int i = 0; i < kVectors; ++i) {                                                      \
          const float* const a = w + i * kLanes;                                                  \
          const float* const b = a + kVectors * kLanes;                                           \
          __builtin_prefetch(a + kAhead);                                                         \
          __builtin_prefetch(b + kAhead);                                                         \
          even[i] += x[row] * *reinterpret_cast<const Block*>(a);                                 \
          odd[i] += x[row + 1] * *reinterpret_cast<const Block*>(b);                              \
        }                                                                                         \
      }                                                                                           \
      for (; row < end; ++row, w += kVectors * kLanes) {                                          \
        for (int i = 0; i < kVectors; ++i)                                                        \
          even[i] += x[row] * *reinterpret_cast<const Block*>(w + i * kLanes);                    \
      }                                                                                           \
      for (int i = 0; i < kVectors; ++i) total[i] += even[i] + odd[i];                            \
    }                                                                                             \
    for (int i = 0; i < kVectors; ++i) *reinterpret_cast<Block*>(y + i * kLanes) = total[i];      \
  }                                                                                               \
  /* The same of several rows, which share each weight that is read; `next` is brought on. */     \
  template <int kRows, int kVectors>                                                              \
  target const float* panel_##suffix(const Rows& x, const float* w, std::int64_t rows,            \
                                     const Rows& y, const float* next, std::int64_t step) {       \
    Block total[kRows][kVectors] = {};                                                            \
    for (std::int64_t row = 0; row < rows;) {                                                     \
      const std::int64_t end = rows - row < kRun ? rows : row + kRun;                             \
      Block sum[kRows][kVectors] = {};                                                            \
      for (; row < end; ++row, w += kVectors * kLanes, next += step) {                            \
        for (std::int64_t e = 0; e < step; e += kLanes) __builtin_prefetch(next + e, 0, 2);       \
        for (int i = 0; i < kVectors; ++i) {                                                      \
          const Block weights = *reinterpret_cast<const Block*>(w + i * kLanes);                  \
          for (int r = 0; r < kRows; ++r) sum[r][i] += x.data[r * x.stride + row] * weights;      \
        }                                                                                         \
      }                                                                                           \
      for (int r = 0; r < kRows; ++r) {                                                           \
        for (int i = 0; i < kVectors; ++i) total[r][i] += sum[r][i];                              \
      }                                                                                           \
    }                                                                                             \
    for (int r = 0; r < kRows; ++r) {                                                             \
      for (int i = 0; i < kVectors; ++i)                                                          \
        *reinterpret_cast<Block*>(y.data + r * y.stride + i * kLanes) = total[r][i];              \
    }                                                                                             \
    return next;                                                                                  \
  }                                                                                               \
  /* While one panel is worked on, four rows at a time, the next one comes from memory: each time \
     as much of it as these rows are of all. */                                                   \
  template <int kVectors>                                                                         \
  target void panel_rows_##suffix(Rows x, const float* w, std::int64_t rows, Rows y,              \
                                  std::int64_t count) {                                           \
    if (count == 1) return panel_##suffix<kVectors>(x.data, w, rows, y.data);                     \
    const float* next = w + rows * kVectors * kLanes;                                             \
    const std::int64_t step = kVectors * kLanes / count;                                          \
    for (; count >= 4; count -= 4, x.data += 4 * x.stride, y.data += 4 * y.stride)                \
      next = panel_##suffix<4, kVectors>(x, w, rows, y, next, 4 * step);                          \
    for (; count >= 2; count -= 2, x.data += 2 * x.stride, y.data += 2 * y.stride)                \
      next = panel_##suffix<2, kVectors>(x, w, rows, y, next, 2 * step);                          \
    if (count > 0) panel_##suffix<kVectors>(x.data, w, rows, y.data);                             \
  }                                                                                               \
  target void panel_of_##suffix(int vectors, const Rows& x, const float* w, std::int64_t rows,    \
                                const Rows& y, std::int64_t count) {                              \
    if (vectors == 4) {                                                                           \
      panel_rows_##suffix<4>(x, w, rows, y, count);                                               \
    } else if (vectors == 2) {                                                                    \
      panel_rows_##suffix<2>(x, w, rows, y, count);                                               \
    } else {                                                                                      \
      panel_rows_##suffix<1>(x, w, rows, y, count);                                               \
    }                                                                                             \
  }
constexpr std::int64_t kAhead = 512;  // elements
constexpr std::int64_t kRun = 128;
EGRET_PANEL(generic, )
#if defined(__x86_64__)
EGRET_PANEL(v3, __attribute__((target("arch=x86-64-v3"))))
EGRET_PANEL(v4, __attribute__((target("arch=x86-64-v4"))))
#endif
#undef EGRET_PANEL

using PanelFunction = void (*)(int, const Rows&, const float*, std::int64_t, const Rows&,
                               std::int64_t);

PanelFunction best_panel() {
#if defined(__x86_64__)
  return best_of<PanelFunction>({panel_of_generic, panel_of_v3, panel_of_v4});
#else
  return panel_of_generic;
#endif
}

// An operand of the chain: all rows, one row for all, one element, or the product itself.
struct ChainInput {
  enum class Kind : std::uint8_t { kProduct, kRows, kRow, kElement };
  Kind kind = Kind::kProduct;
  Operand operand{};
};

struct Chain {
  PointwiseProgram program{};
  std::vector<ChainInput> inputs{};
};

struct RowShape {
  std::int64_t count = 1;                          // rows of the product
  std::int64_t rows = 0, columns = 0;              // of the weights
  std::int64_t row_stride = 0, column_stride = 0;  // in elements, as they come
};

class RowProductStep : public Step {
 public:
  RowProductStep(const RowShape& shape, const Operand& row, const Operand& weights, Chain chain,
                 const Operand& target, int threads)
      : count_(shape.count),
        rows_(shape.rows),
        columns_(shape.columns),
        panels_(panels_of(shape.rows, shape.columns)),
        row_(row),
        weights_(weights),
        chain_(std::move(chain)),
        target_(target) {
    parts_ = rows_ * columns_ * 4 >= kParallelBytes
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

  // The chain may write over one of its rows: the product waits beside it.
  void run_block_of_panels(const Addresses& addresses, std::size_t begin, std::size_t end) const {
    const std::int64_t first = panels_[begin].first;
    const std::int64_t last = end < panels_.size() ? panels_[end].first : columns_;
    const float* const w = addresses.at(weights_);
    float* const y = addresses.at(target_) + first;
    alignas(64) float product[kMostRows * kBlockElements];
    for (std::size_t p = begin; p < end; ++p) {
      const Panel& panel = panels_[p];
      panel_(panel.vectors, {addresses.at(row_), rows_}, w + panel.at, rows_,
             {product + (panel.first - first), kBlockElements}, count_);
    }
    for (std::int64_t r = 0; r < count_; ++r) {
      float* const row = product + r * kBlockElements;
      if (chain_.inputs.empty()) {
        std::copy_n(row, last - first, y + r * columns_);
      } else {
        run_chain(addresses, row, y + r * columns_, r * columns_ + first, first, last - first);
      }
    }
  }

  // Of `count` elements, which are at `at` of the whole result and at `column` of a row.
  void run_chain(const Addresses& addresses, float* product, float* target, std::int64_t at,
                 std::int64_t column, std::int64_t count) const {
    const PointwiseProgram& program = chain_.program;
    alignas(64) float own[kMaxRegisters * kBlockElements];
    std::array<float*, kMaxRegisters> registers;
    for (std::size_t r = 0; r < static_cast<std::size_t>(program.registers); ++r)
      registers[r] = own + r * kBlockElements;
    for (std::size_t i = 0; i < chain_.inputs.size(); ++i) {
      const ChainInput& input = chain_.inputs[i];
      switch (input.kind) {
        case ChainInput::Kind::kProduct: registers[i] = product; break;
        case ChainInput::Kind::kRows: registers[i] = addresses.at(input.operand) + at; break;
        case ChainInput::Kind::kRow: registers[i] = addresses.at(input.operand) + column; break;
        case ChainInput::Kind::kElement:
          std::fill_n(registers[i], count, *addresses.at(input.operand));
      }
    }
    for (std::size_t i = 0; i < program.constants.size(); ++i)
      std::fill_n(registers[chain_.inputs.size() + i], count, program.constants[i]);
    registers[static_cast<std::size_t>(program.result)] = target;
    run_block(program.code, registers.data(), static_cast<int>(count));
  }

  std::int64_t count_, rows_, columns_;
  std::vector<Panel> panels_;
  PanelFunction panel_ = best_panel();
  Operand row_, weights_;
  Chain chain_;
  Operand target_;
  int parts_ = 1;

 public:
  static constexpr std::size_t kMaxRegisters = 32;
};

std::int64_t elements(const ir::Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

// One window that is the whole image, without padding.
std::optional<RowShape> conv_shape(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape source = graph.node(node.inputs[0]).type.shape();
  const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
  if (node.attrs.integer("group") != 1 || source[0] > kMostRows) return std::nullopt;
  const bool padded =
      std::ranges::any_of(node.attrs.integers("pads"), [](std::int64_t pad) { return pad != 0; });
  if (padded || !std::equal(source.begin() + 1, source.end(), weights.begin() + 1))
    return std::nullopt;
  const ir::Integers& dilations = node.attrs.integers("dilations");
  for (std::size_t i = 0; i < dilations.size(); ++i) {
    if (dilations[i] != 1 && weights[i + 2] != 1) return std::nullopt;
  }
  const std::int64_t rows = elements(weights, 1, weights.size());
  return RowShape{source[0], rows, weights[0], 1, rows};
}

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

// Whether the packed form is a permutation of the weights that can be made where they lie.
bool packs_in_place(const RowShape& shape) { return shape.columns % kPanel == 0; }

void pack_in_place(std::span<float> weights, const RowShape& shape) {
  if (shape.column_stride == 1)
    return transpose_blocks(weights, shape.rows, shape.columns / kPanel, kPanel);
  // A column lies together, and the columns of a panel do.
  for (std::int64_t first = 0; first < shape.columns; first += kPanel) {
    transpose_blocks(weights.subspan(static_cast<std::size_t>(first * shape.rows),
                                     static_cast<std::size_t>(kPanel * shape.rows)),
                     kPanel, shape.rows, 1);
  }
}

ir::Tensor packed_copy(const float* from, const RowShape& shape) {
  const std::vector<Panel> panels = panels_of(shape.rows, shape.columns);
  const std::int64_t size = panels.back().at + shape.rows * panels.back().vectors * kLanes;
  ir::Tensor packed(ir::DType::kF32, ir::Shape{size});
  float* to = packed.mutable_as<float>().data();
  for (const Panel& panel : panels) {
    const std::int64_t width = panel.vectors * kLanes;
    const std::int64_t used = std::min(width, shape.columns - panel.first);
    for (std::int64_t row = 0; row < shape.rows; ++row, to += width) {
      const float* const line = from + row * shape.row_stride + panel.first * shape.column_stride;
      for (std::int64_t i = 0; i < used; ++i) to[i] = line[i * shape.column_stride];
    }
  }
  return packed;
}

// The weights themselves are gone afterwards where nothing else needs them, as those of a large
// layer would be most of what the process takes.
Operand packed_weights(PlanBuilder& builder, ir::NodeId id, const RowShape& shape) {
  const Operand source = builder.in_row_major(id);
  const std::string form = "panels of rows " + std::to_string(shape.row_stride);
  if (const Operand* packed = builder.find_packed(source, form)) return *packed;
  ir::Tensor packed = packs_in_place(shape) ? builder.take_weights(id) : ir::Tensor();
  if (packed.bytes() > 0) {
    pack_in_place(packed.mutable_as<float>(), shape);
  } else {
    packed = packed_copy(
        reinterpret_cast<const float*>(builder.weights_data(source) + source.offset), shape);
  }
  const Operand operand = builder.weights(std::move(packed));
  builder.remember_packed(source, form, operand);
  return operand;
}

// The operand, seen from the rows of a product of this shape, where all but the last `columns`
// elements are rows: all of them, one row for all, or an element.
base::Result<ChainInput> chain_input(PlanBuilder& builder, ir::NodeId id, const ir::Shape& product,
                                     std::int64_t columns) {
  using Kind = ChainInput::Kind;
  const ir::TensorType& type = builder.node(id).type;
  if (type.dtype != ir::DType::kF32) return base::unsupported("an operand of other than f32");
  if (type.elements() == 1) return ChainInput{Kind::kElement, builder.in_row_major(id)};
  const ir::Shape sizes = type.shape();
  // Axes from the last on: as the product's until a row is full, then as they are or all 1.
  std::int64_t of_row = 1, of_rows = 1;
  for (std::size_t i = 1; i <= product.size(); ++i) {
    const std::int64_t wanted = product[product.size() - i];
    const std::int64_t size = i <= sizes.size() ? sizes[sizes.size() - i] : 1;
    const bool in_row = of_row < columns;
    if (in_row && size != wanted) return base::unsupported("an operand that is no row");
    (in_row ? of_row : of_rows) *= size;
  }
  const Kind kind = of_rows == 1 ? Kind::kRow : Kind::kRows;
  if (of_row != columns || of_row * of_rows != type.elements() ||
      (of_rows != 1 && of_row * of_rows != ir::TensorType(type.dtype, product).elements()))
    return base::unsupported("an operand that is neither rows nor an element");
  return ChainInput{kind, builder.in_row_major(id)};
}

base::Result<Chain> chain_of(PlanBuilder& builder, const Group& group, std::int64_t columns) {
  const ir::Shape product = builder.node(group.anchor()).type.shape();
  Chain chain;
  if (group.nodes.size() == 1) return chain;
  EGRET_ASSIGN_OR_RETURN(chain.program,
                         compile_pointwise(builder.graph(), std::span(group.nodes).subspan(1)));
  if (static_cast<std::size_t>(chain.program.registers) > RowProductStep::kMaxRegisters)
    return base::unsupported("a chain of more values than a block holds");
  for (const ir::NodeId id : chain.program.inputs) {
    if (id == group.anchor()) {
      chain.inputs.push_back({});
    } else {
      EGRET_ASSIGN_OR_RETURN(ChainInput input, chain_input(builder, id, product, columns));
      chain.inputs.push_back(std::move(input));
    }
  }
  return chain;
}

// The chain's last reader of a row writes over it. The product's own row is read to the end.
Operand target_of(PlanBuilder& builder, const Group& group, const Chain& chain) {
  const ir::NodeId root = group.root();
  const ir::TensorType& type = builder.node(root).type;
  for (std::size_t i = 0; i < chain.inputs.size(); ++i) {
    const ir::NodeId id = chain.program.inputs[i];
    const Operand& row = chain.inputs[i].operand;
    if (chain.inputs[i].kind == ChainInput::Kind::kProduct ||
        chain.inputs[i].kind == ChainInput::Kind::kElement || row.type != type ||
        id == builder.node(group.anchor()).inputs[0] || !builder.may_overwrite(id, row))
      continue;
    builder.set_home(root, row);
    return row;
  }
  return builder.output(root, row_major(type.shape()));
}

}  // namespace

bool is_row_product(const ir::Graph& graph, ir::NodeId id) {
  return row_shape(graph, id).has_value();
}

base::Status make_row_product(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  const auto shape = row_shape(builder.graph(), group.anchor());
  const bool fused = node.attrs.find("activation") != nullptr;
  if (!shape || fused || !builder.is_constant(node.inputs[1]))
    return base::unsupported("not a few rows with constant weights");
  EGRET_ASSIGN_OR_RETURN(Chain chain, chain_of(builder, group, shape->columns));
  const Operand row = builder.in_row_major(node.inputs[0]);
  std::vector<Operand> touched{row};
  for (const ChainInput& input : chain.inputs) {
    if (input.kind != ChainInput::Kind::kProduct) touched.push_back(input.operand);
  }
  const Operand weights = packed_weights(builder, node.inputs[1], *shape);
  const Operand target = target_of(builder, group, chain);
  touched.insert(touched.end(), {weights, target});
  auto step = std::make_unique<RowProductStep>(*shape, row, weights, std::move(chain), target,
                                               builder.threads());
  builder.add(std::move(step), touched, node.op->name(), "own:row");
  return base::ok();
}

}  // namespace egret::backends::cpu
