// SPDX-License-Identifier: Apache-2.0
// The text of a contraction whose columns slide over the right factor (window_form.h), for the
// host.
//
// A step computes a band of lines for one value of the batch (or, with channels last, for a vector
// of them). It copies the positions that the band reads, with zeros where a guard excludes them,
// and the left factor's terms. The micro-kernel keeps some lines of a few vectors of sums in
// registers. A vector that it loads serves all of these lines that read it. Then the epilogue
// computes and stores the elements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/contraction_tiles.h"
#include "backends/codegen/contractions/window_form.h"
#include "backends/codegen/contractions/window_kernel.h"
#include "backends/codegen/contractions/window_tiles.h"
#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

class WindowWriter {
 public:
  WindowWriter(const ContractionForm& form, const WindowForm& window,
               std::span<const ir::TensorType> inputs, ir::DType output);

  int element() const { return element_; }
  // Whether the micro-kernel can read the right factor where it lies.
  bool has_plain_lines() const;
  ContractionText text(const WindowTiles& tiles);

 private:
  using Loop = Writer::GivenLoop;
  using Names = std::map<int, std::string>;  // texts of symbols
  struct Part {
    const ContractionForm::Part* form = nullptr;
    std::unique_ptr<Packing> packing{};
    std::unique_ptr<Writer> writer{};
  };
  // The elements i of a line or of a phase of it that no guard excludes: first <= i < last. Lines
  // behind `conditions` that do not hold have none.
  struct Run {
    std::int64_t first = 0, last = 0;
    std::vector<std::string> conditions{}, statements{};
    bool is_constant() const { return statements.empty(); }
  };

  struct Block {
    std::string outer, inner;  // headers of loops over b and i; the element is b + i
    std::int64_t elements = 0;
  };

  Part part(const ContractionForm::Part& form);
  std::vector<Block> blocks(std::int64_t first, std::int64_t last) const;
  bool in_batch() const { return window_.lanes_in_batch; }

  Loop batch_scope(const Part& part, const std::string& prefix, double times) const;
  Run run(const Names& names, std::int64_t phase) const;
  std::string for_each_line(const std::function<std::string(const Loop& around)>& line_text) const;
  std::string copy_lines();
  std::string line_addresses();
  std::string pack_phase(const Loop& around, std::int64_t phase);
  std::string pack_weights();
  std::string epilogue();

  const ContractionForm& form_;
  const WindowForm& window_;
  std::vector<ir::TensorType> inputs_;  // and that of the sum
  ir::DType output_;
  WindowTiles tiles_;
  WindowLayout layout_;
  LineBounds bounds_;  // of lines in place
  Schedule schedule_;
  std::string type_;  // of terms and sums
  int element_ = 4;
  std::int64_t widest_ = 16;  // elements that are copied at a time
  Part left_, right_, epilogue_;
};

}  // namespace egret::backends::codegen
