// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/window_writer.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/contractions/window_kernel.h"

namespace egret::backends::codegen {

WindowWriter::WindowWriter(const ContractionForm& form, const WindowForm& window,
                           std::span<const ir::TensorType> inputs, ir::DType output)
    : form_(form), window_(window), inputs_(inputs.begin(), inputs.end()), output_(output) {
  const bool in_double = computes_in_double(inputs, output);
  type_ = term_type(form.type, in_double);
  element_ = type_ == "double" || type_ == "u64" ? 8 : 4;
  // Real arithmetic must not change its type by the read that stands for the sum.
  const ir::DType real = in_double ? ir::DType::kF64 : ir::DType::kF32;
  inputs_.emplace_back(form.type == ir::DType::kF64 ? real : form.type, ir::Shape{1});
  left_ = part(form.left);
  right_ = part(form.right);
  epilogue_ = part(form.epilogue);
}

WindowWriter::Part WindowWriter::part(const ContractionForm::Part& form) {
  Part part{.form = &form};
  part.packing = std::make_unique<Packing>(form.nest, inputs_, output_, LeastPacks{});
  part.writer = std::make_unique<Writer>(form.nest, *part.packing, schedule_, Target::kHost,
                                         inputs_, output_);
  return part;
}

// [first, last) as loops over blocks of equal size, each of which is a vector or two, and a last
// block that overlaps the one before. Compilers write the elements of an odd rest one by one.
std::vector<WindowWriter::Block> WindowWriter::blocks(std::int64_t first, std::int64_t last) const {
  const std::int64_t count = last - first;
  if (count < 1) return {};
  std::int64_t size = 1;
  while (size * 2 <= std::min<std::int64_t>(count, widest_)) size *= 2;
  const auto inner = [](std::int64_t elements) {
    return "for (int i = 0; i < " + text_of(elements) + "; ++i) {";
  };
  const std::int64_t rest = count % size;
  std::vector<Block> result{{"for (i64 b = " + text_of(first) + "; b < " + text_of(last - rest) +
                                 "; b += " + text_of(size) + ") {",
                             inner(size), count - rest}};
  if (rest == 0) return result;
  std::int64_t least = 1;
  while (least < rest) least *= 2;
  result.push_back(
      {"if (const i64 b = " + text_of(last - least) + "; true) {", inner(least), rest});
  return result;
}

// ---- The elements

// Of a tile's lines, for row m.
std::string WindowWriter::epilogue() {
  const std::vector<int>& symbols = form_.epilogue.columns;
  const std::int64_t line = window_.line.extent;
  std::vector<Loop> loops{batch_scope(epilogue_, "e", static_cast<double>(form_.batch)),
                          numbered_loop(form_.epilogue.nest, form_.epilogue.rows, "e", "m", "{",
                                        static_cast<double>(form_.rows))};
  Loop lines =
      numbered_loop(form_.epilogue.nest, symbols, "e", "n", "for (int r = 0; r < rows; ++r) {",
                    static_cast<double>(form_.columns / line));
  lines.lines.insert(lines.lines.begin(), "const i64 n = (place * " + text_of(window_.rows.extent) +
                                              " + u + r) * " + text_of(line) + ";");
  const std::string first = lines.symbols.front().second;  // the innermost comes first
  std::erase_if(lines.symbols, [&](const auto& each) { return each.first == symbols.back(); });
  loops.push_back(std::move(lines));
  const std::int64_t pitch = layout_.line_vectors() * tiles_.lanes;
  const std::string type = form_.type == ir::DType::kF64 ? type_ : "i64";
  const auto add_sum = [&](const std::string& at, Loop& loop) {
    std::string sum = "sums[r * " + text_of(pitch) + " + " + at + "]";
    if (form_.type != ir::DType::kF64) sum = "i64((" + element_type(form_.type) + ")" + sum + ")";
    loop.lines.push_back("const " + type + " sum = " + sum + ";");
    loop.nodes.emplace_back(form_.sum, "sum");
  };
  std::string text;
  if (!in_batch()) {
    for (const Block& block : blocks(0, line)) {
      std::vector<Loop> all = loops;
      all.push_back({.header = block.outer});
      all.push_back({.header = block.inner,
                     .symbols = {{symbols.back(), "(" + first + " + b + i)"}},
                     .times = static_cast<double>(block.elements)});
      add_sum("b + i", all.back());
      text += epilogue_.writer->store_within_loops(all);
    }
    return text;
  }
  const auto store = [&](const std::string& lanes, double share) {
    std::vector<Loop> all = loops;
    all[0].times *= share;
    all.push_back({.header = "for (int i = 0; i < " + text_of(line) + "; ++i) {",
                   .symbols = {{symbols.back(), "(" + first + " + i)"}},
                   .times = static_cast<double>(line)});
    all.push_back({.header = "for (int lane = 0; lane < " + lanes + "; ++lane) {",
                   .symbols = {{form_.epilogue.batch[0], "(first_lane + lane)"}}});
    add_sum("i * " + text_of(layout_.unit()) + " + lane", all.back());
    return epilogue_.writer->store_within_loops(all);
  };
  text = "if (lanes == " + text_of(tiles_.lanes) + ") {\n" + store(text_of(tiles_.lanes), 1) + "}";
  if (form_.batch % tiles_.lanes != 0) text += " else {\n" + store("lanes", 0) + "}";
  return text + "\n";
}

ContractionText WindowWriter::text(const WindowTiles& tiles) {
  tiles_ = tiles;
  layout_ = {&window_, tiles};
  widest_ = 64 / element_;
  ContractionText result;
  const std::int64_t lines = window_.rows.extent;
  const std::int64_t bands = ceil_div(lines, tiles.band);
  const std::int64_t band_lines = window_.other_terms * layout_.all_lines();
  std::string& body = result.body;
  body = "  unsigned char* work = egret_work;\n  EGRET_HOLD_ADDRESS(work);\n";
  const auto place = [&](const std::string& type, const char* name, std::int64_t bytes) {
    body +=
        type + "* const " + name + " = (" + type + "*)(work + " + text_of(result.memory) + ");\n";
    result.memory += ceil_div(bytes, 64) * 64;
  };
  if (tiles.in_place) {
    const std::int64_t line_bytes = window_.line.positions(window_.line.extent) * element_;
    place("const " + type_ + "*", "image", band_lines * kAddressBytes);
    place(type_, "zeros", line_bytes);
    body += "std::memset(zeros, 0, " + text_of(line_bytes) + ");\n";
  } else {
    place(type_, "image", band_lines * layout_.line_pitch() * element_);
  }
  place(type_, "weights", form_.rows * form_.depth * layout_.unit() * element_);
  place(type_, "sums", tiles.tile_rows * layout_.line_vectors() * tiles.lanes * element_);

  const std::int64_t batches = in_batch() ? ceil_div(form_.batch, tiles.lanes) : form_.batch;
  result.steps = batches * window_.outer_extent() * bands;
  body += "for (i64 step = low; step < high; ++step) {\n";
  body += "const i64 u0 = step % " + text_of(bands) + " * " + text_of(tiles.band) +
          ", u1 = least<i64>(u0 + " + text_of(tiles.band) + ", " + text_of(lines) + ");\n";
  body += "const i64 place = " + digit("step", bands, window_.outer_extent(), false) + ";\n";
  body += "const i64 batch = step / " + text_of(bands * window_.outer_extent()) + ";\n";
  if (in_batch()) {
    body += "const i64 first_lane = batch * " + text_of(tiles.lanes) + ";\n";
    body += "const int lanes = (int)least<i64>(" + text_of(tiles.lanes) + ", " +
            text_of(form_.batch) + " - first_lane);\n";
  }
  body += pack_weights() + (tiles.in_place ? line_addresses() : copy_lines());
  body += "for (i64 m = 0; m < " + text_of(form_.rows) + "; ++m)\n";
  body += "for (i64 u = u0; u < u1; u += " + text_of(tiles.tile_rows) + ") {\n";
  body += "const int rows = (int)least<i64>(" + text_of(tiles.tile_rows) + ", u1 - u);\n";
  const std::int64_t line = window_.rows.stride * (tiles.in_place ? 1 : layout_.line_pitch());
  const auto call = [&](int rows) {
    return "KERNEL_lines" + text_of(rows) + "(image + (u - u0) * " + text_of(line) +
           ", weights + m * " + text_of(form_.depth * layout_.unit()) + ", sums);\n";
  };
  const int rest = static_cast<int>(lines % tiles.tile_rows);
  if (rest > 0) body += "if (rows == " + text_of(rest) + ") " + call(rest) + "else ";
  body += call(tiles.tile_rows) + epilogue() + "}\n}\n";

  const WindowKernel kernel(form_, layout_, type_, element_, bounds_);
  if (rest > 0) result.functions += kernel.text(rest);
  if (lines >= tiles.tile_rows) result.functions += kernel.text(tiles.tile_rows);
  result.operations = form_.products() / tiles.lanes + left_.writer->operations() +
                      right_.writer->operations() + epilogue_.writer->operations();
  return result;
}

}  // namespace egret::backends::codegen
