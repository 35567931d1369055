// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/window_kernel.h"

#include <set>

#include "backends/codegen/contractions/contraction_text.h"

namespace egret::backends::codegen {
namespace {

using Axis = WindowForm::Axis;

std::string sum(int r, int v) { return "c" + text_of(r) + "_" + text_of(v); }

}  // namespace

// ---- Lines in place

// A bit for each lane of the vector at x whose position no guard excludes.
std::uint64_t WindowKernel::read_lanes(std::int64_t offset, std::int64_t x) const {
  std::uint64_t bits = 0;
  const std::int64_t first = x * tiles_.lanes * window_.line.stride + offset;
  for (int lane = 0; lane < tiles_.lanes; ++lane) {
    if (first + lane >= bounds_.first && first + lane < bounds_.last)
      bits |= std::uint64_t{1} << lane;
  }
  return bits;
}

// Declares a vector of neighbouring positions, `offset` behind that of the column x * lanes.
// Excluded positions are zeros and are not read.
std::string WindowKernel::lanes(const std::string& name, std::int64_t offset,
                                std::optional<std::int64_t> x) const {
  const std::uint64_t all = (std::uint64_t{1} << tiles_.lanes) - 1;
  const std::uint64_t bits = x ? read_lanes(offset, *x) : all;
  const std::string from = "at + " + text_of(offset);
  std::string value = "*(const vec*)(" + from + ")";
  if (bits == 0) value = "{}";
  if (bits != 0 && bits != all)
    value = "some_lanes<plain, " + std::to_string(bits) + ">(" + from + ")";
  return "vec " + name + " = " + value + "; EGRET_HOLD(" + name + "); ";
}

// Declares what the window's terms read of a line. With stride 2, two vectors of neighbours hold
// the positions of two terms.
std::string WindowKernel::line_in_place(int v, std::optional<std::int64_t> x) const {
  const Axis& line = window_.line;
  const std::int64_t width = tiles_.lanes, first = v * width * line.stride;
  std::string text;
  if (line.stride == 1) return text;
  std::set<std::int64_t> pairs;
  for (std::int64_t k = 0; k < line.window; ++k) pairs.insert(line.offset(k) / 2);
  for (const std::int64_t pair : pairs) {
    text += lanes("l" + text_of(pair), first + 2 * pair, x) +
            lanes("h" + text_of(pair), first + 2 * pair + width, x);
  }
  return text;
}

// Whether all positions that these vectors read are within the bounds.
bool WindowKernel::is_whole(std::int64_t x, int vectors) const {
  if (!tiles_.in_place) return true;
  const std::int64_t from = x * tiles_.lanes * window_.line.stride;
  const std::int64_t count = vectors * tiles_.lanes * window_.line.stride;
  const std::int64_t more = window_.line.reach() - 1 + (window_.line.stride - 1);
  return from >= bounds_.first && from + count + more <= bounds_.last;
}

// ---- Tiles

// The number of a term within a window, from the values of its variables.
std::int64_t WindowKernel::term_number(const std::map<int, std::int64_t>& values) const {
  std::int64_t number = 0;
  for (std::size_t i = window_.others.size(); i < form_.right.depth.size(); ++i) {
    const int symbol = form_.right.depth[i];
    number = number * form_.right.nest.extent(symbol) + values.at(symbol);
  }
  return number;
}

// The vector of the line's term k; line_in_place() stands before.
std::string WindowKernel::operand(std::int64_t offset, std::int64_t k, int v,
                                  std::optional<std::int64_t> x) const {
  const Axis& line = window_.line;
  const std::int64_t place = line.offset(k);
  const std::int64_t advance =
      layout_.in_batch() ? line.stride * layout_.unit() : std::int64_t{tiles_.lanes};
  if (!tiles_.in_place) {
    const std::int64_t phases = layout_.phases();
    const std::int64_t within = layout_.in_batch()
                                    ? place * layout_.unit()
                                    : place % phases * layout_.phase_pitch() + place / phases;
    return "vec b = *(const vec*)(at + " + text_of(offset + within + v * advance) +
           "); EGRET_HOLD(b); ";
  }
  if (line.stride == 1) return lanes("b", v * advance + place, x);
  const std::string pair = text_of(place / 2);
  std::string text = "vec b = EGRET_PICK(picks, l" + pair + ", h" + pair;
  for (int lane = 0; lane < tiles_.lanes; ++lane) text += ", " + text_of(2 * lane + place % 2);
  return text + "); EGRET_HOLD(b); ";
}

// The sums of `lines` lines and `vectors` vectors, without loops over the window.
std::string WindowKernel::tile(int lines, int vectors, std::optional<std::int64_t> x) const {
  const Axis &rows = window_.rows, &line = window_.line;
  std::string text, store;
  for (int r = 0; r < lines; ++r) {
    for (int v = 0; v < vectors; ++v) {
      text += "    vec " + sum(r, v) + " = {};\n";
      store += "    *(vec*)(sums + " + text_of(r * layout_.line_vectors() * tiles_.lanes) +
               " + (x + " + text_of(v) + ") * " + text_of(tiles_.lanes) + ") = " + sum(r, v) +
               ";\n";
    }
  }
  const bool loops = window_.other_terms > 1;
  if (loops) {
    text += "    for (i64 o = 0; o < " + text_of(window_.other_terms) + "; ++o) {\n";
    text += "    const " + type_ + "* const left = weights + o * " +
            text_of(window_.window * layout_.unit()) + ";\n";
  }
  const std::string other = loops ? "o" : "0";
  const std::int64_t advance =
      layout_.in_batch() || tiles_.in_place
          ? line.stride * (layout_.in_batch() ? layout_.unit() : tiles_.lanes)
          : tiles_.lanes;
  if (!tiles_.in_place) {
    text += "    const " + type_ + "* const at = image + x * " + text_of(advance) + " + " + other +
            " * " + text_of(layout_.all_lines() * layout_.line_pitch()) + ";\n";
  }
  for (std::int64_t w = 0; w < window_.outer_windows(); ++w) {
    std::map<int, std::int64_t> values;
    std::int64_t rest = w;
    for (auto axis = window_.outer.rbegin(); axis != window_.outer.rend(); ++axis) {
      if (axis->term >= 0) values[axis->term] = rest % axis->window;
      rest /= axis->window;
    }
    for (std::int64_t y = 0; y < rows.positions(lines); ++y) {
      const std::int64_t number_of_line = w * layout_.band_lines() + y;
      text += "    {\n";
      if (tiles_.in_place) {
        text += "    const " + type_ + "* const at = image[" + other + " * " +
                text_of(layout_.all_lines()) + " + " + text_of(number_of_line) + "] + x * " +
                text_of(advance) + ";\n";
      }
      for (int v = 0; v < vectors; ++v) {
        text += "    { ";
        if (tiles_.in_place) text += line_in_place(v, x) + "\n";
        for (std::int64_t k = 0; k < line.window; ++k) {
          if (line.term >= 0) values[line.term] = k;
          std::string adds;
          for (int r = 0; r < lines; ++r) {
            // The window's term, if any, by which line r reads this position.
            for (std::int64_t j = 0; j < rows.window; ++j) {
              if (r * rows.stride + rows.offset(j) != y) continue;
              if (rows.term >= 0) values[rows.term] = j;
              adds += sum(r, v) + " += " + weight(term_number(values)) + " * b; EGRET_HOLD(" +
                      sum(r, v) + "); ";
            }
          }
          if (adds.empty()) continue;
          text += "    { " + operand(number_of_line * layout_.line_pitch(), k, v, x) + adds + "}\n";
        }
        text += "    }\n";
      }
      text += "    }\n";
    }
  }
  if (loops) text += "    }\n";
  return text + store;
}

std::string WindowKernel::weight(std::int64_t number) const {
  if (window_.other_terms == 1) return "w" + text_of(number);
  return layout_.in_batch() ? "*(const vec*)(left + " + text_of(number * layout_.unit()) + ")"
                            : "left[" + text_of(number) + "]";
}

std::string WindowKernel::text(int lines) const {
  const std::string bytes = text_of(tiles_.lanes * element_);
  std::string text = "static void KERNEL_lines" + text_of(lines) + "(const " + type_ + "* " +
                     (tiles_.in_place ? "const* " : "") + "image, const " + type_ + "* weights, " +
                     type_ + "* sums) {\n  typedef " + type_ + " vec __attribute__((vector_size(" +
                     bytes + "), aligned(" + text_of(element_) + "), may_alias));\n";
  if (tiles_.in_place) {
    text += "  typedef " + type_ + " plain __attribute__((vector_size(" + bytes +
            ")));\n  typedef " + (element_ == 8 ? "i64" : "int") +
            " picks __attribute__((vector_size(" + bytes + ")));\n";
  }
  for (std::int64_t k = 0; window_.other_terms == 1 && k < window_.window; ++k) {
    text += layout_.in_batch()
                ? "  const vec w" + text_of(k) + " = *(const vec*)(weights + " +
                      text_of(k * layout_.unit()) + ");\n"
                : "  const " + type_ + " w" + text_of(k) + " = weights[" + text_of(k) + "];\n";
  }
  // Tiles whose vectors are whole are a loop. Each other tile has a text of its own.
  const std::int64_t total = layout_.line_vectors();
  for (std::int64_t x = 0; x < total;) {
    const auto vectors = static_cast<int>(std::min<std::int64_t>(tiles_.vectors, total - x));
    std::int64_t end = x;
    while (end + vectors <= total && is_whole(end, vectors)) end += vectors;
    if (end - x > vectors) {
      text += "  for (i64 x = " + text_of(x) + "; x < " + text_of(end) +
              "; x += " + text_of(vectors) + ") {\n" + tile(lines, vectors, {}) + "  }\n";
    } else {
      text += "  {\n  const i64 x = " + text_of(x) + ";\n" + tile(lines, vectors, x) + "  }\n";
      end = x + vectors;
    }
    x = end;
  }
  return text + "}\n";
}

}  // namespace egret::backends::codegen
