// SPDX-License-Identifier: Apache-2.0
// What the micro-kernel of a window reads: copies of lines, or their addresses, and the weights.
#include <algorithm>
#include <utility>

#include "backends/codegen/contractions/window_writer.h"
#include "backends/codegen/text/nest_facts.h"

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

std::string joined(const std::vector<std::string>& conditions) {
  std::string text;
  for (const std::string& each : conditions) text += (text.empty() ? "" : " && ") + each;
  return text;
}

}  // namespace

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
  const std::int64_t stride = layout_.phases();
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
  const std::int64_t count = in_batch() ? line.positions(line.extent) : layout_.phase_pitch();
  Names names(around.symbols.begin(), around.symbols.end());
  const Run run = this->run(names, phase);
  std::string text =
      "{\n" + type_ + "* const to = line + " + text_of(phase * layout_.phase_pitch()) + ";\n";
  text += "i64 first = " + text_of(run.first) + ", last = " + text_of(run.last) + ";\n";
  for (const std::string& statement : run.statements) text += statement;
  if (!run.statements.empty()) text += "last = most<i64>(first, last);\n";
  // Outside of the run: zeros. The bounds of loops are constants where they can be.
  const bool constant = run.is_constant();
  const std::string first = constant ? text_of(run.first) : "first";
  const std::string last = constant ? text_of(run.last) : "last";
  const auto zeros = [&](const std::string& from, const std::string& to) {
    if (from == to) return std::string();
    return "std::memset(to + " + from + " * " + text_of(layout_.unit()) + ", 0, (" + to + " - " +
           from + ") * " + text_of(layout_.unit() * element_) + ");\n";
  };
  const std::string condition = joined(run.conditions);
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
      const std::string stride = layout_.phases() > 1 ? " * " + text_of(layout_.phases()) : "";
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
                   "i * " + text_of(layout_.unit()) + " + lane");
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

// Loops over the lines of a band: `line_text` makes statements from the text of all variables but
// the line's, for line `at` of the layout.
std::string WindowWriter::for_each_line(
    const std::function<std::string(const Loop& around)>& line_text) const {
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
  text +=
      "const i64 at = (o * " + text_of(window_count) + " + w) * " + text_of(positions) + " + y;\n";
  return text + line_text(around) + "}\n";
}

std::string WindowWriter::copy_lines() {
  return for_each_line([&](const Loop& around) {
    std::string text =
        type_ + "* const line = image + at * " + text_of(layout_.line_pitch()) + ";\n";
    for (std::int64_t phase = 0; phase < layout_.phases(); ++phase)
      text += pack_phase(around, phase);
    return text;
  });
}

// The addresses of lines, or of zeros for those that a guard excludes.
std::string WindowWriter::line_addresses() {
  const ir::LoopNest& nest = form_.right.nest;
  const ir::NestNode& read = nest.node(nest.root);
  return for_each_line([&](const Loop& around) {
    const Names names(around.symbols.begin(), around.symbols.end());
    const Run run = this->run(names, 0);
    bounds_ = {run.first, run.last};
    const Axis& line = window_.line;
    std::string address =
        text_of(read.form.constant + position_factor(line, read.form) * line.least());
    for (const auto& part : read.form.parts) {
      if (part.symbol != line.column && part.symbol != line.term)
        address += " + " + names.at(part.symbol) + " * " + text_of(part.factor);
    }
    address = "(const " + type_ + "*)in" + text_of(read.input) + " + (" + address + ")";
    if (!run.conditions.empty()) address = joined(run.conditions) + " ? " + address + " : zeros";
    return "image[at] = " + address + ";\n";
  });
}

// Whether all lines are neighbours in memory within the same bounds, as the micro-kernel's terms.
bool WindowWriter::has_plain_lines() const {
  const ir::LoopNest& nest = form_.right.nest;
  const ir::NestNode& root = nest.node(nest.root);
  const Axis& line = window_.line;
  if (in_batch() || line.stride > 2 || !is_plain_read(form_.right, inputs_, type_, element_) ||
      position_factor(line, root.form) != 1)
    return false;
  return std::ranges::all_of(form_.right.bounds, [&](int id) {
    const ir::Affine& form = nest.guard(id).form;
    return position_factor(line, form) == 0 ||
           std::ranges::all_of(form.parts, [&](const auto& part) {
             return part.symbol == line.column || part.symbol == line.term;
           });
  });
}

// All terms of the left factor, for each row.
std::string WindowWriter::pack_weights() {
  const ir::LoopNest& nest = form_.left.nest;
  const std::int64_t total = form_.rows * form_.depth * layout_.unit();
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
    return "weights[(m * " + text_of(form_.depth) + " + k) * " + text_of(layout_.unit()) + lane +
           "] = (" + type_ + ")" + value + ";";
  });
  // A zero stands for each term that a guard excludes; its product with a finite weight is 0.
  if (form_.has_guards && form_.type == ir::DType::kF64) {
    text += type_ + " zero = 0;\nfor (i64 i = 0; i < " + text_of(total) +
            "; ++i) zero += weights[i] * 0;\nif (zero != zero) *failure = " +
            text_of(static_cast<int>(KernelFailure::kNotFinite)) + ";\n";
  }
  return text;
}

}  // namespace egret::backends::codegen
