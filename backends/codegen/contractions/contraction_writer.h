// SPDX-License-Identifier: Apache-2.0
// The text of a tiled contraction for the host.
//
// A step of the outer loop computes one block of rows and columns. For each block of terms it packs
// the right factor into panels of a tile's columns, then, tile row by tile row, the left factor.
// The micro-kernel keeps a tile of sums in registers. Behind the last block of terms the epilogue
// computes and stores the tile's elements. Packing and epilogue are values of the definition
// (writer.h) in the loops that are written here, so any factor and epilogue is possible.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/contraction_tiles.h"
#include "backends/codegen/contractions/pairs.h"
#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

class ContractionWriter {
 public:
  ContractionWriter(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                    ir::DType output, const HostProcessor& processor);

  // Pairs are copied.
  InPlace in_place() const {
    return pairs_ == Pairs::kNone ? InPlace{left_.plain, right_.plain, left_.own_stride}
                                  : InPlace{};
  }
  Pairs pairs() const { return pairs_; }
  // Whether packing the columns would transpose them.
  bool transposes_columns() const { return reads_along_depth(right_, form_.right.columns); }
  // Bytes of a term.
  int element() const { return element_; }
  ContractionText text(const ContractionTiles& tiles);

 private:
  using Loop = Writer::GivenLoop;
  using Names = std::map<int, std::string>;  // texts of symbols
  // A part with its own writer. Plain: the read of an element of the sums' type, at an offset that
  // is linear in the number of the row or column and in the number of the term.
  struct Part {
    const ContractionForm::Part* form = nullptr;
    std::unique_ptr<Packing> packing{};
    std::unique_ptr<Writer> writer{};
    char prefix = 0;
    bool plain = false;
    std::int64_t own_stride = 0, depth_stride = 0;
  };

  Part part(const ContractionForm::Part& form, char prefix);
  void set_strides(Part& part, const std::vector<int>& own) const;
  bool reads_along_depth(const Part& part, const std::vector<int>& own) const;

  // Loops around values.
  Loop numbered(const Part& part, const std::vector<int>& symbols, const std::string& flat,
                std::string header, double times) const;
  Loop batch_loop(const Part& part, double times) const;
  Loop depth_loop(const Part& part) const;
  std::string address(const Part& part, const std::string& own, const std::string& depth);

  std::string micro_kernel(int rows) const;
  std::string segments(const Part& part) const;
  std::string pack_right();
  std::string pack_right_panels(const std::string& panels, const std::string& count, double share);
  std::string pack_right_segments();
  static std::string affine(const ir::Affine& form, const Names& names, int without = -1);
  std::string segment_bounds(const Names& names) const;
  std::string pack_left();
  std::string multiply();
  std::string epilogue();
  std::string epilogue_of(const std::string& columns, const std::string& lane, double share);

  bool has_segments(const Part& part) const {
    return part.form->columns.size() > 1 ||
           (!part.form->columns.empty() && !part.form->bounds.empty());
  }
  // Of term k and column or row i, in a panel of `width` of them.
  std::string place(const std::string& k, const std::string& width, const std::string& i) const;
  std::string term(const std::string& value) const;
  bool waits() const { return tiles_.depth_block < form_.depth; }

  const ContractionForm& form_;
  std::vector<ir::TensorType> inputs_;  // and that of the sum
  ir::DType output_;
  ContractionTiles tiles_;
  Schedule schedule_;
  Pairs pairs_ = Pairs::kNone;
  std::string type_;  // of sums
  std::string term_;  // of terms in panels
  int element_ = 4;
  Part left_, right_, epilogue_;
};

}  // namespace egret::backends::codegen
