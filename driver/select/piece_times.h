// SPDX-License-Identifier: Apache-2.0
// What is known of the kernels that pieces of one e-graph (kernel_pieces.h) may be. Pieces that do
// the same work share it, and so do several searches over the e-graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/precision.h"
#include "base/status.h"
#include "driver/measure/kept_times.h"
#include "driver/select/kernel_pieces.h"
#include "extract/kernels/pieces.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// All arguments outlive it.
class PieceTimes {
 public:
  PieceTimes(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
             const backends::Backend& backend, const backends::CompileOptions& plan,
             const KeptTimes& kept);

  // Whether the backend computes the piece by one kernel. It is asked once for equal pieces.
  bool is_kernel(const extract::Piece& piece);
  // The number of the work that a piece does with operands in this form, in its layouts or
  // (`in_layouts` false) as the backend lays out what it reads and stores. Times of it that the
  // database keeps are known from then on. Errors: the database's.
  base::Result<std::size_t> work_of(const extract::Piece& piece, backends::OperandForm form,
                                    bool in_layouts = false);
  // The same of a copy of a value of this type to another layout.
  base::Result<std::size_t> work_of_copy(const ir::TensorType& type, backends::LayoutForm from,
                                         backends::LayoutForm to);

  // A text that names the work in the database.
  const std::string& key(std::size_t work) const { return known_[work].key; }
  bool is_measured(std::size_t work) const { return !known_[work].measured.empty(); }
  // The median over the programs that ran it, of which there is one at least.
  double seconds(std::size_t work) const;
  // Adds the times in one more program, in the order of its parts, and stores the medians. Returns
  // how many works were not measured before. Errors: the database's.
  base::Result<std::int64_t> learn(std::span<const std::size_t> works,
                                   const KnownPartTimes& program);

 private:
  struct Known {
    std::string key;
    std::vector<double> measured;  // one time for each program that ran it
  };
  using Shape = std::vector<std::uint32_t>;

  base::Result<std::size_t> work_named(const std::string& text);

  const rules::TensorEGraph& tensors_;
  const egraph::EGraphView& view_;
  const backends::Backend& backend_;
  const backends::CompileOptions& plan_;
  const KeptTimes& kept_;
  const PieceShapes shapes_;
  std::map<Shape, bool> is_kernel_;
  std::map<std::pair<Shape, backends::OperandForm>, std::size_t> by_shape_;
  std::map<std::string, std::size_t> by_text_;
  std::vector<Known> known_;
};

}  // namespace egret::driver
