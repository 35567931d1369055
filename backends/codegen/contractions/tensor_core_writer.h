// SPDX-License-Identifier: Apache-2.0
// The text of a contraction on the tensor cores of a GPU.
//
// A block of threads computes one tile of sums. Stages of both factors pass through a ring of
// buffers in shared memory while earlier ones are multiplied. A factor that is a plain read of
// contiguous chunks of 16 bytes is copied asynchronously (cp.async). Any other factor, with its
// layout, guards and prologue, is computed by the definition's own expressions (writer.h) into
// registers before the products of a stage, and stored behind them. Fragments are loaded by
// ldmatrix, which also transposes 16-bit factors, and multiplied by mma.sync. The epilogue is
// computed from the sums of each warp, which pass through shared memory so that neighbouring
// threads store neighbouring columns.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/contractions/contraction_form.h"
#include "backends/codegen/contractions/contraction_text.h"
#include "backends/codegen/contractions/tensor_core_tiles.h"
#include "backends/codegen/text/writer.h"

namespace egret::backends::codegen {

// The functions that the text calls; behind the prelude.
const std::string& tensor_core_prelude();

class TensorCoreWriter {
 public:
  // `fragments`: not kNone.
  TensorCoreWriter(const ContractionForm& form, std::span<const ir::TensorType> inputs,
                   ir::DType output, Fragments fragments);

  // Whether sizes and offsets fit the text's indices of 32 bits, and a guarded sum can be computed
  // again without what its guards exclude.
  bool is_possible() const;

  struct Text {
    std::string body;
    std::int64_t blocks = 1;
    double operations = 0;  // as Writer counts them
  };
  Text text(const TensorCoreTiles& tiles);

 private:
  using Loop = Writer::GivenLoop;
  struct Part {
    const ContractionForm::Part* form = nullptr;
    const std::vector<int>* own = nullptr;  // rows or columns
    std::unique_ptr<Packing> packing{};
    std::unique_ptr<Writer> writer{};
    char prefix = 0;
    std::int64_t count = 1;  // of rows or columns
    int read = -1;           // the read that chunks are copied from
    bool copied = false;     // in chunks
    // In shared memory terms of one row or column are neighbours; else rows or columns of one term.
    bool along_depth = true;
  };

  Part part(const ContractionForm::Part& form, const std::vector<int>* own, std::int64_t count,
            char prefix) const;
  void set_layout(Part& part) const;
  bool is_copied_along(const Part& part, int symbol, const ir::NestNode& read) const;

  int chunk() const { return 16 / bytes_; }           // terms
  int deep() const { return kStageBytes / bytes_; }   // terms of a stage
  int stride(const Part& part, int size) const;       // bytes, in shared memory
  int stage_bytes(const Part& part, int size) const;  // of one factor
  std::string inside(const Part& part) const;         // the condition of all bounds
  std::vector<Loop> digits(const Part& part, double times) const;
  std::string copy(const Part& part, int size, const std::string& at) const;
  std::string load(Part& part, int size);
  std::string put(const Part& part, int size, const std::string& at) const;
  std::string fragments(const Part& part, int size, int warp_size) const;
  std::string multiply() const;
  std::string sum_again();
  std::string epilogue();

  const ContractionForm& form_;
  std::vector<ir::TensorType> inputs_;  // and that of the sum
  ir::DType output_;
  Fragments fragments_;
  int bytes_;  // of a term
  TensorCoreTiles tiles_;
  Schedule schedule_;
  Part left_, right_, epilogue_;
};

}  // namespace egret::backends::codegen
