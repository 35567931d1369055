// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/window_writer.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/nest_facts.h"

namespace egret::backends::codegen {
namespace {

using Axis = WindowForm::Axis;

// Binds an axis' symbols so that they stand for this position.
void bind_position(const Axis& axis, const std::string& position, Writer::GivenLoop& loop) {
  const bool by_column = axis.stride == 1;
  if (axis.column >= 0) loop.symbols.emplace_back(axis.column, by_column ? position : "0");
  if (axis.term < 0) return;
  const std::string term = axis.dilation < 0 ? "(-" + position + ")" : position;
  loop.symbols.emplace_back(axis.term, by_column ? "0" : term);
}

// The factor of an axis' position in a form.
std::int64_t position_factor(const Axis& axis, const ir::Affine& form) {
  return axis.stride == 1 ? form.factor(axis.column) : form.factor(axis.term) * axis.dilation;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

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

// ---- Sizes

std::int64_t WindowWriter::line_vectors() const {
  return in_batch() ? window_.line.extent : ceil_div(window_.line.extent, tiles_.lanes);
}

// From each phase the micro-kernel reads whole vectors, shifted by the window.
std::int64_t WindowWriter::phase_pitch() const {
  const Axis& line = window_.line;
  if (in_batch()) return line.positions(line.extent) * unit();
  const std::int64_t read = line_vectors() * tiles_.lanes + (line.reach() - 1) / line.stride;
  return ceil_div(read, tiles_.lanes) * tiles_.lanes;
}

std::int64_t WindowWriter::band_pitch() const {
  std::int64_t lines = window_.rows.positions(tiles_.band);
  for (const Axis& axis : window_.outer) lines *= axis.window;
  return lines * line_pitch();
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

// ---- Packing

// The variables of the batch; with lanes in it, that of the vector's first lane and lane i.
WindowWriter::Loop WindowWriter::batch_scope(const Part& part, const std::string& prefix,
                                             double times) const {
  if (!in_batch())
    return numbered_loop(part.form->nest, part.form->batch, prefix, "batch", "{", times);
  return {.header = "{", .times = times};
}

// A guard bounds the positions of a line from one side, or excludes the line.
WindowWriter::Run WindowWriter::run(const Names& names, std::int64_t phase) const {
  const Axis& line = window_.line;
  const std::int64_t stride = phases();
  const std::int64_t positions = line.positions(line.extent);
  Run run{.last = ceil_div(positions - phase, stride)};
  for (const int id : form_.right.bounds) {
    const ir::Affine& form = form_.right.nest.guard(id).form;
    const std::int64_t factor = position_factor(line, form);
    std::int64_t constant = form.constant + factor * (line.least() + phase);
    std::string rest = text_of(constant);
    bool varies = false;
    for (const auto& each : form.parts) {
      if (each.symbol == line.column || each.symbol == line.term) continue;
      rest += " + " + names.at(each.symbol) + " * " + text_of(each.factor);
      varies = true;
    }
    const std::int64_t step = factor * stride;
    if (step == 0) {
      run.conditions.push_back("(" + rest + ") <= 0");
    } else if (!varies) {
      if (step > 0) run.last = std::min(run.last, floor_div(-constant, step) + 1);
      if (step < 0) run.first = std::max(run.first, -floor_div(-constant, -step));
    } else if (step > 0) {
      run.statements.push_back("last = least<i64>(last, floor_div<i64>(-(" + rest + "), " +
                               text_of(step) + ") + 1);\n");
    } else {
      run.statements.push_back("first = most<i64>(first, -floor_div<i64>(-(" + rest + "), " +
                               text_of(-step) + "));\n");
    }
  }
  run.first = std::max<std::int64_t>(run.first, 0);
  run.last = std::max(run.last, run.first);
  return run;
}

std::string WindowWriter::pack_phase(const Loop& around, std::int64_t phase) {
  const Axis& line = window_.line;
  const std::int64_t count = in_batch() ? line.positions(line.extent) : phase_pitch();
  Names names(around.symbols.begin(), around.symbols.end());
  const Run run = this->run(names, phase);
  std::string text =
      "{\n" + type_ + "* const to = line + " + text_of(phase * phase_pitch()) + ";\n";
  text += "i64 first = " + text_of(run.first) + ", last = " + text_of(run.last) + ";\n";
  for (const std::string& statement : run.statements) text += statement;
  if (!run.statements.empty()) text += "last = most<i64>(first, last);\n";
  // Outside of the run: zeros. The bounds of loops are constants where they can be.
  const bool constant = run.is_constant();
  const std::string first = constant ? text_of(run.first) : "first";
  const std::string last = constant ? text_of(run.last) : "last";
  const auto zeros = [&](const std::string& from, const std::string& to) {
    if (from == to) return std::string();
    return "std::memset(to + " + from + " * " + text_of(unit()) + ", 0, (" + to + " - " + from +
           ") * " + text_of(unit() * element_) + ");\n";
  };
  std::string condition;
  for (const std::string& each : run.conditions)
    condition += (condition.empty() ? "" : " && ") + each;
  if (!condition.empty()) text += "if (" + condition + ") {\n";
  text += zeros("0", first);
  const bool guarded = !form_.right.bounds.empty();
  const auto copy = [&](const std::string& lanes, double share) {
    Loop outer = around;
    outer.header = "{";
    outer.lines.clear();
    outer.times *= share;
    const auto along = [&](const std::string& header, const std::string& i, double times) {
      Loop loop{.header = header, .times = times, .guarded = guarded};
      const std::string stride = phases() > 1 ? " * " + text_of(phases()) : "";
      bind_position(line, "(" + text_of(line.least() + phase) + " + " + i + stride + ")", loop);
      return loop;
    };
    const auto write = [&](std::vector<Loop> loops, const std::string& at) {
      return right_.writer->within_loops(loops, [&](const std::string& value) {
        return "to[" + at + "] = (" + type_ + ")" + value + ";";
      });
    };
    const double times = static_cast<double>(run.last - run.first);
    if (in_batch()) {
      const Loop loop = along("for (i64 i = " + first + "; i < " + last + "; ++i) {", "i", times);
      return write({outer,
                    loop,
                    {.header = "for (int lane = 0; lane < " + lanes + "; ++lane) {",
                     .symbols = {{form_.right.batch[0], "(first_lane + lane)"}},
                     .times = static_cast<double>(tiles_.lanes)}},
                   "i * " + text_of(unit()) + " + lane");
    }
    if (!constant)
      return write(
          {outer, along("for (i64 i = " + first + "; i < " + last + "; ++i) {", "i", times)}, "i");
    std::string copies;
    for (const Block& block : blocks(run.first, run.last)) {
      outer.header = block.outer;
      copies += write({outer, along(block.inner, "(b + i)", static_cast<double>(block.elements))},
                      "b + i");
    }
    return copies;
  };
  if (!in_batch()) {
    text += copy("", 1);
  } else {
    text += "if (lanes == " + text_of(tiles_.lanes) + ") {\n" + copy(text_of(tiles_.lanes), 1);
    text += form_.batch % tiles_.lanes == 0 ? "}\n" : "} else {\n" + copy("lanes", 0) + "}\n";
  }
  text += zeros(last, text_of(count));
  if (!condition.empty()) text += "} else {\n" + zeros("0", text_of(count)) + "}\n";
  return text + "}\n";
}

std::string WindowWriter::pack_image() {
  const ir::LoopNest& nest = form_.right.nest;
  // The loops over lines, with the text of all variables but the line's.
  std::vector<int> windows;
  std::int64_t window_count = 1, below = window_.outer_extent();
  for (const Axis& axis : window_.outer) {
    if (axis.term < 0) continue;
    windows.push_back(axis.term);
    window_count *= axis.window;
  }
  Loop around = batch_scope(right_, "r", 1);
  std::vector<std::string> lines = around.lines;
  const auto number = [&](const std::vector<int>& symbols, const std::string& flat) {
    const Loop loop = numbered_loop(nest, symbols, "r", flat, "{", 1);
    lines.insert(lines.end(), loop.lines.begin(), loop.lines.end());
    around.symbols.insert(around.symbols.end(), loop.symbols.begin(), loop.symbols.end());
  };
  number(window_.others, "o");
  number(windows, "w");
  for (const Axis& axis : window_.outer) {
    const std::int64_t before = below;
    below /= axis.extent;
    const std::string name = "r" + text_of(axis.column);
    lines.push_back("const i64 " + name + " = " +
                    digit("place", below, axis.extent, before == window_.outer_extent()) + ";");
    around.symbols.emplace_back(axis.column, name);
  }
  bind_position(window_.rows, "position", around);
  const std::int64_t positions = window_.rows.positions(tiles_.band);
  const double bands = static_cast<double>(ceil_div(window_.rows.extent, tiles_.band));
  around.times =
      static_cast<double>(window_.other_terms * window_count * positions) * bands *
      static_cast<double>(window_.outer_extent() *
                          (in_batch() ? ceil_div(form_.batch, tiles_.lanes) : form_.batch));
  std::string text = "for (i64 o = 0; o < " + text_of(window_.other_terms) + "; ++o)\n";
  text += "for (i64 w = 0; w < " + text_of(window_count) + "; ++w)\n";
  text += "for (i64 y = 0; y < (u1 - u0 - 1) * " + text_of(window_.rows.stride) + " + " +
          text_of(window_.rows.reach()) + "; ++y) {\n";
  text += "const i64 position = u0 * " + text_of(window_.rows.stride) + " + y + " +
          text_of(window_.rows.least()) + ";\n";
  for (const std::string& line : lines) text += line + "\n";
  text += type_ + "* const line = image + o * " + text_of(band_pitch()) + " + (w * " +
          text_of(positions) + " + y) * " + text_of(line_pitch()) + ";\n";
  for (std::int64_t phase = 0; phase < phases(); ++phase) text += pack_phase(around, phase);
  return text + "}\n";
}

// All terms of the left factor, for each row.
std::string WindowWriter::pack_weights() {
  const ir::LoopNest& nest = form_.left.nest;
  const std::int64_t total = form_.rows * form_.depth * unit();
  const double runs =
      static_cast<double>(ceil_div(window_.rows.extent, tiles_.band) * window_.outer_extent());
  std::string text;
  if (in_batch() && form_.batch % tiles_.lanes != 0) {
    text += "if (lanes < " + text_of(tiles_.lanes) + ") for (i64 i = 0; i < " + text_of(total) +
            "; ++i) weights[i] = 0;\n";
  }
  std::vector<Loop> loops{batch_scope(left_, "l", runs * static_cast<double>(form_.batch)),
                          numbered_loop(nest, form_.left.rows, "l", "m",
                                        "for (i64 m = 0; m < " + text_of(form_.rows) + "; ++m) {",
                                        static_cast<double>(form_.rows)),
                          numbered_loop(nest, form_.left.depth, "l", "k",
                                        "for (i64 k = 0; k < " + text_of(form_.depth) + "; ++k) {",
                                        static_cast<double>(form_.depth))};
  if (in_batch()) {
    loops.push_back({.header = "for (int lane = 0; lane < lanes; ++lane) {",
                     .symbols = {{form_.left.batch[0], "(first_lane + lane)"}}});
  }
  const std::string lane = in_batch() ? " + lane" : "";
  text += left_.writer->within_loops(loops, [&](const std::string& value) {
    return "weights[(m * " + text_of(form_.depth) + " + k) * " + text_of(unit()) + lane + "] = (" +
           type_ + ")" + value + ";";
  });
  // A zero stands for each term that a guard excludes; its product with a finite weight is 0.
  if (form_.has_guards && form_.type == ir::DType::kF64) {
    text += type_ + " zero = 0;\nfor (i64 i = 0; i < " + text_of(total) +
            "; ++i) zero += weights[i] * 0;\nif (zero != zero) *failure = " +
            text_of(static_cast<int>(KernelFailure::kNotFinite)) + ";\n";
  }
  return text;
}

// ---- The micro-kernel

// The number of a term within a window, from the values of its variables.
std::int64_t WindowWriter::term_number(const std::map<int, std::int64_t>& values) const {
  std::int64_t number = 0;
  for (std::size_t i = window_.others.size(); i < form_.right.depth.size(); ++i) {
    const int symbol = form_.right.depth[i];
    number = number * form_.right.nest.extent(symbol) + values.at(symbol);
  }
  return number;
}

// Sums of `rows` lines and `vectors` vectors, without loops over the window.
std::string WindowWriter::tile(int rows, int vectors) const {
  const Axis &lines = window_.rows, &line = window_.line;
  const auto sum = [](int r, int v) { return "c" + text_of(r) + "_" + text_of(v); };
  std::string text, store;
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      text += "    vec " + sum(r, v) + " = {};\n";
      store += "    *(vec*)(sums + " + text_of(r * line_vectors() * tiles_.lanes) + " + (x + " +
               text_of(v) + ") * " + text_of(tiles_.lanes) + ") = " + sum(r, v) + ";\n";
    }
  }
  const std::int64_t advance = in_batch() ? line.stride * unit() : tiles_.lanes;
  const bool loops = window_.other_terms > 1;
  if (loops) {
    text += "    for (i64 o = 0; o < " + text_of(window_.other_terms) + "; ++o) {\n";
    text += "    const " + type_ + "* const left = weights + o * " +
            text_of(window_.window * unit()) + ";\n";
  }
  text += "    const " + type_ + "* const at = image + x * " + text_of(advance) +
          (loops ? " + o * " + text_of(band_pitch()) : "") + ";\n";
  std::int64_t windows = 1;
  for (const Axis& axis : window_.outer) windows *= axis.window;
  for (std::int64_t w = 0; w < windows; ++w) {
    std::map<int, std::int64_t> values;
    std::int64_t rest = w;
    for (auto axis = window_.outer.rbegin(); axis != window_.outer.rend(); ++axis) {
      if (axis->term >= 0) values[axis->term] = rest % axis->window;
      rest /= axis->window;
    }
    for (std::int64_t y = 0; y < lines.positions(rows); ++y) {
      for (std::int64_t k = 0; k < line.window; ++k) {
        if (line.term >= 0) values[line.term] = k;
        const std::int64_t place = line.offset(k);
        const std::int64_t within =
            in_batch() ? place * unit() : place % phases() * phase_pitch() + place / phases();
        for (int v = 0; v < vectors; ++v) {
          std::string adds;
          for (int r = 0; r < rows; ++r) {
            // The window's term, if any, by which line r reads this position.
            for (std::int64_t j = 0; j < lines.window; ++j) {
              if (r * lines.stride + lines.offset(j) != y) continue;
              if (lines.term >= 0) values[lines.term] = j;
              const std::int64_t number = term_number(values);
              const std::string weight =
                  !loops       ? "w" + text_of(number)
                  : in_batch() ? "*(const vec*)(left + " + text_of(number * unit()) + ")"
                               : "left[" + text_of(number) + "]";
              adds += " " + sum(r, v) + " += " + weight + " * b; EGRET_HOLD(" + sum(r, v) + ");";
            }
          }
          if (adds.empty()) continue;
          const std::int64_t offset =
              (w * lines.positions(tiles_.band) + y) * line_pitch() + within + v * advance;
          text += "    { vec b = *(const vec*)(at + " + text_of(offset) + "); EGRET_HOLD(b);" +
                  adds + " }\n";
        }
      }
    }
  }
  if (loops) text += "    }\n";
  return text + store;
}

std::string WindowWriter::micro_kernel(int rows) const {
  std::string text = "static void KERNEL_lines" + text_of(rows) + "(const " + type_ +
                     "* image, const " + type_ + "* weights, " + type_ + "* sums) {\n  typedef " +
                     type_ + " vec __attribute__((vector_size(" + text_of(tiles_.lanes * element_) +
                     "), aligned(" + text_of(element_) + "), may_alias));\n";
  if (window_.other_terms == 1) {
    for (std::int64_t k = 0; k < window_.window; ++k) {
      text += in_batch()
                  ? "  const vec w" + text_of(k) + " = *(const vec*)(weights + " +
                        text_of(k * unit()) + ");\n"
                  : "  const " + type_ + " w" + text_of(k) + " = weights[" + text_of(k) + "];\n";
    }
  }
  const auto vectors = static_cast<int>(line_vectors());
  const int rest = vectors % tiles_.vectors;
  text += "  i64 x = 0;\n";
  if (vectors >= tiles_.vectors) {
    text += "  for (; x < " + text_of(vectors - rest) + "; x += " + text_of(tiles_.vectors) +
            ") {\n" + tile(rows, tiles_.vectors) + "  }\n";
  }
  if (rest > 0) text += "  {\n" + tile(rows, rest) + "  }\n";
  return text + "}\n";
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
  const std::int64_t pitch = line_vectors() * tiles_.lanes;
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
    add_sum("i * " + text_of(unit()) + " + lane", all.back());
    return epilogue_.writer->store_within_loops(all);
  };
  text = "if (lanes == " + text_of(tiles_.lanes) + ") {\n" + store(text_of(tiles_.lanes), 1) + "}";
  if (form_.batch % tiles_.lanes != 0) text += " else {\n" + store("lanes", 0) + "}";
  return text + "\n";
}

ContractionText WindowWriter::text(const WindowTiles& tiles) {
  tiles_ = tiles;
  widest_ = 64 / element_;
  ContractionText result;
  const std::int64_t lines = window_.rows.extent;
  const std::int64_t bands = ceil_div(lines, tiles.band);
  const int rest = static_cast<int>(lines % tiles.tile_rows);
  if (rest > 0) result.functions += micro_kernel(rest);
  if (lines >= tiles.tile_rows) result.functions += micro_kernel(tiles.tile_rows);

  const auto place = [&](std::int64_t elements) {
    const std::int64_t at = result.memory;
    result.memory += ceil_div(elements * element_, 64) * 64;
    return "(" + type_ + "*)(work + " + text_of(at) + ");\n";
  };
  std::string& body = result.body;
  body = "  unsigned char* work = egret_work;\n  EGRET_HOLD_ADDRESS(work);\n    " + type_ +
         "* const image = " + place(window_.other_terms * band_pitch());
  body += "  " + type_ + "* const weights = " + place(form_.rows * form_.depth * unit());
  body += "  " + type_ + "* const sums = " + place(tiles.tile_rows * line_vectors() * tiles.lanes);

  const std::int64_t batches = in_batch() ? ceil_div(form_.batch, tiles.lanes) : form_.batch;
  result.steps = batches * window_.outer_extent() * bands;
  body += "  for (i64 step = low; step < high; ++step) {\n";
  body += "const i64 u0 = step % " + text_of(bands) + " * " + text_of(tiles.band) +
          ", u1 = least<i64>(u0 + " + text_of(tiles.band) + ", " + text_of(lines) + ");\n";
  body += "const i64 place = " + digit("step", bands, window_.outer_extent(), false) + ";\n";
  body += "const i64 batch = step / " + text_of(bands * window_.outer_extent()) + ";\n";
  if (in_batch()) {
    body += "const i64 first_lane = batch * " + text_of(tiles.lanes) + ";\n";
    body += "const int lanes = (int)least<i64>(" + text_of(tiles.lanes) + ", " +
            text_of(form_.batch) + " - first_lane);\n";
  }
  body += pack_weights() + pack_image();
  body += "for (i64 m = 0; m < " + text_of(form_.rows) + "; ++m)\n";
  body += "for (i64 u = u0; u < u1; u += " + text_of(tiles.tile_rows) + ") {\n";
  body += "const int rows = (int)least<i64>(" + text_of(tiles.tile_rows) + ", u1 - u);\n";
  const auto call = [&](int rows) {
    return "KERNEL_lines" + text_of(rows) + "(image + (u - u0) * " +
           text_of(window_.rows.stride * line_pitch()) + ", weights + m * " +
           text_of(form_.depth * unit()) + ", sums);\n";
  };
  if (rest > 0) body += "if (rows == " + text_of(rest) + ") " + call(rest) + "else ";
  body += call(tiles.tile_rows) + epilogue() + "}\n}\n";
  result.operations = form_.products() / tiles.lanes + left_.writer->operations() +
                      right_.writer->operations() + epilogue_.writer->operations();
  return result;
}

}  // namespace egret::backends::codegen
