// SPDX-License-Identifier: Apache-2.0
// The storage form of values in a device's memory between kernels.
//
// Kernels compute in f32 regardless of their inputs' type. At reduced precision, f32 values may be
// kept in bf16. Values of convolutions may be kept with channels last, as tensor cores read them.
// Neither needs a kernel of its own: the stored form is encode(value), with its axes moved and its
// elements cast, and a reader decodes it. Both are ordinary operators and become part of the
// neighbouring regions. Kernels are emitted, and library steps found, from the whole definition.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backends/codegen/regions.h"
#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

struct StorageOptions {
  bool narrow = false;         // f32 in bf16
  bool channels_last = false;  // operands of convolutions, and values between them
};

// The stored form of a finite number beyond bf16's largest. Masks use f32's largest number: a fully
// masked row is uniform after a softmax, but would be NaN with infinities.
enum class Overflow { kInfinite, kLargest };

class Storage {
 public:
  // Decides from `regions`, with `steps` among them, which values lie with channels last.
  Storage(const ir::Graph& graph, std::span<const codegen::Region> regions,
          std::span<const LibraryRegion> steps, const StorageOptions& options);

  // A value from outside of a region, in another graph.
  struct Leaf {
    ir::NodeId id;
    bool stored = false;
  };
  using Leaves = std::map<ir::NodeId, Leaf>;  // by node of the graph

  bool is_output(ir::NodeId value) const { return is_output_[value.index()]; }
  bool is_channels_last(ir::NodeId value) const;
  // Whether its storage form differs from the graph's. Never for values of at most one element.
  bool has_stored(ir::NodeId value) const;
  ir::Tensor stored(ir::NodeId constant) const;

  // Adds operators to `to` that convert a value between its forms, and appends them to `nodes`.
  ir::NodeId encode(ir::Graph& to, ir::NodeId plain, ir::NodeId value, Overflow overflow,
                    std::vector<ir::NodeId>& nodes) const;
  ir::NodeId decode(ir::Graph& to, ir::NodeId stored, ir::NodeId value,
                    std::vector<ir::NodeId>& nodes) const;
  // The values from outside that the region's nodes take.
  std::vector<ir::NodeId> taken_by(std::span<const ir::NodeId> region) const;
  // Copies the region's nodes to `to`, after the decoding of its leaves and before the encoding of
  // its root. `copies` receives the copy of each node, in order.
  std::vector<ir::NodeId> append(ir::Graph& to, std::span<const ir::NodeId> region,
                                 const Leaves& leaves, bool root_stored,
                                 Overflow overflow = Overflow::kInfinite,
                                 std::vector<ir::NodeId>* copies = nullptr) const;

  // make_step() of these nodes, over stored values where a library accepts them.
  LibraryRegion step(const std::vector<ir::NodeId>& nodes, std::span<const MakeStep> makers) const;
  // The same, with the forms of `like`, written as a part.
  LibraryRegion step_as(const LibraryRegion& like, std::span<const MakeStep> makers,
                        const OutputPart& part) const;
  // The definition of the nodes over stored values, with a stored result.
  struct StoredDefinition {
    ir::Denotation denotation;
    std::vector<ir::TensorType> types;
    std::vector<ir::NodeId> inputs;
  };
  base::Result<StoredDefinition> stored_definition(const std::vector<ir::NodeId>& nodes) const;
  // Whether a step reads a value in storage form.
  bool is_read_stored(ir::NodeId value, bool reads_stored, bool writes_stored) const;

 private:
  bool is_narrow(ir::NodeId value) const;
  ir::TensorType stored_type(ir::NodeId value) const;
  // The nodes as a separate graph, whose inputs stand for these values.
  struct Apart {
    ir::Graph graph;
    std::vector<ir::NodeId> nodes, values;
  };
  Apart apart(const std::vector<ir::NodeId>& nodes, bool reads_stored, bool writes_stored) const;
  LibraryRegion tried(const std::vector<ir::NodeId>& nodes, std::span<const MakeStep> makers,
                      bool reads_stored, bool writes_stored,
                      const OutputPart* part = nullptr) const;

  const ir::Graph& graph_;
  StorageOptions options_;
  std::vector<bool> channels_last_;  // by node; empty: none
  std::vector<bool> is_output_;
};

}  // namespace egret::backends::cuda
