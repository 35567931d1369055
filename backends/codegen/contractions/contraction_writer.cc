// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/contraction_writer.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/text/nest_facts.h"

namespace egret::backends::codegen {

namespace {

std::string narrow_type(const TermGroups& groups, const std::string& sum) {
  switch (groups.terms()) {
    case 1: return sum;
    case 2: return "unsigned short";
    default: return "unsigned char";
  }
}

constexpr double kMostKept = 1 << 28;  // bytes that constants may take a second time

// Whether the factor reads constants alone.
bool is_constant(const ContractionForm::Part& part, std::span<const char> constants) {
  bool any = false;
  for (const ir::NestNode& node : part.nest.nodes) {
    if (node.op != ir::ExprOp::kRead) continue;
    const auto input = static_cast<std::size_t>(node.input);
    if (input >= constants.size() || constants[input] == 0) return false;
    any = true;
  }
  return any;
}

}  // namespace

ContractionWriter::ContractionWriter(const ContractionForm& form,
                                     std::span<const ir::TensorType> inputs, ir::DType output,
                                     const HostProcessor& processor,
                                     std::span<const char> constants)
    : form_(form), inputs_(inputs.begin(), inputs.end()), output_(output) {
  const bool in_double = computes_in_double(inputs, output);
  type_ = term_type(form.type, in_double);
  element_ = type_ == "double" || type_ == "u64" ? 8 : 4;
  groups_ = term_groups_of(form, inputs, processor, type_);
  term_ = narrow_type(groups_, type_);
  // Real arithmetic must not change its type by the read that stands for the sum.
  const ir::DType real = in_double ? ir::DType::kF64 : ir::DType::kF32;
  inputs_.emplace_back(form.type == ir::DType::kF64 ? real : form.type, ir::Shape{1});
  left_ = part(form.left, 'l');
  right_ = part(form.right, 'r');
  epilogue_ = part(form.epilogue, 'e');
  set_strides(left_, form.left.rows);
  set_strides(right_, form.right.columns);
  right_.plain = right_.plain && right_.own_stride == 1;
  const auto terms = static_cast<double>(form.batch * form.depth) * element_;
  left_.constant =
      terms * static_cast<double>(form.rows) <= kMostKept && is_constant(form.left, constants);
  right_.constant =
      terms * static_cast<double>(form.columns) <= kMostKept && is_constant(form.right, constants);
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
  const Neighbours found = neighbours_in_memory(*part.form, own);
  return !own.empty() && found.along_depth && !found.along_own;
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

// ---- Tiles

// The loop over panels of columns, with the place of a tile's sums.
std::string ContractionWriter::panels() const {
  const std::string width = text_of(tiles_.width());
  std::string text = "for (int p = 0; p < panels; ++p) {\n";
  text += "const i64 n = n0 + p * " + width + ";\n";
  text += "const int count = (int)least<i64>(" + width + ", n1 - n);\n";
  text += type_ + "* const c = sums";
  if (waits()) {
    text += " + ((m - m0) / " + text_of(tiles_.tile_rows) + " * panels + p) * " +
            text_of(tiles_.tile_rows * tiles_.width());
  }
  return text + ";\n(void)count, (void)n;\n";
}

// `more`: whether sums of earlier terms wait.
std::string ContractionWriter::multiply(const std::string& more) {
  const std::string width = text_of(tiles_.width());
  const std::string term = groups_.in_tiles ? "unsigned char" : groups_.any() ? "int" : type_;
  std::string text = "const " + term + "* const left = ";
  text +=
      tiles_.pack_left ? "(const " + term + "*)left_panel;\n" : address(left_, "m", "k0") + ";\n";
  text += panels();
  text += "const " + term + "* right = (const " + term + "*)(right_panels + p * held * " + width +
          ");\n";
  text += "i64 right_depth = " + width + ";\n";
  if (!tiles_.pack_right) {
    text += "if (count == " + width + ") right = " + address(right_, "n", "k0") +
            ", right_depth = " + text_of(right_.depth_stride) + ";\n";
  }
  const auto call = [&](int rows) {
    return "KERNEL_tile" + text_of(rows) + "(held / " + text_of(groups_.unit()) +
           ", left, right, " +
           (groups_.in_tiles ? "held * (i64)sizeof(" + term_ + ")" : "right_depth") + ", c, " +
           more + ");\n";
  };
  const int rest = static_cast<int>(form_.rows % tiles_.tile_rows);
  if (rest > 0) text += "if (rows == " + text_of(rest) + ") " + call(rest) + "else ";
  return text + call(tiles_.tile_rows);
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
  std::string text;
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

// Bounds of a block of rows and columns, whose number is `number`.
std::string ContractionWriter::block(const std::string& number) const {
  std::string text;
  const std::string columns = text_of(column_blocks());
  const auto bounds = [&](const std::string& n, const std::string& at, std::int64_t block,
                          std::int64_t total) {
    text += "const i64 " + n + "0 = " + at + " * " + text_of(block) + ", " + n + "1 = least<i64>(" +
            n + "0 + " + text_of(block) + ", " + text_of(total) + ");\n";
  };
  bounds("n", number + " % " + columns, tiles_.column_block, form_.columns);
  bounds("m", number + " / " + columns + " % " + text_of(row_blocks()), tiles_.row_block,
         form_.rows);
  text += "const i64 batch = " + number + " / " + text_of(column_blocks() * row_blocks()) + ";\n";
  text += "const int panels = (int)(n1 - n0 + " + text_of(tiles_.width() - 1) + ") / " +
          text_of(tiles_.width()) + ";\n";
  return text;
}

// Sizes of the block of terms from k0 on; as panels hold them, too.
std::string ContractionWriter::terms() const {
  const std::string unit = text_of(groups_.unit());
  return "const i64 terms = least<i64>(" + text_of(tiles_.depth_block) + ", " +
         text_of(form_.depth) + " - k0);\nconst i64 held = (terms + " +
         text_of(groups_.unit() - 1) + ") / " + unit + " * " + unit + ";\n";
}

// Where the panels of constants lie, which were packed before.
std::string ContractionWriter::kept_panels(const Part& part) const {
  const std::string depth = text_of(depth_blocks()), k = "k0 / " + text_of(tiles_.depth_block);
  if (&part == &right_) {
    return term_ + "* const right_panels = (" + term_ + "*)(shared + ((batch * " +
           text_of(column_blocks()) + " + n0 / " + text_of(tiles_.column_block) + ") * " + depth +
           " + " + k + ") * " + text_of(right_bytes()) + ");\n";
  }
  return term_ + "* const left_panel = (" + term_ + "*)(shared + " +
         text_of(packs_right_once() ? kept_right_bytes() : 0) + " + ((batch * " +
         text_of(ceil_div(form_.rows, tiles_.tile_rows)) + " + m / " + text_of(tiles_.tile_rows) +
         ") * " + depth + " + " + k + ") * " + text_of(left_bytes()) + ");\n";
}

// The steps that pack constants: one for each block of columns, and of rows, and of terms.
std::string ContractionWriter::pack_once() {
  std::string text;
  const std::string depth = text_of(depth_blocks()), deep = text_of(tiles_.depth_block);
  std::int64_t before = 0;
  const auto part_steps = [&](std::int64_t steps, const std::string& number,
                              const std::string& pack) {
    text += "if (step < " + text_of(before + steps) + ") {\nconst i64 number = step - " +
            text_of(before) + ";\n";
    text += "const i64 k0 = number % " + depth + " * " + deep + ", of = " + number + ";\n";
    text += block("of") + terms() + pack + "continue;\n}\n";
    before += steps;
  };
  if (packs_right_once()) {
    // Those of the first block of rows.
    const std::string columns = text_of(column_blocks());
    part_steps(form_.batch * column_blocks() * depth_blocks(),
               "number / " + depth + " / " + columns + " * " +
                   text_of(column_blocks() * row_blocks()) + " + number / " + depth + " % " +
                   columns,
               (has_segments(right_) ? segments(right_) : "") + kept_panels(right_) + pack_right() +
                   "(void)m0, (void)m1;\n");
  }
  if (packs_left_once()) {
    part_steps(form_.batch * row_blocks() * depth_blocks(),
               "number / " + depth + " * " + text_of(column_blocks()),
               row_tiles() + kept_panels(left_) + pack_left() + "}\n(void)n1, (void)panels;\n");
  }
  packing_steps_ = before;
  return text;
}

std::string ContractionWriter::row_tiles() const {
  return "for (i64 m = m0; m < m1; m += " + text_of(tiles_.tile_rows) +
         ") {\nconst int rows = (int)least<i64>(" + text_of(tiles_.tile_rows) + ", m1 - m);\n";
}

// Sums of a part of the terms, which wait in memory that all threads share.
std::string ContractionWriter::partial_sums() {
  if (tiles_.parts == 1) return {};
  const std::string blocks = text_of(blocks_of_sums());
  std::string text = "if (number < " + text_of(blocks_of_sums() * tiles_.parts) + ") {\n";
  text += "const i64 of = number % " + blocks + ";\n" + block("of");
  if (has_segments(right_) && !packs_right_once()) text += segments(right_);
  text += type_ + "* const sums = (" + type_ + "*)(shared + " + text_of(kept_bytes()) +
          " + number * " + text_of(sum_bytes()) + ");\n";
  const std::string first = "number / " + blocks + " * " + text_of(terms_of_part());
  text += "const i64 first = " + first + ";\n";
  text += depth_blocks_text(
      "first", "least<i64>(first + " + text_of(terms_of_part()) + ", " + text_of(form_.depth) + ")",
      "k0 > first", "");
  return text + "continue;\n}\n";
}

// Their totals, and the epilogue.
std::string ContractionWriter::totals() {
  std::string text =
      "const i64 of = number - " + text_of(blocks_of_sums() * tiles_.parts) + ";\n" + block("of");
  if (has_segments(epilogue_)) text += segments(epilogue_);
  text += type_ + "* const sums = (" + type_ + "*)(shared + " + text_of(kept_bytes()) + " + of * " +
          text_of(sum_bytes()) + ");\n";
  text += row_tiles() + panels();
  text += "for (int part = 1; part < " + text_of(tiles_.parts) + "; ++part) {\nconst " + type_ +
          "* const more = c + part * " + text_of(blocks_of_sums() * sum_bytes() / element_) +
          ";\nfor (int i = 0; i < " + text_of(tiles_.tile_rows * tiles_.width()) +
          "; ++i) c[i] += more[i];\n}\n";
  return text + epilogue() + "}\n}\n";
}

// The loop over blocks of terms, with `behind` the products of each tile.
std::string ContractionWriter::depth_blocks_text(const std::string& first, const std::string& end,
                                                 const std::string& more,
                                                 const std::string& behind) {
  std::string text = "for (i64 k0 = " + first + "; k0 < " + end +
                     "; k0 += " + text_of(tiles_.depth_block) + ") {\n" + terms();
  text += packs_right_once() ? kept_panels(right_) : pack_right();
  text += row_tiles() + (packs_left_once() ? kept_panels(left_) : pack_left());
  return text + multiply(more) + behind + "}\n}\n}\n";
}

ContractionText ContractionWriter::text(const ContractionTiles& tiles) {
  tiles_ = tiles;
  // No group lies in two blocks, and panels have room for groups that only the last terms begin.
  const std::int64_t unit = groups_.unit();
  if (waits() || groups_.any() || tiles.parts > 1)
    tiles_.depth_block = ceil_div(tiles_.depth_block, unit) * unit;
  // Parts are whole blocks.
  tiles_.parts = static_cast<int>(
      ceil_div(depth_blocks(), ceil_div(depth_blocks(), std::max(tiles_.parts, 1))));
  ContractionText result;
  const int rest = static_cast<int>(form_.rows % tiles.tile_rows);
  if (rest > 0) result.functions += micro_kernel(rest);
  result.functions += micro_kernel(tiles.tile_rows);

  std::string& body = result.body;
  body = "  unsigned char* work = egret_work;\n  EGRET_HOLD_ADDRESS(work);\n";
  const auto memory = [&](const std::string& name, const std::string& type, std::int64_t bytes) {
    body += "  " + type + "* const " + name + " = (" + type + "*)(work + " +
            text_of(result.memory) + ");\n";
    result.memory += bytes;
  };
  if (!packs_right_once()) memory("right_panels", term_, right_bytes());
  if (!packs_left_once()) memory("left_panel", term_, left_bytes());
  if (tiles_.parts == 1) {
    memory("sums", type_,
           waits() ? sum_bytes() : whole_lines(tiles_.tile_rows * tiles_.width() * element_));
  }
  result.shared_memory = kept_bytes();
  if (tiles_.parts > 1) result.shared_memory += blocks_of_sums() * tiles_.parts * sum_bytes();
  if (result.shared_memory > 0) {
    body += "  unsigned char* const shared = (unsigned char*)in[" +
            text_of(static_cast<std::int64_t>(inputs_.size()) - 1) + "];\n";
  }
  if (groups_.in_tiles) body += "  EGRET_TILES_BEGIN();\n";
  body += "  for (i64 step = low; step < high; ++step) {\n" + pack_once();
  body += "const i64 number = step - " + text_of(packing_steps_) + ";\n" + partial_sums();
  if (tiles_.parts > 1) {
    result.partial_steps = blocks_of_sums() * tiles_.parts;
    body += totals();
  } else {
    body += block("number");
    if (has_segments(right_) && !packs_right_once()) body += segments(right_);
    if (has_segments(epilogue_)) body += segments(epilogue_);
    const std::string all = text_of(form_.depth);
    body += depth_blocks_text(
        "0", all, waits() ? "k0 > 0" : "false",
        (waits() ? "if (k0 + terms < " + all + ") continue;\n" : "") + epilogue());
  }
  body += "}\n";
  if (groups_.in_tiles) body += "  EGRET_TILES_END();\n";
  result.packing_steps = packing_steps_;
  result.steps = packing_steps_ + result.partial_steps + blocks_of_sums();
  // A term takes a share of a vector's operation.
  result.operations = form_.products() / tiles.lanes + left_.writer->operations() +
                      right_.writer->operations() + epilogue_.writer->operations();
  return result;
}

}  // namespace egret::backends::codegen
