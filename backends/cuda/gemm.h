// SPDX-License-Identifier: Apache-2.0
// Matrix products that cuBLASLt computes, found by what a definition says and not by its name: sums
// of products of two inputs whose indices are strides that a matrix can have. So transposes and
// slices that feed a product, products of any rank, and convolutions by one pixel are found too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/device.h"
#include "ir/definition.h"
#include "ir/graph.h"

namespace egret::backends::cuda {

// C = op(A) op(B) for each of `batch`, column-major: C is m by n, op(A) m by k, op(B) k by n.
struct Gemm {
  struct Operand {
    int input = -1;  // of the definition
    bool transposed = false;
    std::int64_t rows = 0, columns = 0;  // as stored
    std::int64_t leading = 0;
    std::int64_t offset = 0;        // of the first element
    std::int64_t batch_stride = 0;  // all in elements
  };

  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Operand a, b;
  std::int64_t leading = 0, batch_stride = 0;  // of C
  ir::DType type = ir::DType::kF32;            // of all three
};

std::optional<Gemm> find_gemm(const ir::Denotation& denotation,
                              std::span<const ir::TensorType> inputs);

// Nodes that one product computes: the last one's value, from the inputs.
struct GemmRegion {
  std::vector<ir::NodeId> nodes, inputs;
  Gemm gemm;
};
// All products of the graph, each with the moves that feed it alone.
std::vector<GemmRegion> find_gemms(const ir::Graph& graph);

// A product that is ready to run: descriptors made and an algorithm chosen.
class GemmStep {
 public:
  // `workspace` bytes are there at every run. Errors: unsupported where cuBLASLt has no algorithm.
  static base::Result<std::unique_ptr<GemmStep>> make(const LtFunctions& lt, LtHandle handle,
                                                      const Gemm& gemm, bool tf32,
                                                      std::size_t workspace);
  ~GemmStep();
  GemmStep(const GemmStep&) = delete;
  GemmStep& operator=(const GemmStep&) = delete;

  base::Status enqueue(DevicePointer a, DevicePointer b, DevicePointer c, DevicePointer workspace,
                       Stream stream) const;

 private:
  GemmStep(const LtFunctions& lt, LtHandle handle, const Gemm& gemm)
      : lt_(lt), handle_(handle), gemm_(gemm) {}
  base::Status describe(bool tf32);
  base::Result<LtLayout> layout(std::int64_t rows, std::int64_t columns, std::int64_t leading,
                                std::int64_t batch_stride) const;
  base::Status choose(std::size_t workspace);

  const LtFunctions& lt_;
  LtHandle handle_;
  Gemm gemm_;
  LtMatmul matmul_ = nullptr;
  LtLayout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  LtHeuristic chosen_{};
};

// A product of a graph and what runs it.
struct Product {
  GemmRegion region;
  std::unique_ptr<GemmStep> step;
};
// Those products of the graph for which cuBLASLt has an algorithm.
std::vector<Product> find_products(const ir::Graph& graph, const LtFunctions& lt, LtHandle handle,
                                   std::size_t workspace);

}  // namespace egret::backends::cuda
