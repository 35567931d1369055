// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/codegen/lowering.h"
#include "backends/cuda/steps/epilogue.h"
#include "backends/cuda/steps/gemm.h"
#include "backends/cuda/steps/product.h"
#include "ir/evaluate/contraction.h"
#include "ir/evaluate/lane_program.h"
#include "ir/nest/merge_variables.h"

namespace egret::backends::cuda {
namespace {

constexpr double kLeastProducts = 1 << 16;  // below, an emitted kernel does as well
constexpr std::int64_t kLeastDepth = 8;

// One variable that it may lack: then its extent is 1.
struct Axis {
  int symbol = -1;
  std::int64_t extent = 1;

  std::int64_t stride(const ir::Affine& form) const { return symbol < 0 ? 0 : form.factor(symbol); }
};

// Column-major storage of a matrix with these strides, one of which must be 1. The stride of a
// single row or column is arbitrary.
std::optional<Gemm::Operand> stored(std::int64_t rows, std::int64_t row_stride,
                                    std::int64_t columns, std::int64_t column_stride) {
  if (columns == 1) column_stride = std::max(rows, column_stride);
  if (rows == 1) row_stride = std::max(columns, row_stride);
  if (row_stride == 1 && column_stride >= rows)
    return Gemm::Operand{
        .transposed = false, .rows = rows, .columns = columns, .leading = column_stride};
  if (column_stride == 1 && row_stride >= columns)
    return Gemm::Operand{
        .transposed = true, .rows = columns, .columns = rows, .leading = row_stride};
  return std::nullopt;
}

// Of two variables the outer one becomes the batch, if there is none yet. No variable is a matrix
// with one row.
bool take_axes(const ir::LoopNest& nest, std::vector<int>& variables, std::vector<int>& batch) {
  if (variables.size() == 2 && batch.empty()) {
    // The output's strides say which of the two is the outer one.
    const bool first_inner = nest.output.factor(variables[0]) < nest.output.factor(variables[1]);
    const auto outer = variables.begin() + (first_inner ? 1 : 0);
    batch.push_back(*outer);
    variables.erase(outer);
  }
  return variables.size() <= 1 && batch.size() <= 1;
}

// Addends: a matrix laid out like the output, or a column shared by all of n and the batch. For a
// single column both hold.
bool is_like_output(const ir::NestNode& read, const ir::LoopNest& nest) {
  return read.form == nest.output;
}
bool is_column(const ir::NestNode& read, int m_symbol) {
  return m_symbol >= 0 && read.form == ir::Affine::of_symbol(m_symbol);
}

// A product, and the variable of its rows (-1: there is one row).
struct Found {
  Gemm gemm;
  int m_symbol;
};

// cuBLAS stores by columns. The nest's output is row-major: its innermost axis, the contraction's
// columns, becomes m, and its rows become n. No data moves for this.
std::optional<Found> gemm_of(const ir::LoopNest& nest, const ir::Contraction& contraction) {
  std::vector<int> columns = contraction.columns.variables;
  std::vector<int> rows = contraction.rows.variables;
  std::vector<int> batches = contraction.batch;
  if (!contraction.rows.guards.empty() || !contraction.columns.guards.empty() ||
      contraction.reduced.size() != 1 || !take_axes(nest, columns, batches) ||
      !take_axes(nest, rows, batches))
    return std::nullopt;
  const auto axis = [&](int symbol) { return Axis{symbol, nest.extent(symbol)}; };
  const auto only = [&](const std::vector<int>& of) { return of.empty() ? Axis{} : axis(of[0]); };
  const Axis m = only(columns), n = only(rows), k = only(contraction.reduced);
  const Axis batch = only(batches);
  const ir::Affine& of_a = contraction.columns.form;
  const ir::Affine& of_b = contraction.rows.form;
  const auto a = stored(m.extent, m.stride(of_a), k.extent, k.stride(of_a));
  const auto b = stored(k.extent, k.stride(of_b), n.extent, n.stride(of_b));
  const std::int64_t leading = std::max(n.stride(nest.output), n.extent == 1 ? m.extent : 0);
  if (!a || !b || m.stride(nest.output) != 1 || leading < m.extent || nest.output.constant != 0)
    return std::nullopt;
  Gemm gemm{.m = m.extent, .n = n.extent, .k = k.extent, .batch = batch.extent, .a = *a, .b = *b};
  gemm.a.input = contraction.columns.input;
  gemm.b.input = contraction.rows.input;
  gemm.a.offset = of_a.constant;
  gemm.b.offset = of_b.constant;
  gemm.a.batch_stride = batch.stride(of_a);
  gemm.b.batch_stride = batch.stride(of_b);
  gemm.leading = gemm.added_leading = leading;
  gemm.batch_stride = gemm.added_batch_stride = batch.stride(nest.output);
  return Found{gemm, m.symbol};
}

bool take(const Epilogue& epilogue, const ir::LoopNest& nest, int m_symbol, Gemm& gemm) {
  gemm.scale = epilogue.scale;
  gemm.relu = epilogue.relu;
  for (const ir::NestNode* read : epilogue.added) {
    if (is_like_output(*read, nest) && gemm.added < 0) {
      gemm.added = read->input;
    } else if (is_column(*read, m_symbol) && gemm.bias < 0) {
      gemm.bias = read->input;
    } else {
      return false;
    }
  }
  return true;
}

bool take(const Tail& tail, const ir::LoopNest& nest, int m_symbol, Product& product) {
  product.tail = tail.operations;
  for (const ir::NestNode* read : tail.read) {
    const bool is_row = !is_like_output(*read, nest);
    if (is_row && !is_column(*read, m_symbol)) return false;
    product.added.push_back({read->input, is_row});
  }
  return true;
}

// A and B are of one type; all else is of that type too, or of f32.
bool set_types(Gemm& gemm, ir::DType output, std::span<const ir::TensorType> inputs) {
  const auto type_of = [&](int input) { return inputs[static_cast<std::size_t>(input)].dtype; };
  gemm.type = type_of(gemm.a.input);
  gemm.output_type = output;
  return type_of(gemm.b.input) == gemm.type &&
         (output == gemm.type || (output == ir::DType::kF32 && gemm.type != ir::DType::kF64));
}

// The definition's nest where it may be a product with something around it.
std::optional<ir::LoopNest> nest_of(const StepDefinition& definition) {
  const auto& [denotation, inputs, constants, part] = definition;
  if (!ir::is_float(denotation.type.dtype) || inputs.empty() || inputs.size() > kMostInputs ||
      denotation.type.elements() == 0)
    return std::nullopt;
  auto nest = codegen::lowered(denotation, inputs, ir::Precision::kF64);
  if (!nest.ok()) return std::nullopt;
  ir::merge_variables(*nest);
  return *std::move(nest);
}

// The sum as a product, if it is large enough for a library call.
std::optional<Found> product_at(const ir::LoopNest& nest, int sum,
                                const StepDefinition& definition) {
  // The nest with the sum as its root, so that the contraction is found below an epilogue.
  ir::LoopNest product = nest;
  product.root = sum;
  const auto contraction = ir::find_any_contraction(product);
  if (!contraction) return std::nullopt;
  auto found = gemm_of(nest, *contraction);
  if (!found) return std::nullopt;
  Gemm& gemm = found->gemm;
  const double products = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                          static_cast<double>(gemm.k) * static_cast<double>(gemm.batch);
  if (products < kLeastProducts || gemm.k < kLeastDepth ||
      !set_types(gemm, definition.denotation.type.dtype, definition.inputs))
    return std::nullopt;
  return found;
}

bool are_of_type(std::span<const int> added, const StepDefinition& definition, ir::DType type) {
  return std::ranges::all_of(added, [&](int input) {
    return input < 0 || definition.inputs[static_cast<std::size_t>(input)].dtype == type;
  });
}

std::optional<Gemm> gemm_in(const ir::LoopNest& nest, const StepDefinition& definition) {
  const auto epilogue = find_epilogue(nest, definition.constants);
  if (!epilogue || std::isfinite(epilogue->most)) return std::nullopt;
  auto found = product_at(nest, epilogue->sum, definition);
  if (!found || !take(*epilogue, nest, found->m_symbol, found->gemm)) return std::nullopt;
  const int added[] = {found->gemm.bias, found->gemm.added};
  if (!are_of_type(added, definition, found->gemm.output_type)) return std::nullopt;
  return found->gemm;
}

}  // namespace

std::optional<Gemm> find_gemm(const StepDefinition& definition) {
  const auto nest = nest_of(definition);
  return nest ? gemm_in(*nest, definition) : std::nullopt;
}

std::optional<Product> find_product(const StepDefinition& definition) {
  const auto nest = nest_of(definition);
  if (!nest || gemm_in(*nest, definition)) return std::nullopt;
  const auto tail = find_tail(*nest, definition.constants);
  if (!tail) return std::nullopt;
  const auto found = product_at(*nest, tail->sum, definition);
  if (!found || found->gemm.type == ir::DType::kF64) return std::nullopt;
  Product product{.gemm = found->gemm, .tail = {}, .added = {}};
  if (!take(*tail, *nest, found->m_symbol, product)) return std::nullopt;
  std::vector<int> added;
  for (const Product::Added& each : product.added) added.push_back(each.input);
  if (!are_of_type(added, definition, found->gemm.output_type)) return std::nullopt;
  return product;
}

bool put(Gemm& gemm, const OutputPart& part) {
  const std::int64_t sizes[] = {gemm.m, gemm.n, gemm.batch};
  std::int64_t row = 1;
  std::int64_t* const strides[] = {&row, &gemm.leading, &gemm.batch_stride};
  return part.put(sizes, strides);
}

}  // namespace egret::backends::cuda
