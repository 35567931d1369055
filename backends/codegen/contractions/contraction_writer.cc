// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/contraction_writer.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {

ContractionWriter::ContractionWriter(const ContractionForm& form,
                                     std::span<const ir::TensorType> inputs, ir::DType output,
                                     const HostProcessor& processor)
    : form_(form), inputs_(inputs.begin(), inputs.end()), output_(output) {
  const bool in_double = computes_in_double(inputs, output);
  type_ = term_type(form.type, in_double);
  element_ = type_ == "double" || type_ == "u64" ? 8 : 4;
  pairs_ = pairs_of(form, inputs, processor, type_);
  term_ = pairs_ == Pairs::kNone ? type_ : "unsigned short";
  // Real arithmetic must not change its type by the read that stands for the sum.
  const ir::DType real = in_double ? ir::DType::kF64 : ir::DType::kF32;
  inputs_.emplace_back(form.type == ir::DType::kF64 ? real : form.type, ir::Shape{1});
  left_ = part(form.left, 'l');
  right_ = part(form.right, 'r');
  epilogue_ = part(form.epilogue, 'e');
  set_strides(left_, form.left.rows);
  set_strides(right_, form.right.columns);
  right_.plain = right_.plain && right_.own_stride == 1;
}

ContractionWriter::Part ContractionWriter::part(const ContractionForm::Part& form, char prefix) {
  Part part;
  part.form = &form;
  part.prefix = prefix;
  part.packing = std::make_unique<Packing>(form.nest, inputs_, output_, LeastPacks{});
  part.writer = std::make_unique<Writer>(form.nest, *part.packing, schedule_, Target::kHost,
                                         inputs_, output_);
  return part;
}

void ContractionWriter::set_strides(Part& part, const std::vector<int>& own) const {
  const ir::LoopNest& nest = part.form->nest;
  const ir::NestNode& root = nest.node(nest.root);
  if (root.op != ir::ExprOp::kRead || !part.form->bounds.empty() || own.size() > 1 ||
      part.form->depth.size() > 1)
    return;
  part.plain = is_plain_read(*part.form, inputs_, type_, element_);
  part.own_stride = own.empty() ? 1 : root.form.factor(own[0]);
  part.depth_stride = part.form->depth.empty() ? 1 : root.form.factor(part.form->depth[0]);
}

// Whether neighbouring terms are neighbours in memory, but neighbouring rows or columns are not.
bool ContractionWriter::reads_along_depth(const Part& part, const std::vector<int>& own) const {
  const ir::LoopNest& nest = part.form->nest;
  if (part.form->depth.empty() || own.empty()) return false;
  bool along_depth = false, along_own = false;
  for (const ir::NestNode& node : nest.nodes) {
    if (node.op != ir::ExprOp::kRead) continue;
    along_depth = along_depth || node.form.factor(part.form->depth.back()) == 1;
    along_own = along_own || node.form.factor(own.back()) == 1;
  }
  return along_depth && !along_own;
}

// ---- Loops

ContractionWriter::Loop ContractionWriter::numbered(const Part& part,
                                                    const std::vector<int>& symbols,
                                                    const std::string& flat, std::string header,
                                                    double times) const {
  return numbered_loop(part.form->nest, symbols, std::string(1, part.prefix), flat,
                       std::move(header), times);
}

ContractionWriter::Loop ContractionWriter::batch_loop(const Part& part, double times) const {
  return numbered(part, part.form->batch, "batch", "{", times * static_cast<double>(form_.batch));
}

// Over the terms of a block. Counters of several variables advance without divisions.
ContractionWriter::Loop ContractionWriter::depth_loop(const Part& part) const {
  const std::vector<int>& symbols = part.form->depth;
  Loop loop{.header = "for (i64 k = 0", .times = static_cast<double>(form_.depth)};
  if (symbols.size() <= 1) {
    if (!symbols.empty()) loop.symbols.emplace_back(symbols[0], "(k0 + k)");
    loop.header += "; k < terms; ++k) {";
    return loop;
  }
  std::int64_t below = 1;
  std::string advance;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const std::int64_t extent = part.form->nest.extent(symbols[i]);
    const std::string name = part.prefix + text_of(symbols[i]);
    loop.header += ", " + name + " = " + digit("k0", below, extent, i == 0);
    loop.symbols.emplace_back(symbols[i], name);
    advance +=
        i == 0 ? "++" + name : "++" + name + " == " + text_of(extent) + " ? (" + name + " = 0, ";
    below *= extent;
  }
  for (std::size_t i = 1; i < symbols.size(); ++i) advance += ") : 0";
  loop.header += "; k < terms; ++k, " + advance + ") {";
  return loop;
}

// Of an element of a plain part: row or column `own`, term `depth`.
std::string ContractionWriter::address(const Part& part, const std::string& own,
                                       const std::string& depth) {
  const ir::LoopNest& nest = part.form->nest;
  const ir::NestNode& root = nest.node(nest.root);
  std::string text = "(const " + type_ + "*)in" + text_of(root.input) + " + " +
                     text_of(root.form.constant) + " + (" + own + ") * " +
                     text_of(part.own_stride) + " + (" + depth + ") * " +
                     text_of(part.depth_stride);
  std::int64_t below = 1;
  for (std::size_t i = part.form->batch.size(); i-- > 0;) {
    const int symbol = part.form->batch[i];
    const std::int64_t extent = nest.extent(symbol);
    text +=
        " + " + digit("batch", below, extent, i == 0) + " * " + text_of(root.form.factor(symbol));
    below *= extent;
  }
  return text;
}

// ---- The micro-kernel

// Sums of `rows` rows and of a panel's columns: c[r][n] (+)= sum k. left[r, k] * right[k, n]. Each
// sum has a name, hence a register. Pairs of terms count as one term of 4 bytes.
std::string ContractionWriter::micro_kernel(int rows) const {
  const bool pairs = pairs_ != Pairs::kNone;
  const std::string term = pairs ? "int" : type_;
  const std::string left_row = text_of(tiles_.pack_left ? 1 : left_.own_stride);
  const std::string left_depth = text_of(tiles_.pack_left ? rows : left_.depth_stride);
  const auto sum = [](int r, int v) { return "c" + text_of(r) + "_" + text_of(v); };
  const auto at = [&](int r, int v) {
    return "*(vec*)(c + " + text_of(r * tiles_.width() + v * tiles_.lanes) + ")";
  };
  const std::string attribute = " __attribute__((vector_size(" + text_of(tiles_.lanes * element_) +
                                "), aligned(" + text_of(element_) + "), may_alias));\n";
  std::string text = "static void KERNEL_tile" + text_of(rows) + "(i64 terms, const " + term +
                     "* left, const " + term + "* right, i64 right_depth, " + type_ +
                     "* c, bool more) {\n  typedef " + type_ + " vec" + attribute + "  typedef " +
                     term + " term" + attribute + "  vec ";
  std::string load, add, store;
  for (int r = 0; r < rows; ++r) {
    const std::string scalar = "left[" + text_of(r) + " * " + left_row + "]";
    if (pairs) add += "    { const term a = term{} + " + scalar + ";\n";
    for (int v = 0; v < tiles_.vectors; ++v) {
      text += (r + v == 0 ? "" : ", ") + sum(r, v) + " = {}";
      load += "    " + sum(r, v) + " = " + at(r, v) + ";\n";
      store += "  " + at(r, v) + " = " + sum(r, v) + ";\n";
      if (pairs) {
        add += std::string("    EGRET_ADD_") + (pairs_ == Pairs::kBF16 ? "BF16" : "INT16") + "(" +
               sum(r, v) + ", b" + text_of(v) + ", a);\n";
      } else {
        add += "    " + sum(r, v) + " += " + scalar + " * b" + text_of(v) + ";\n";
      }
    }
    if (pairs) add += "    }\n";
  }
  text += ";\n  if (more) {\n" + load + "  }\n  for (i64 k = 0; k < terms; ++k) {\n";
  for (int v = 0; v < tiles_.vectors; ++v) {
    const std::string name = text_of(v);
    text += "    const term b" + name + " = *(const term*)(right + " + text_of(v * tiles_.lanes) +
            ");\n";
  }
  return text + add + "    left += " + left_depth + ", right += right_depth;\n  }\n" + store +
         "}\n";
}

// ---- Packing

std::string ContractionWriter::place(const std::string& k, const std::string& width,
                                     const std::string& i) const {
  if (pairs_ == Pairs::kNone) return k + " * " + width + " + " + i;
  return "(" + k + " >> 1) * 2 * " + width + " + (" + i + ") * 2 + (" + k + " & 1)";
}

// The value as a panel holds it. Factors in pairs of bf16 have 16 significant bits.
std::string ContractionWriter::term(const std::string& value) const {
  return pairs_ == Pairs::kBF16 ? "(unsigned short)(bits_of(" + value + ") >> 16)"
                                : "(" + term_ + ")" + value;
}

// A table of runs of columns that are neighbours in this part's innermost variable and in a panel.
std::string ContractionWriter::segments(const Part& part) const {
  const std::vector<int>& symbols = part.form->columns;
  const std::int64_t inner = part.form->nest.extent(symbols.back());
  const std::string width = text_of(tiles_.width()), p(1, part.prefix);
  const std::int64_t most =
      ceil_div(tiles_.column_block, tiles_.width()) + tiles_.column_block / inner + 2;
  const std::string size = "[" + text_of(most) + "]";
  std::string text = "int " + p + "segments = 0, " + p + "panel" + size + ", " + p + "lane" + size +
                     ", " + p + "count" + size + ";\n";
  std::string fill;
  std::int64_t below = 1;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const std::int64_t extent = part.form->nest.extent(symbols[i]);
    const std::string name = p + "first" + text_of(symbols[i]);
    text += "i64 " + name + size + ";\n";
    fill += name + "[s] = " + digit("n", below, extent, i == 0) + ";\n";
    below *= extent;
  }
  text += "for (i64 n = n0; n < n1;) {\nconst int s = " + p + "segments++;\n" + fill;
  text += p + "panel[s] = (int)(n - n0) / " + width + ", " + p + "lane[s] = (int)(n - n0) % " +
          width + ";\n";
  return text + p + "count[s] = (int)least<i64>(least<i64>(" + text_of(inner) + " - n % " +
         text_of(inner) + ", " + width + " - " + p + "lane[s]), n1 - n);\nn += " + p +
         "count[s];\n}\n";
}

std::string ContractionWriter::affine(const ir::Affine& form, const Names& names, int without) {
  std::string text = text_of(form.constant);
  for (const auto& part : form.parts) {
    if (part.symbol != without)
      text += " + " + names.at(part.symbol) + " * " + text_of(part.factor);
  }
  return text;
}

// The run [first, last) of a segment's columns that lies within all bounds. Each bound limits the
// innermost variable, first column + i, from one side, or excludes the whole segment.
std::string ContractionWriter::segment_bounds(const Names& names) const {
  const int inner = form_.right.columns.back();
  const std::string begin = "(int)rfirst" + text_of(inner) + "[s]";
  std::string text = "int first = 0, last = rcount[s];\n";
  for (const int id : form_.right.bounds) {
    const ir::Affine& form = form_.right.nest.guard(id).form;
    const std::int64_t factor = form.factor(inner);
    const std::string rest = "(int)(" + affine(form, names, inner) + ")";
    if (factor == 0) {
      text += "if (" + rest + " > 0) last = 0;\n";
    } else if (factor > 0) {
      const std::string most =
          factor == 1 ? "-" + rest : "floor_div<int>(-" + rest + ", " + text_of(factor) + ")";
      text += "last = least<int>(last, " + most + " - " + begin + " + 1);\n";
    } else {
      const std::string low =
          factor == -1 ? rest : "-floor_div<int>(-" + rest + ", " + text_of(-factor) + ")";
      text += "first = most<int>(first, " + low + " - " + begin + ");\n";
    }
  }
  return text;
}

std::string ContractionWriter::pack_right_segments() {
  const std::vector<int>& symbols = form_.right.columns;
  const std::string width = text_of(tiles_.width());
  const double runs = static_cast<double>(ceil_div(form_.rows, tiles_.row_block));
  // The loops over terms and segments stand around two loops over columns: one of a full panel,
  // which the compiler turns into a few vector instructions, and one of any run.
  const Loop batch = batch_loop(right_, 1), depth = depth_loop(right_);
  Names names;
  for (const Loop* loop : {&batch, &depth})
    names.insert(loop->symbols.begin(), loop->symbols.end());
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    names[symbols[i]] = "rfirst" + text_of(symbols[i]) + "[s]";
  std::string text = "{\n";
  for (const std::string& line : batch.lines) text += line + "\n";
  const std::string to = pairs_ == Pairs::kNone ? "to[i]" : "to[2 * i]";
  text += depth.header + "\nfor (int s = 0; s < rsegments; ++s) {\n" + term_ +
          "* const to = right_panels + rpanel[s] * held * " + width + " + " +
          place("k", width, "rlane[s]") + ";\n" + segment_bounds(names);
  for (const bool full : {true, false}) {
    Loop outer{.header = "{",
               .symbols = {names.begin(), names.end()},
               .times = full ? runs * static_cast<double>(form_.batch * form_.depth) : 0};
    Loop inner{.header = full ? "for (int i = 0; i < " + width + "; ++i) {"
                              : "for (int i = first; i < last; ++i) {",
               .symbols = {{symbols.back(), "(rfirst" + text_of(symbols.back()) + "[s] + i)"}},
               .times = static_cast<double>(form_.columns),
               .guarded = !form_.right.bounds.empty()};
    text += full ? "if (first == 0 && last == " + width + ") {\n" : "} else {\n";
    const Loop loops[] = {std::move(outer), std::move(inner)};
    text += right_.writer->within_loops(
        loops, [&](const std::string& value) { return to + " = " + term(value) + ";"; });
  }
  // What lies outside of the bounds.
  if (!form_.right.bounds.empty()) {
    text += "for (int i = 0; i < least<int>(first, rcount[s]); ++i) " + to + " = 0;\n";
    text +=
        "for (int i = most<int>(first, most<int>(last, 0)); i < rcount[s]; ++i) " + to + " = 0;\n";
  }
  text += "}\n}\n}\n}\n";
  if (form_.columns % tiles_.width() == 0) return text;
  return text + "for (i64 k = 0; k < terms; ++k) for (i64 i = n1 - n0; i < panels * " + width +
         "; ++i) right_panels[(panels - 1) * held * " + width + " + " +
         place("k", width, "i % " + width) + "] = 0;\n";
}

// Panels of one column variable. `panels` is the header of a loop over p, `count` the number of
// columns of each.
std::string ContractionWriter::pack_right_panels(const std::string& panels,
                                                 const std::string& count, double share) {
  const std::string width = text_of(tiles_.width());
  const double runs = share * static_cast<double>(ceil_div(form_.rows, tiles_.row_block));
  Loop panel{.header = panels,
             .lines = {term_ + "* const to = right_panels + p * held * " + width + ";"}};
  Loop lane{.header = "for (int i = 0; i < " + count + "; ++i) {",
            .times = static_cast<double>(form_.columns)};
  if (!form_.right.columns.empty())
    lane.symbols.emplace_back(form_.right.columns[0], "(n0 + p * " + width + " + i)");
  std::vector<Loop> loops{batch_loop(right_, runs)};
  if (reads_along_depth(right_, form_.right.columns)) {
    loops.insert(loops.end(), {panel, lane, depth_loop(right_)});
  } else {
    loops.insert(loops.end(), {depth_loop(right_), panel, lane});
  }
  return right_.writer->within_loops(loops, [&](const std::string& value) {
    return "to[" + place("k", width, "i") + "] = " + term(value) + ";";
  });
}

std::string ContractionWriter::pack_right() {
  const std::string width = text_of(tiles_.width());
  if (has_segments(right_)) return pack_right_segments();
  std::string text = "const int full = (int)(n1 - n0) / " + width + ";\n";
  if (tiles_.pack_right && form_.columns >= tiles_.width())
    text += pack_right_panels("for (int p = 0; p < full; ++p) {", width, 1);
  if (form_.columns % tiles_.width() == 0) return text;
  text += "if (const int rest = (int)(n1 - n0) % " + width + ") {\n";
  text += "for (i64 k = 0; k < terms; ++k) for (int i = rest; i < " + width +
          "; ++i) right_panels[full * held * " + width + " + " + place("k", width, "i") +
          "] = 0;\n";
  return text + pack_right_panels("if (const int p = full; true) {", "rest", 0) + "}\n";
}

std::string ContractionWriter::pack_left() {
  if (!tiles_.pack_left) return {};
  const double runs = static_cast<double>(ceil_div(form_.columns, tiles_.column_block));
  const Loop rows = numbered(left_, form_.left.rows, "(m + i)", "for (int i = 0; i < rows; ++i) {",
                             static_cast<double>(form_.rows));
  std::vector<Loop> loops{batch_loop(left_, runs)};
  if (form_.left.rows.size() > 1 || reads_along_depth(left_, form_.left.rows)) {
    loops.insert(loops.end(), {rows, depth_loop(left_)});
  } else {
    loops.insert(loops.end(), {depth_loop(left_), rows});
  }
  // Outside of its bounds the factor is 0.
  Names names;
  for (const Loop& loop : loops) names.insert(loop.symbols.begin(), loop.symbols.end());
  std::string inside;
  for (const int id : form_.left.bounds)
    inside +=
        (inside.empty() ? "" : " && ") + affine(form_.left.nest.guard(id).form, names) + " <= 0";
  if (!inside.empty()) {
    loops.back().lines.push_back("left_panel[" + place("k", "rows", "i") + "] = 0;");
    loops.push_back({.header = "if (" + inside + ") {", .guarded = true});
  }
  return left_.writer->within_loops(loops, [&](const std::string& value) {
    return "left_panel[" + place("k", "rows", "i") + "] = " + term(value) + ";";
  });
}

// ---- Tiles

std::string ContractionWriter::multiply() {
  const std::string width = text_of(tiles_.width());
  const bool pairs = pairs_ != Pairs::kNone;
  const std::string term = pairs ? "int" : type_;
  std::string text = "const " + term + "* const left = ";
  text +=
      tiles_.pack_left ? "(const " + term + "*)left_panel;\n" : address(left_, "m", "k0") + ";\n";
  text += "for (int p = 0; p < panels; ++p) {\n";
  text += "const i64 n = n0 + p * " + width + ";\n";
  text += "const int count = (int)least<i64>(" + width + ", n1 - n);\n";
  text += type_ + "* const c = sums";
  if (waits()) {
    text += " + ((m - m0) / " + text_of(tiles_.tile_rows) + " * panels + p) * " +
            text_of(tiles_.tile_rows * tiles_.width());
  }
  text += ";\nconst " + term + "* right = (const " + term + "*)(right_panels + p * held * " +
          width + ");\n";
  text += "i64 right_depth = " + width + ";\n";
  if (!tiles_.pack_right) {
    text += "if (count == " + width + ") right = " + address(right_, "n", "k0") +
            ", right_depth = " + text_of(right_.depth_stride) + ";\n";
  }
  const std::string more = waits() ? "k0 > 0" : "false";
  const auto call = [&](int rows) {
    return "KERNEL_tile" + text_of(rows) + "(" + (pairs ? "held / 2" : "terms") +
           ", left, right, right_depth, c, " + more + ");\n";
  };
  const int rest = static_cast<int>(form_.rows % tiles_.tile_rows);
  if (rest > 0) text += "if (rows == " + text_of(rest) + ") " + call(rest) + "else ";
  text += call(tiles_.tile_rows);
  return text;
}

// The elements of a tile's columns: those of one variable, or of a segment.
std::string ContractionWriter::epilogue_of(const std::string& columns, const std::string& lane,
                                           double share) {
  const std::vector<int>& symbols = form_.epilogue.columns;
  const std::string width = text_of(tiles_.width());
  std::vector<Loop> loops{batch_loop(epilogue_, share)};
  Loop inner{.header = "for (int i = 0; i < " + columns + "; ++i) {",
             .times = static_cast<double>(form_.columns)};
  if (has_segments(epilogue_)) {
    Loop segment{.header = "for (int s = 0; s < esegments; ++s) if (epanel[s] == p) {"};
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      segment.symbols.emplace_back(symbols[i], "efirst" + text_of(symbols[i]) + "[s]");
    inner.symbols.emplace_back(symbols.back(), "(efirst" + text_of(symbols.back()) + "[s] + i)");
    loops.push_back(std::move(segment));
  } else if (!symbols.empty()) {
    inner.symbols.emplace_back(symbols[0], "(n + i)");
  }
  loops.push_back(numbered(epilogue_, form_.epilogue.rows, "(m + r)",
                           "for (int r = 0; r < rows; ++r) {", static_cast<double>(form_.rows)));
  std::string sum = "c[r * " + width + " + " + lane + "i]";
  if (form_.type != ir::DType::kF64) sum = "i64((" + element_type(form_.type) + ")" + sum + ")";
  const std::string type = form_.type == ir::DType::kF64 ? type_ : "i64";
  inner.lines.push_back("const " + type + " sum = " + sum + ";");
  inner.nodes.emplace_back(form_.sum, "sum");
  loops.push_back(std::move(inner));
  return epilogue_.writer->store_within_loops(loops);
}

std::string ContractionWriter::epilogue() {
  const std::string width = text_of(tiles_.width());
  std::string text = waits() ? "if (k0 + terms < " + text_of(form_.depth) + ") continue;\n" : "";
  if (form_.has_guards && form_.type == ir::DType::kF64) {
    text += "int nans = 0;\nfor (int i = 0; i < rows * " + width +
            "; ++i) nans |= c[i] != c[i];\nif (nans) *failure = " +
            text_of(static_cast<int>(KernelFailure::kNotFinite)) + ";\n";
  }
  if (has_segments(epilogue_)) return text + epilogue_of("ecount[s]", "elane[s] + ", 1);
  if (form_.columns >= tiles_.width())
    text += "if (count == " + width + ") {\n" + epilogue_of(width, "", 1) + "}\n";
  if (form_.columns % tiles_.width() != 0)
    text += "if (count != " + width + ") {\n" + epilogue_of("count", "", 0) + "}\n";
  return text;
}

ContractionText ContractionWriter::text(const ContractionTiles& tiles) {
  tiles_ = tiles;
  const bool pairs = pairs_ != Pairs::kNone;
  // No pair lies in two blocks.
  if (pairs && waits()) tiles_.depth_block += tiles_.depth_block % 2;
  ContractionText result;
  const int rest = static_cast<int>(form_.rows % tiles.tile_rows);
  if (rest > 0) result.functions += micro_kernel(rest);
  result.functions += micro_kernel(tiles.tile_rows);

  // Panels and sums, each from a multiple of 64 bytes on.
  const auto memory = [&](const std::string& type, std::int64_t elements) {
    const std::int64_t at = result.memory;
    result.memory += ceil_div(elements * element_, 64) * 64;
    return "(" + type + "*)(work + " + text_of(at) + ");\n";
  };
  const std::int64_t columns = ceil_div(tiles.column_block, tiles.width()) * tiles.width();
  const std::int64_t rows = ceil_div(tiles.row_block, tiles.tile_rows) * tiles.tile_rows;
  std::string& body = result.body;
  body = "  unsigned char* work = egret_work;\n  EGRET_HOLD_ADDRESS(work);\n";
  const std::int64_t deep = tiles_.depth_block;
  body += "  " + term_ + "* const right_panels = " + memory(term_, columns * deep);
  body += "  " + term_ + "* const left_panel = " + memory(term_, tiles.tile_rows * deep);
  body += "  " + type_ + "* const sums = " +
          memory(type_, waits() ? rows * columns : tiles.tile_rows * tiles.width());

  const std::int64_t column_blocks = ceil_div(form_.columns, tiles.column_block);
  const std::int64_t row_blocks = ceil_div(form_.rows, tiles.row_block);
  result.steps = form_.batch * row_blocks * column_blocks;
  body += "  for (i64 step = low; step < high; ++step) {\n";
  const auto bounds = [&](const char* name, const std::string& number, std::int64_t block,
                          std::int64_t total) {
    const std::string n(name);
    body += "const i64 " + n + "0 = " + number + " * " + text_of(block) + ", " + n +
            "1 = least<i64>(" + n + "0 + " + text_of(block) + ", " + text_of(total) + ");\n";
  };
  bounds("n", "step % " + text_of(column_blocks), tiles.column_block, form_.columns);
  bounds("m", "step / " + text_of(column_blocks) + " % " + text_of(row_blocks), tiles.row_block,
         form_.rows);
  body += "const i64 batch = step / " + text_of(column_blocks * row_blocks) + ";\n";
  body += "const int panels = (int)(n1 - n0 + " + text_of(tiles.width() - 1) + ") / " +
          text_of(tiles.width()) + ";\n";
  if (has_segments(right_)) body += segments(right_);
  if (has_segments(epilogue_)) body += segments(epilogue_);
  body += "for (i64 k0 = 0; k0 < " + text_of(form_.depth) + "; k0 += " + text_of(deep) + ") {\n";
  body +=
      "const i64 terms = least<i64>(" + text_of(deep) + ", " + text_of(form_.depth) + " - k0);\n";
  body += std::string("const i64 held = ") + (pairs ? "(terms + 1) / 2 * 2" : "terms") + ";\n";
  body += pack_right();
  // The second of the last pair.
  const bool odd = pairs && form_.depth % 2 != 0;
  if (odd) {
    body += "if (held > terms) for (i64 i = 0; i < panels * " + text_of(tiles.width()) +
            "; ++i) right_panels[i / " + text_of(tiles.width()) + " * held * " +
            text_of(tiles.width()) + " + " +
            place("terms", text_of(tiles.width()), "i % " + text_of(tiles.width())) + "] = 0;\n";
  }
  body += "for (i64 m = m0; m < m1; m += " + text_of(tiles.tile_rows) + ") {\n";
  body += "const int rows = (int)least<i64>(" + text_of(tiles.tile_rows) + ", m1 - m);\n";
  body += pack_left();
  if (odd) {
    body += "if (held > terms) for (int i = 0; i < rows; ++i) left_panel[" +
            place("terms", "rows", "i") + "] = 0;\n";
  }
  body += multiply() + epilogue();
  body += "}\n}\n}\n}\n";
  // A term takes a share of a vector's operation.
  result.operations = form_.products() / tiles.lanes + left_.writer->operations() +
                      right_.writer->operations() + epilogue_.writer->operations();
  return result;
}

}  // namespace egret::backends::codegen
