// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/kernel_source.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "backends/codegen/contractions/amx.h"
#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_writer.h"
#include "backends/codegen/contractions/tensor_core_writer.h"
#include "backends/codegen/contractions/window_form.h"
#include "backends/codegen/contractions/window_writer.h"
#include "backends/codegen/lowering.h"
#include "backends/codegen/text/kept_rounding.h"
#include "backends/codegen/text/prelude.h"
#include "backends/codegen/text/transposition.h"
#include "backends/codegen/text/writer.h"
#include "base/hash.h"
#include "ir/evaluate/contraction.h"
#include "ir/evaluate/lane_program.h"
#include "ir/nest/merge_variables.h"

namespace egret::backends::codegen {
namespace {

std::string input_name(std::size_t i) { return "in" + std::to_string(i); }

std::string cuda_signature(const KernelSource& kernel) {
  // The bound limits registers per thread: a launch that needs more registers than a block has
  // fails.
  std::string text = "extern \"C\" __global__ void __launch_bounds__(" +
                     std::to_string(kernel.threads) + ") " + kernel.name + "(";
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
    text += "const " + element_type(kernel.inputs[i]) + "* __restrict__ " + input_name(i) + ", ";
  return text + element_type(kernel.output) + "* __restrict__ out, int* failure) {\n";
}

std::string host_signature(const KernelSource& kernel) {
  std::string text = "extern \"C\" void " + kernel.name +
                     "(const void* const* in, void* result, int* failure, i64 low, i64 high) {\n";
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    const std::string type = element_type(kernel.inputs[i]);
    text += "  const " + type + "* __restrict__ " + input_name(i) + " = (const " + type + "*)in[" +
            std::to_string(i) + "];\n";
  }
  const std::string type = element_type(kernel.output);
  return text + "  " + type + "* __restrict__ out = (" + type +
         "*)result;\n  (void)in, (void)failure;\n";
}

void set_launch(const Schedule& schedule, Target target, KernelSource& kernel) {
  kernel.width = std::max(schedule.row_width, schedule.lane_width);
  kernel.blocks = schedule.blocks;
  kernel.threads = schedule.threads;
  if (target == Target::kHost)
    kernel.steps = schedule.by_rows ? schedule.row_count : schedule.lane_count;
}

// Whether the kernel would copy its only input unchanged: the offset read equals the offset
// written, for as many elements of one type.
bool is_view(const ir::LoopNest& nest, const ir::Denotation& denotation,
             std::span<const ir::TensorType> inputs) {
  const ir::NestNode& root = nest.node(nest.root);
  if (root.op != ir::ExprOp::kRead || inputs.size() != 1 || root.form != nest.output) return false;
  return inputs[0].dtype == denotation.type.dtype &&
         inputs[0].elements() == denotation.type.elements();
}

// Thinner contractions than these are no slower as loops.
constexpr std::int64_t kFewRows = 3, kLeastColumns = 8, kLeastDepth = 4;
// More rows pay for panels of columns.
constexpr std::int64_t kMostWindowRows = 4;
// Processors with such vectors load some lanes of one at full speed (AVX2, AVX-512).
constexpr int kMaskedBytes = 32;

bool is_worthwhile(const ContractionForm& form, const ContractionOptions& options) {
  const double products = form.products() / static_cast<double>(form.batch);
  return products >= options.least_products &&
         (options.least_products <= 1 ||
          (form.columns >= kLeastColumns && form.depth >= kLeastDepth));
}

// Text in the tiles of this number. `others` becomes the number of tiles beside the model's.
template <typename Text, typename Writer, typename Tiles>
Text text_in(Writer& writer, const Tiles& first, const std::vector<Tiles>& others, int number,
             int& others_count) {
  others_count = static_cast<int>(others.size());
  return writer.text(
      number > 0 && number <= others_count ? others[static_cast<std::size_t>(number - 1)] : first);
}

// Of a contraction that slides over its right factor.
std::optional<ContractionText> window_text(const ContractionForm& form,
                                           std::span<const ir::TensorType> inputs,
                                           const ContractionOptions& options,
                                           KernelSource& kernel) {
  if (form.rows > kMostWindowRows || form.columns < kLeastColumns ||
      form.products() < options.least_products)
    return std::nullopt;
  const auto window = window_form(form);
  if (!window) return std::nullopt;
  WindowWriter writer(form, *window, inputs, kernel.output);
  const bool in_place = options.processor.vector_bytes >= kMaskedBytes && writer.has_plain_lines();
  const auto tiles = window_tiles(form, *window, options.processor, writer.element(), in_place);
  if (!tiles) return std::nullopt;
  const auto others =
      other_window_tiles(form, *window, options.processor, writer.element(), in_place);
  return text_in<ContractionText>(writer, *tiles, others, options.tiles, kernel.other_tiles);
}

std::optional<ContractionText> panel_text(const ContractionForm& form,
                                          std::span<const ir::TensorType> inputs,
                                          const ContractionOptions& options, KernelSource& kernel) {
  if (!is_worthwhile(form, options)) return std::nullopt;
  ContractionWriter writer(form, inputs, kernel.output, options.processor, options.constants);
  // Few rows do not pay for a transposition. Loops over neighbouring terms are fast.
  if (options.least_products > 1 && form.rows < kFewRows && writer.transposes_columns())
    return std::nullopt;
  const auto tiles =
      contraction_tiles(form, options.processor, writer.element(), writer.in_place());
  const auto others =
      other_contraction_tiles(form, options.processor, writer.element(), writer.in_place());
  kernel.groups = writer.groups();
  return text_in<ContractionText>(writer, tiles, others, options.tiles, kernel.other_tiles);
}

// The statements of the kernel in tiles; empty where it is no contraction, or a thin one.
std::string tiled_body(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs,
                       const ContractionOptions& options, KernelSource& kernel) {
  if (!options.tiled) return {};
  const auto form = contraction_form(nest, inputs);
  if (!form) return {};
  auto text = window_text(*form, inputs, options, kernel);
  kernel.slides = text.has_value();
  if (!text) text = panel_text(*form, inputs, options, kernel);
  if (!text) return {};
  kernel.is_tiled = true;
  kernel.steps = text->steps;
  kernel.memory = text->memory;
  kernel.shared_memory = text->shared_memory;
  kernel.packing_steps = text->packing_steps;
  kernel.partial_steps = text->partial_steps;
  kernel.work.operations = text->operations;
  kernel.text = std::move(text->functions);
  return std::move(text->body);
}

// Smaller ones leave most of an instruction's products unused.
constexpr std::int64_t kLeastFragmentRows = 8, kLeastFragmentDepth = 16;

// The statements of the kernel on tensor cores; empty where it is no contraction, where its values
// do not fit them, or where it is a thin one.
std::string tensor_core_body(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs,
                             const ContractionOptions& options, KernelSource& kernel) {
  if (!options.tiled || !options.tensor_cores.has) return {};
  const auto form = contraction_form(nest, inputs);
  if (!form || !is_worthwhile(*form, options)) return {};
  if (options.least_products > 1 &&
      (form->rows < kLeastFragmentRows || form->depth < kLeastFragmentDepth))
    return {};
  const Fragments fragments = fragments_of(*form, inputs, kernel.output, options.tensor_cores);
  if (fragments == Fragments::kNone) return {};
  TensorCoreWriter writer(*form, inputs, kernel.output, fragments);
  if (!writer.is_possible()) return {};
  const auto shapes = tensor_core_tiles(*form);
  kernel.other_tiles = static_cast<int>(shapes.size()) - 1;
  const TensorCoreTiles& tiles =
      shapes[static_cast<std::size_t>(std::clamp(options.tiles, 0, kernel.other_tiles))];
  TensorCoreWriter::Text text = writer.text(tiles);
  kernel.fragments = fragments;
  kernel.is_tiled = true;
  kernel.blocks = text.blocks;
  kernel.threads = tiles.threads();
  kernel.work.operations = text.operations;
  return std::move(text.body);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Compilers take so many terms of a sum at a time, if they lie side by side.
constexpr double kLanesOfSums = 4;

// Whether it adds up products of neighbours: a row times the rows of a matrix.
bool sums_neighbours(const ir::LoopNest& nest, const Packing& packing) {
  return std::ranges::any_of(nest.nodes, [&](const ir::NestNode& node) {
    return node.op == ir::ExprOp::kReduce && node.reduction == ir::Reduction::kSum &&
           nest.node(node.kids[0]).op == ir::ExprOp::kMul && !node.variables.empty() &&
           packing.reads_along(node.variables.back());
  });
}

// Fills in the name, a hash of types, launch and text: equal kernels of several regions are
// compiled once.
// `in_order`: as written, for what counts on rounding. NVRTC reassociates nothing.
void finish(KernelSource& kernel, const std::string& body, Target target, bool in_order) {
  // The text mentions the flag only where a check can set it.
  kernel.may_fail = body.find("failure") != std::string::npos;
  std::string types = element_type(kernel.output);
  for (const ir::DType type : kernel.inputs) types += " " + element_type(type);
  if (target == Target::kCuda) types += " " + std::to_string(kernel.threads);
  if (in_order) types += " in order";
  kernel.name = "kernel_" + base::content_hash(types + "\n" + kernel.text + body).to_hex();
  const std::string function =
      (target == Target::kCuda ? cuda_signature(kernel) : host_signature(kernel)) + body + "}\n";
  kernel.text += in_order ? in_written_order(function) : function;
  replace_all(kernel.text, "KERNEL", kernel.name);
}

}  // namespace

base::Status failure_status(int failure, const std::string& label) {
  switch (static_cast<KernelFailure>(failure)) {
    case KernelFailure::kNone: return base::ok();
    case KernelFailure::kIndexOutOfRange:
      return base::bad_input(label + ": an index that a tensor supplies is out of range");
    case KernelFailure::kDivisionByZero:
      return base::bad_input(label + ": integer division by zero");
    case KernelFailure::kNotFinite:
      return base::internal_error(label + ": a padded contraction of values that are not finite");
  }
  return base::internal_error(label + ": kernel failure " + std::to_string(failure));
}

base::Result<KernelSource> emit_kernel(const ir::Denotation& denotation,
                                       std::span<const ir::TensorType> inputs, Target target,
                                       const LeastPacks& least,
                                       const ContractionOptions& contractions) {
  KernelSource kernel;
  kernel.output = denotation.type.dtype;
  for (const ir::TensorType& type : inputs) kernel.inputs.push_back(type.dtype);
  kernel.work.bytes = static_cast<double>(denotation.type.bytes());
  for (const ir::TensorType& type : inputs) kernel.work.bytes += static_cast<double>(type.bytes());
  // Computed in double, each value of type f32 needs a rounding of its own, which f32 precision
  // writes as a cast. Computed in float, values are f32 anyway, and f64 precision drops the casts.
  const auto precision =
      computes_in_double(inputs, kernel.output) ? ir::Precision::kF32 : ir::Precision::kF64;
  EGRET_ASSIGN_OR_RETURN(ir::LoopNest nest, lowered(denotation, inputs, precision));
  const bool in_order = target == Target::kHost && counts_on_rounding(nest, contractions.sizes);
  const std::string tiled = target == Target::kHost
                                ? tiled_body(nest, inputs, contractions, kernel)
                                : tensor_core_body(nest, inputs, contractions, kernel);
  if (kernel.is_tiled) {
    finish(kernel, tiled, target, in_order);
    return kernel;
  }
  kernel.is_product = ir::find_contraction(nest).has_value();
  ir::merge_variables(nest);

  kernel.is_view = is_view(nest, denotation, inputs);
  const Packing packing(nest, inputs, kernel.output, least);
  const Schedule loops = schedule(nest, target, packing);
  set_launch(loops, target, kernel);
  Writer writer(nest, packing, loops, target, inputs, kernel.output);
  const auto transposed =
      target == Target::kHost ? transposition(nest) : std::optional<Transposition>();
  if (transposed) kernel.steps = transposed->steps;
  const std::string body = transposed ? transposed_body(nest, *transposed, writer) : writer.body();
  kernel.work.operations = writer.operations();
  if (target == Target::kHost && sums_neighbours(nest, packing))
    kernel.work.operations /= kLanesOfSums;
  finish(kernel, body, target, in_order);
  return kernel;
}

std::string source_of(std::span<const KernelSource* const> kernels, Target target) {
  // Ordered by name, so that equal sets of kernels give one source and one key of the cache.
  std::map<std::string_view, std::string_view> texts;
  for (const KernelSource* kernel : kernels) texts.emplace(kernel->name, kernel->text);
  std::string source = prelude(target);
  if (std::ranges::any_of(kernels, [](const KernelSource* kernel) {
        return kernel->fragments != Fragments::kNone;
      }))
    source += tensor_core_prelude();
  if (std::ranges::any_of(kernels,
                          [](const KernelSource* kernel) { return kernel->groups.in_tiles; }))
    source += amx_prelude();
  std::int64_t memory = 0;
  for (const KernelSource* kernel : kernels) memory = std::max(memory, kernel->memory);
  if (memory > 0) {
    source += "alignas(64) static thread_local unsigned char egret_work[" + std::to_string(memory) +
              "];\n";
  }
  for (const auto& [name, text] : texts) source += text;
  return source;
}

}  // namespace egret::backends::codegen
