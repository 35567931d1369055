// SPDX-License-Identifier: Apache-2.0
// Packing and blocking of contractions, as in Goto and van de Geijn (ir/evaluate/micro_kernel.h).
// For each block of kBlockDepth terms, the panels of up to kBlockColumns column tiles (in f64: 256
// * 20 * 24 * 8 = 960 KiB with large tiles, half of that with small ones) are packed once and stay
// in the L2 cache. Rows pass through in blocks of kBlockRows tiles, each packed once per block of
// terms.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "base/system/thread_pool.h"
#include "ir/evaluate/contraction.h"
#include "ir/evaluate/lane_memory.h"
#include "ir/evaluate/micro_kernel.h"

namespace egret::ir {
namespace {

constexpr std::int64_t kBlockDepth = 256;
constexpr std::int64_t kBlockColumns = 20;  // tiles
constexpr std::int64_t kBlockRows = 16;     // tiles
constexpr std::int64_t kLeastTasks = 8;     // enough tasks to balance threads

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The variable part of a form for all values of some variables, the last one running fastest. The
// table has one entry a combination. A form's value is its constant plus one entry of each table,
// which is what makes any affine layout packable.
std::vector<std::int64_t> tabulate(const LoopNest& nest, const std::vector<int>& variables,
                                   const Affine& form) {
  std::vector<std::int64_t> table{0};
  for (const int v : variables) {
    const std::int64_t extent = nest.extent(v);
    const std::int64_t factor = form.factor(v);
    std::vector<std::int64_t> finer;
    finer.reserve(table.size() * static_cast<std::size_t>(extent));
    for (const std::int64_t base : table) {
      for (std::int64_t i = 0; i < extent; ++i) finer.push_back(base + i * factor);
    }
    table = std::move(finer);
  }
  return table;
}

// One factor, by position along its side (row or column) and depth.
struct PackedFactor {
  struct Guard {
    std::vector<std::int64_t> side, depth, batch;
    std::int64_t constant;
  };

  // An offset is constant + side[i] + depth[k] + batch[b]. The three tables have size + depth +
  // batches entries, instead of one entry for each combination.
  PackedFactor(const LoopNest& nest, const Contraction& c, const Contraction::Factor& factor,
               std::span<const Tensor> inputs)
      : tensor(inputs[static_cast<std::size_t>(factor.input)]),
        side(tabulate(nest, factor.variables, factor.form)),
        depth(tabulate(nest, c.reduced, factor.form)),
        batch(tabulate(nest, c.batch, factor.form)),
        output(tabulate(nest, factor.variables, nest.output)),
        constant(factor.form.constant) {
    for (const Affine& guard : factor.guards) {
      guards.push_back({tabulate(nest, factor.variables, guard), tabulate(nest, c.reduced, guard),
                        tabulate(nest, c.batch, guard), guard.constant});
    }
    // Other types are widened once; packing then needs only two instantiations.
    if (tensor.dtype() != DType::kF32 && tensor.dtype() != DType::kF64) {
      Tensor wide = Tensor::unfilled({DType::kF64, tensor.shape()});
      load_lanes(tensor.dtype(), tensor.data().data(), 0, 1, tensor.elements(),
                 wide.mutable_as<double>().data());
      tensor = std::move(wide);
    }
  }

  std::int64_t size() const { return static_cast<std::int64_t>(side.size()); }

  Tensor tensor;
  std::vector<std::int64_t> side, depth, batch;  // offsets in the tensor
  std::vector<std::int64_t> output;              // offsets in the output
  std::int64_t constant;
  std::vector<Guard> guards;
};

// Where in a factor a panel is.
struct PanelPlace {
  std::size_t batch;
  std::int64_t first, count;  // along the side; at most the panel's width
  std::int64_t depth_begin, depth_end;
};

bool are_consecutive(const std::int64_t* places, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    if (places[i] != places[0] + i) return false;
  }
  return true;
}

// Packs panel[k*kWidth + i]; what is excluded or beyond `count` is 0. False when an element that
// counts lies outside of the tensor.
template <std::int64_t kWidth, typename Stored>
bool pack_panel(const PackedFactor& factor, const Stored* data, const PanelPlace& at,
                double* panel) {
  const std::int64_t elements = factor.tensor.elements();
  const std::int64_t base = factor.constant + factor.batch[at.batch];
  const std::int64_t* side = factor.side.data() + at.first;
  const bool full = at.count == kWidth;
  const bool contiguous = full && are_consecutive(side, kWidth);
  // The extreme offsets of the panel bound all of its reads: one range check replaces kWidth.
  const auto [least_side, most_side] = std::minmax_element(side, side + at.count);
  // The largest and least value of each guard's side part decide most of its terms at once.
  struct Bounds {
    std::int64_t least, most;
  };
  base::SmallVector<Bounds, 8> bounds;
  for (const auto& guard : factor.guards) {
    const auto [low, high] =
        std::minmax_element(guard.side.data() + at.first, guard.side.data() + at.first + at.count);
    const std::int64_t constant = guard.constant + guard.batch[at.batch];
    bounds.push_back({*low + constant, *high + constant});
  }

  for (std::int64_t k = at.depth_begin; k < at.depth_end; ++k, panel += kWidth) {
    const auto row = static_cast<std::size_t>(k);
    bool all = true;
    bool none = false;
    for (std::size_t g = 0; g < bounds.size(); ++g) {
      const std::int64_t part = factor.guards[g].depth[row];
      all = all && bounds[g].most + part <= 0;
      none = none || bounds[g].least + part > 0;
    }
    const std::int64_t offset = base + factor.depth[row];
    // Every lane of this term is excluded: the window lies in the padding.
    if (none) {
      std::fill(panel, panel + kWidth, 0.0);
      continue;
    }
    if (all && contiguous) {
      const std::int64_t start = offset + side[0];
      if (start < 0 || start + kWidth > elements) return false;
      for (std::int64_t i = 0; i < kWidth; ++i) panel[i] = static_cast<double>(data[start + i]);
      continue;
    }
    if (all && full) {
      if (offset + *least_side < 0 || offset + *most_side >= elements) return false;
      const Stored* start = data + offset;
      for (std::int64_t i = 0; i < kWidth; ++i) panel[i] = static_cast<double>(start[side[i]]);
      continue;
    }
    // The mixed case, at borders only: decide and check each lane.
    bool in[kWidth];
    for (std::int64_t i = 0; i < kWidth; ++i) in[i] = i < at.count;
    for (std::size_t g = 0; !all && g < bounds.size(); ++g) {
      const auto& guard = factor.guards[g];
      if (bounds[g].most + guard.depth[row] <= 0) continue;
      const std::int64_t rest = guard.constant + guard.batch[at.batch] + guard.depth[row];
      const std::int64_t* part = guard.side.data() + at.first;
      for (std::int64_t i = 0; i < at.count; ++i) in[i] = in[i] && part[i] + rest <= 0;
    }
    for (std::int64_t i = 0; i < kWidth; ++i) {
      panel[i] = 0;
      if (!in[i]) continue;
      const std::int64_t place = offset + side[i];
      if (place < 0 || place >= elements) return false;
      panel[i] = static_cast<double>(data[place]);
    }
  }
  return true;
}

// Consecutive panels for [first, end) along the side.
template <std::int64_t kWidth>
bool pack(const PackedFactor& factor, PanelPlace at, std::int64_t end, double* to) {
  const std::int64_t depth = at.depth_end - at.depth_begin;
  for (; at.first < end; at.first += kWidth, to += kWidth * depth) {
    at.count = std::min(kWidth, end - at.first);
    const bool good = factor.tensor.dtype() == DType::kF64
                          ? pack_panel<kWidth>(factor, factor.tensor.as<double>().data(), at, to)
                          : pack_panel<kWidth>(factor, factor.tensor.as<float>().data(), at, to);
    if (!good) return false;
  }
  return true;
}

struct AlignedDelete {
  void operator()(double* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
using AlignedBuffer = std::unique_ptr<double[], AlignedDelete>;
AlignedBuffer aligned_buffer(std::int64_t count) {
  return AlignedBuffer(static_cast<double*>(
      ::operator new[](static_cast<std::size_t>(count) * sizeof(double), std::align_val_t(64))));
}

// A part of the output: some columns and rows of one batch.
struct Task {
  std::size_t batch;
  std::int64_t column_begin, column_end, row_begin, row_end;
};

template <typename Tile>
class ContractionRun {
 public:
  ContractionRun(const Contraction& c, const LoopNest& nest, std::span<const Tensor> inputs,
                 double* out)
      : rows_(nest, c, c.rows, inputs),
        columns_(nest, c, c.columns, inputs),
        output_batch_(tabulate(nest, c.batch, nest.output)),
        out_(out + nest.output.constant) {}

  static constexpr std::int64_t kTileRows = Tile::kRows;
  static constexpr std::int64_t kTileColumns = Tile::kColumns;

  // Tasks write disjoint parts of the output, so they need no synchronization.
  // Enough tasks to balance threads, each as large as possible, in whole tiles.
  std::vector<Task> tasks() const {
    const auto batches = static_cast<std::int64_t>(output_batch_.size());
    std::int64_t column_step = kBlockColumns * kTileColumns;
    // Each task packs its columns and rows anew: the longer side is the one to be cut.
    if (columns_.size() > rows_.size()) {
      const std::int64_t tasks = (kLeastTasks + batches - 1) / batches;
      column_step =
          std::min(column_step, rounded_up((columns_.size() + tasks - 1) / tasks, kTileColumns));
    }
    const std::int64_t column_blocks = (columns_.size() + column_step - 1) / column_step;
    const std::int64_t blocks = batches * column_blocks;
    const std::int64_t row_blocks = (kLeastTasks + blocks - 1) / blocks;
    const std::int64_t row_step =
        rounded_up(std::max(kTileRows, (rows_.size() + row_blocks - 1) / row_blocks), kTileRows);
    std::vector<Task> result;
    for (std::size_t batch = 0; batch < output_batch_.size(); ++batch) {
      for (std::int64_t column = 0; column < columns_.size(); column += column_step) {
        for (std::int64_t row = 0; row < rows_.size(); row += row_step) {
          result.push_back({batch, column, std::min(column + column_step, columns_.size()), row,
                            std::min(row + row_step, rows_.size())});
        }
      }
    }
    return result;
  }

  // False when the definition reads outside of an input.
  bool run(const Task& task) const {
    const auto depth = static_cast<std::int64_t>(rows_.depth.size());
    const std::int64_t block_depth = std::min(depth, kBlockDepth);
    const AlignedBuffer column_panels =
        aligned_buffer(rounded_up(task.column_end - task.column_begin, kTileColumns) * block_depth);
    // A block of row panels takes at most 16 tiles x 256 terms of f64, which is 256 KiB with tiles
    // of 8 rows. It is reused by all column panels of the task.
    const std::int64_t row_step = kBlockRows * kTileRows;
    const AlignedBuffer row_panels = aligned_buffer(
        rounded_up(std::min(task.row_end - task.row_begin, row_step), kTileRows) * block_depth);
    for (std::int64_t k = 0; k < depth; k += kBlockDepth) {
      const std::int64_t k_end = std::min(k + kBlockDepth, depth);
      const PanelPlace columns{task.batch, task.column_begin, 0, k, k_end};
      if (!pack<kTileColumns>(columns_, columns, task.column_end, column_panels.get())) {
        return false;
      }
      for (std::int64_t row = task.row_begin; row < task.row_end; row += row_step) {
        const std::int64_t row_end = std::min(row + row_step, task.row_end);
        const PanelPlace rows{task.batch, row, 0, k, k_end};
        if (!pack<kTileRows>(rows_, rows, row_end, row_panels.get())) return false;
        // The first block of terms overwrites the output, later ones add to it.
        multiply_block(task, row, row_end, k_end - k, k == 0, row_panels.get(),
                       column_panels.get());
      }
    }
    return true;
  }

 private:
  // Each tile is multiplied into a buffer and then scattered through the output's offset tables, so
  // that the kernel needs no knowledge of the output's layout. Consecutive places are added as one
  // run.
  void multiply_block(const Task& task, std::int64_t row_begin, std::int64_t row_end,
                      std::int64_t depth, bool first, const double* row_panels,
                      const double* column_panels) const {
    double* out = out_ + output_batch_[task.batch];
    alignas(64) double tile[kTileRows * kTileColumns];
    for (std::int64_t c = task.column_begin; c < task.column_end; c += kTileColumns) {
      const double* columns = column_panels + (c - task.column_begin) * depth;
      const std::int64_t width = std::min(kTileColumns, task.column_end - c);
      const std::int64_t* places = columns_.output.data() + c;
      const bool together = are_consecutive(places, width);
      for (std::int64_t r = row_begin; r < row_end; r += kTileRows) {
        multiply_(depth, row_panels + (r - row_begin) * depth, columns, tile);
        const std::int64_t height = std::min(kTileRows, row_end - r);
        for (std::int64_t i = 0; i < height; ++i) {
          double* to = out + rows_.output[static_cast<std::size_t>(r + i)];
          const double* from = tile + i * kTileColumns;
          if (together && !first) {
            double* run = to + places[0];
            for (std::int64_t j = 0; j < width; ++j) run[j] += from[j];
            continue;
          }
          for (std::int64_t j = 0; j < width; ++j) {
            to[places[j]] = first ? from[j] : to[places[j]] + from[j];
          }
        }
      }
    }
  }

  PackedFactor rows_, columns_;
  std::vector<std::int64_t> output_batch_;
  double* out_;
  MultiplyPanels multiply_ = Tile::kernel();
};

template <typename Tile>
base::Status run_by_tiles(const Contraction& contraction, const LoopNest& nest,
                          std::span<const Tensor> inputs, double* out,
                          const InterpretOptions& options) {
  const ContractionRun<Tile> run(contraction, nest, inputs, out);
  const std::vector<Task> tasks = run.tasks();
  std::atomic<bool> inside{true};
  std::atomic<bool> stopped{false};
  base::shared_pool().parallel_for(tasks.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !stopped; ++i) {
      if (options.should_stop && options.should_stop()) {
        stopped = true;
      } else if (!run.run(tasks[i])) {
        inside = false;
      }
    }
  });
  if (stopped) return base::limit_hit("interpreter stopped");
  if (!inside) return base::internal_error("a definition reads outside of its input");
  return base::ok();
}

// Whether a side fills most of its tiles of this width. Large tiles pay off where at most a quarter
// of a side's padded tiles is padding.
bool fills(const LoopNest& nest, const Contraction::Factor& factor, std::int64_t width) {
  std::int64_t size = 1;
  for (const int v : factor.variables) size *= nest.extent(v);
  return 4 * size >= 3 * rounded_up(size, width);
}

}  // namespace

base::Status run_contraction(const Contraction& contraction, const LoopNest& nest,
                             std::span<const Tensor> inputs, double* out,
                             const InterpretOptions& options) {
  const bool large = LargeTile::kernel() != nullptr &&
                     fills(nest, contraction.rows, LargeTile::kRows) &&
                     fills(nest, contraction.columns, LargeTile::kColumns);
  const auto run = large ? run_by_tiles<LargeTile> : run_by_tiles<SmallTile>;
  return run(contraction, nest, inputs, out, options);
}

}  // namespace egret::ir
