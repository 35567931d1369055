// SPDX-License-Identifier: Apache-2.0
// The innermost loops of a contraction.
#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/contraction_writer.h"

namespace egret::backends::codegen {
namespace {

// Rows of a tile of AMX, whose rows have 64 bytes.
constexpr int kAmxRows = 16, kAmxBytes = 64;

}  // namespace

// Sums of `rows` rows and of a panel's columns: c[r][n] (+)= sum k. left[r, k] * right[k, n]. Each
// sum has a name, hence a register. Groups of two or four narrow terms count as one term of 4
// bytes.
std::string ContractionWriter::micro_kernel(int rows) const {
  if (groups_.in_tiles) return amx_kernel(rows);
  const bool groups = groups_.any();
  const std::string term = groups ? "int" : type_;
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
    if (groups) add += "    { const term a = term{} + " + scalar + ";\n";
    for (int v = 0; v < tiles_.vectors; ++v) {
      text += (r + v == 0 ? "" : ", ") + sum(r, v) + " = {}";
      load += "    " + sum(r, v) + " = " + at(r, v) + ";\n";
      store += "  " + at(r, v) + " = " + sum(r, v) + ";\n";
      if (groups) {
        add += "    " + add_group(sum(r, v), "a", "b" + text_of(v)) + ";\n";
      } else {
        add += "    " + sum(r, v) + " += " + scalar + " * b" + text_of(v) + ";\n";
      }
    }
    if (groups) add += "    }\n";
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

// Adds the products of groups of terms of 4 bytes.
std::string ContractionWriter::add_group(const std::string& sum, const std::string& left,
                                         const std::string& right) const {
  switch (groups_.kind) {
    case TermGroups::Kind::kBF16: return "EGRET_ADD_BF16(" + sum + ", " + right + ", " + left + ")";
    case TermGroups::Kind::kInt16:
      return "EGRET_ADD_INT16(" + sum + ", " + right + ", " + left + ")";
    case TermGroups::Kind::kInt8: break;
    case TermGroups::Kind::kNone: return "";
  }
  // The one without a sign first.
  return "EGRET_ADD_INT8(" + sum + ", " +
         (groups_.left_unsigned ? left + ", " + right : right + ", " + left) + ")";
}

// The same sums in tiles of AMX: up to two of 16 rows, times up to two of 16 columns. `terms`
// counts rows of 64 bytes of the left panel, which are 16 rows of the right one.
std::string ContractionWriter::amx_kernel(int rows) const {
  const int row_tiles = static_cast<int>(ceil_div(rows, kAmxRows)), vectors = tiles_.vectors;
  const std::string row_bytes = text_of(tiles_.width() * element_);
  std::string text = "static void KERNEL_tile" + text_of(rows) +
                     "(i64 terms, const unsigned char* left, const unsigned char* right, "
                     "i64 left_row, " +
                     type_ + "* c, bool more) {\n";
  std::string zero, load, store, left, right, multiply;
  for (int r = 0; r < row_tiles; ++r) {
    const std::string a = text_of(4 + r);
    left += "    EGRET_TILE_LOAD(" + a + ", left + " + text_of(r * kAmxRows) +
            " * left_row + k * " + text_of(kAmxBytes) + ", left_row);\n";
    for (int v = 0; v < vectors; ++v) {
      const std::string sum = text_of(2 * r + v), b = text_of(6 + v);
      const std::string at = "c + " + text_of(r * kAmxRows * tiles_.width() + v * tiles_.lanes);
      zero += "    EGRET_TILE_ZERO(" + sum + ");\n";
      load += "    EGRET_TILE_LOAD(" + sum + ", " + at + ", " + row_bytes + ");\n";
      store += "  EGRET_TILE_STORE(" + sum + ", " + at + ", " + row_bytes + ");\n";
      std::string name = "BF16";
      if (groups_.kind == TermGroups::Kind::kInt8)
        name = std::string(groups_.left_unsigned ? "U8" : "S8") +
               (groups_.right_unsigned ? "U8" : "S8");
      multiply += "    EGRET_TILE_" + name + "(" + sum + ", " + a + ", " + b + ");\n";
    }
  }
  for (int v = 0; v < vectors; ++v) {
    right += "    EGRET_TILE_LOAD(" + text_of(6 + v) + ", right + k * " +
             text_of(kAmxRows * tiles_.width() * element_) + " + " + text_of(v * kAmxBytes) + ", " +
             row_bytes + ");\n";
  }
  return text + "  if (more) {\n" + load + "  } else {\n" + zero +
         "  }\n  for (i64 k = 0; k < terms; ++k) {\n" + left + right + multiply + "  }\n" + store +
         "}\n";
}

}  // namespace egret::backends::codegen
