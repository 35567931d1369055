// SPDX-License-Identifier: Apache-2.0
// The text of a tiled contraction for the host.
//
// A step of the outer loop computes one block of rows and columns. For each block of terms it packs
// the right factor into panels of a tile's columns, then, tile row by tile row, the left factor,
// unless the micro-kernel reads the factor in place. The micro-kernel keeps a tile of sums in
// registers, or in tiles of AMX. Behind the last block of terms the epilogue computes and stores
// the tile's elements. Packing and epilogue are values of the definition (writer.h) in the loops
// that are written here, so any factor and epilogue is possible.
//
// Two kinds of steps may lie before these: those that pack factors made of constants, once for all
// runs, and those that add up parts of the terms (ContractionTiles::parts). With parts, the other
// steps add their sums. Threads share the memory of both.
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
#include "backends/codegen/contractions/term_groups.h"
#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

class ContractionWriter {
 public:
  ContractionWriter(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                    ir::DType output, const HostProcessor& processor,
                    std::span<const char> constants = {});

  // Groups of terms are copied.
  InPlace in_place() const {
    return groups_.any() ? InPlace{.amx = groups_.in_tiles}
                         : InPlace{left_.plain, right_.plain, left_.own_stride};
  }
  TermGroups groups() const { return groups_; }
  // Whether packing the columns would transpose them.
  bool transposes_columns() const { return reads_along_depth(right_, form_.right.columns); }
  // Bytes of a term.
  int element() const { return element_; }
  ContractionText text(const ContractionTiles& tiles);

 private:
  using Loop = Writer::GivenLoop;
  // A part with its own writer. Plain: the read of an element of the sums' type, at an offset that
  // is linear in the number of the row or column and in the number of the term.
  struct Part {
    const ContractionForm::Part* form = nullptr;
    std::unique_ptr<Packing> packing{};
    std::unique_ptr<Writer> writer{};
    char prefix = 0;
    bool plain = false;
    bool constant = false;  // made of constants alone
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
  std::string segment_bounds(const SymbolNames& names) const;
  std::string pack_left();
  std::string pad_right() const;
  std::string block(const std::string& number) const;
  std::string terms() const;
  std::string row_tiles() const;
  std::string panels() const;
  std::string kept_panels(const Part& part) const;
  std::string pack_once();
  std::string partial_sums();
  std::string totals();
  std::string depth_blocks_text(const std::string& first, const std::string& end,
                                const std::string& more, const std::string& behind);
  std::string multiply(const std::string& more);
  std::string epilogue();
  std::string epilogue_of(const std::string& columns, const std::string& lane, double share);

  bool has_segments(const Part& part) const {
    return part.form->columns.size() > 1 ||
           (!part.form->columns.empty() && !part.form->bounds.empty());
  }
  // Of term k and column or row i, in a panel of `width` of them.
  std::string place(const std::string& k, const std::string& width, const std::string& i) const;
  std::string left_place(const std::string& k, const std::string& i) const;
  std::string term(const std::string& value) const;
  std::string add_group(const std::string& sum, const std::string& left,
                        const std::string& right) const;
  std::string amx_kernel(int rows) const;
  bool waits() const { return tiles_.depth_block < form_.depth || tiles_.parts > 1; }

  std::int64_t column_blocks() const { return ceil_div(form_.columns, tiles_.column_block); }
  std::int64_t row_blocks() const { return ceil_div(form_.rows, tiles_.row_block); }
  std::int64_t depth_blocks() const { return ceil_div(form_.depth, tiles_.depth_block); }
  std::int64_t blocks_of_sums() const { return form_.batch * row_blocks() * column_blocks(); }
  std::int64_t terms_of_part() const {
    return ceil_div(depth_blocks(), tiles_.parts) * tiles_.depth_block;
  }
  // Memory of panels and of the sums of a block, in whole lines of the cache.
  static std::int64_t whole_lines(std::int64_t bytes) { return ceil_div(bytes, 64) * 64; }
  std::int64_t padded_columns() const {
    return ceil_div(tiles_.column_block, tiles_.width()) * tiles_.width();
  }
  std::int64_t right_bytes() const {
    return whole_lines(padded_columns() * tiles_.depth_block * element_ / groups_.terms());
  }
  std::int64_t left_bytes() const {
    return whole_lines(tiles_.tile_rows * tiles_.depth_block * element_ / groups_.terms());
  }
  std::int64_t sum_bytes() const {
    const std::int64_t rows = ceil_div(tiles_.row_block, tiles_.tile_rows) * tiles_.tile_rows;
    return whole_lines(rows * padded_columns() * element_);
  }
  // Constants that are copied into panels are copied once.
  bool packs_right_once() const { return right_.constant && tiles_.pack_right; }
  bool packs_left_once() const { return left_.constant && tiles_.pack_left; }
  std::int64_t kept_right_bytes() const {
    return form_.batch * column_blocks() * depth_blocks() * right_bytes();
  }
  std::int64_t kept_bytes() const {
    const std::int64_t left =
        form_.batch * ceil_div(form_.rows, tiles_.tile_rows) * depth_blocks() * left_bytes();
    return (packs_right_once() ? kept_right_bytes() : 0) + (packs_left_once() ? left : 0);
  }

  const ContractionForm& form_;
  std::vector<ir::TensorType> inputs_;  // and that of the sum
  ir::DType output_;
  ContractionTiles tiles_;
  Schedule schedule_;
  TermGroups groups_;
  std::string type_;  // of sums
  std::string term_;  // of terms in panels
  int element_ = 4;
  Part left_, right_, epilogue_;
  std::int64_t packing_steps_ = 0;
};

}  // namespace egret::backends::codegen
