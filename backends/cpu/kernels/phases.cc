// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/phases.h"

#include <functional>

#include "backends/cpu/plan/copy_step.h"
#include "backends/cpu/plan/reorder.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kBytes = sizeof(float);

// A strided view of `image`: pixels from (row, column) on, every `step`th along both axes.
Operand pixels(Operand image, std::int64_t row, std::int64_t column, std::int64_t step,
               std::int64_t rows, std::int64_t columns) {
  ir::Shape& strides = image.layout.strides;
  image.offset += (row * strides[2] + column * strides[3]) * kBytes;
  strides[2] *= step;
  strides[3] *= step;
  const ir::Shape shape = image.shape();
  image.type = ir::TensorType(image.type.dtype, ir::Shape{shape[0], shape[1], rows, columns});
  return image;
}

// Phase (row, column) of the image lies in strip `row`, after `column` phases and their separating
// columns.
void for_each_phase(const Operand& whole, std::span<const Operand> strips,
                    const std::function<void(const Operand&, const Operand&)>& body) {
  const auto d = static_cast<std::int64_t>(strips.size());
  const std::int64_t rows = whole.shape()[2] / d;
  const std::int64_t columns = whole.shape()[3] / d;
  for (std::int64_t row = 0; row < d; ++row) {
    for (std::int64_t column = 0; column < d; ++column)
      body(pixels(whole, row, column, d, rows, columns),
           pixels(strips[static_cast<std::size_t>(row)], 0, column * (columns + 1), 1, rows,
                  columns));
  }
}

}  // namespace

// A column of zeros separates neighbouring phases (the padding of one pixel that both need).
ir::Shape strip_shape(const ir::Shape& whole, std::int64_t d) {
  const auto even = [](std::int64_t size) { return size + size % 2; };
  return {whole[0], whole[1], even(whole[2] / d), even(whole[3] + d - 1)};
}

void split_phases(PlanBuilder& builder, const Operand& whole, std::span<const Operand> strips) {
  // The separators and the padding to even sizes must be 0. The copies below write only the phases.
  for (const Operand& strip : strips) {
    const Operand touched[] = {strip};
    builder.add(make_fill_step(strip, ir::Tensor::scalar(ir::DType::kF32, 0)), touched, "reorder",
                "own:fill");
  }
  for_each_phase(whole, strips, [&](const Operand& phase, const Operand& place) {
    add_reorder(builder, phase, place);
  });
}

void join_phases(PlanBuilder& builder, std::span<const Operand> strips, const Operand& whole) {
  for_each_phase(whole, strips, [&](const Operand& phase, const Operand& place) {
    add_reorder(builder, place, phase);
  });
}

}  // namespace egret::backends::cpu
