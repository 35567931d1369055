// SPDX-License-Identifier: Apache-2.0
// Copies of the factors of a contraction into panels.
#include <utility>

#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/contraction_writer.h"

namespace egret::backends::codegen {

std::string ContractionWriter::place(const std::string& k, const std::string& width,
                                     const std::string& i) const {
  if (!groups_.any()) return k + " * " + width + " + " + i;
  const int n = groups_.terms();
  const std::string terms = text_of(n);
  return "(" + k + " >> " + text_of(n / 2) + ") * " + terms + " * " + width + " + (" + i + ") * " +
         terms + " + (" + k + " & " + text_of(n - 1) + ")";
}

// Tiles of AMX take rows of terms.
std::string ContractionWriter::left_place(const std::string& k, const std::string& i) const {
  return groups_.in_tiles ? i + " * held + " + k : place(k, "rows", i);
}

// The value as a panel holds it. Factors in pairs of bf16 have 16 significant bits.
std::string ContractionWriter::term(const std::string& value) const {
  return groups_.kind == TermGroups::Kind::kBF16 ? "(unsigned short)(bits_of(" + value + ") >> 16)"
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

// The run [first, last) of a segment's columns that lies within all bounds. Each bound limits the
// innermost variable, first column + i, from one side, or excludes the whole segment.
std::string ContractionWriter::segment_bounds(const SymbolNames& names) const {
  const int inner = form_.right.columns.back();
  const std::string begin = "(int)rfirst" + text_of(inner) + "[s]";
  std::string text = "int first = 0, last = rcount[s];\n";
  for (const int id : form_.right.bounds) {
    const ir::Affine& form = form_.right.nest.guard(id).form;
    const std::int64_t factor = form.factor(inner);
    const std::string rest = "(int)(" + affine_text(form, names, inner) + ")";
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
  SymbolNames names;
  for (const Loop* loop : {&batch, &depth})
    names.insert(loop->symbols.begin(), loop->symbols.end());
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    names[symbols[i]] = "rfirst" + text_of(symbols[i]) + "[s]";
  std::string text = "{\n";
  for (const std::string& line : batch.lines) text += line + "\n";
  const std::string to = "to[" + text_of(groups_.terms()) + " * i]";
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

// Zeros in the rest of the last group of terms.
std::string ContractionWriter::pad_right() const {
  if (form_.depth % groups_.unit() == 0) return {};
  const std::string width = text_of(tiles_.width());
  return "for (i64 k = terms; k < held; ++k) for (i64 i = 0; i < panels * " + width +
         "; ++i) right_panels[i / " + width + " * held * " + width + " + " +
         place("k", width, "i % " + width) + "] = 0;\n";
}

std::string ContractionWriter::pack_right() {
  const std::string width = text_of(tiles_.width());
  if (has_segments(right_)) return pack_right_segments() + pad_right();
  std::string text = "const int full = (int)(n1 - n0) / " + width + ";\n";
  if (tiles_.pack_right && form_.columns >= tiles_.width())
    text += pack_right_panels("for (int p = 0; p < full; ++p) {", width, 1);
  text += pad_right();
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
  SymbolNames names;
  for (const Loop& loop : loops) names.insert(loop.symbols.begin(), loop.symbols.end());
  std::string inside;
  for (const int id : form_.left.bounds)
    inside += (inside.empty() ? "" : " && ") + affine_text(form_.left.nest.guard(id).form, names) +
              " <= 0";
  if (!inside.empty()) {
    loops.back().lines.push_back("left_panel[" + left_place("k", "i") + "] = 0;");
    loops.push_back({.header = "if (" + inside + ") {", .guarded = true});
  }
  std::string text = left_.writer->within_loops(loops, [&](const std::string& value) {
    return "left_panel[" + left_place("k", "i") + "] = " + term(value) + ";";
  });
  if (form_.depth % groups_.unit() == 0) return text;
  return text + "for (i64 k = terms; k < held; ++k) for (int i = 0; i < rows; ++i) left_panel[" +
         left_place("k", "i") + "] = 0;\n";
}

}  // namespace egret::backends::codegen
