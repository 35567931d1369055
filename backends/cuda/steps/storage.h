// SPDX-License-Identifier: Apache-2.0
// How values lie in a device's memory between two kernels.
//
// Kernels compute in f32 whatever they read. Where less precision is asked for, values of f32 may
// be kept in bf16, and those of convolutions, which tensor cores take a channel at a time, with
// their channels last. Neither needs a kernel of its own: what is stored of a value is
// encode(value), its axes moved and its elements cast, and a reader decodes it. Both are operators
// like all others, which become part of the regions that they stand beside: kernels are emitted,
// and library steps found, of the definition as a whole.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backends/codegen/regions.h"
#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

struct StorageOptions {
  bool narrow = false;         // f32 in bf16
  bool channels_last = false;  // what convolutions read and write, and what lies between them
};

// What a finite number beyond the largest of bf16 is stored as. Masks are made of f32's largest: a
// row that is masked everywhere is uniform behind a softmax, and of infinities it would be NaN.
enum class Overflow { kInfinite, kLargest };

class Storage {
 public:
  // Which values lie with channels last is read off `regions`, with `steps` among them.
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
  // Whether it lies otherwise than the graph says. Values of at most one element do not.
  bool has_stored(ir::NodeId value) const;
  ir::Tensor stored(ir::NodeId constant) const;

  // In `to`, from one form of a value to the other: operators, at the end of `nodes` too.
  ir::NodeId encode(ir::Graph& to, ir::NodeId plain, ir::NodeId value, Overflow overflow,
                    std::vector<ir::NodeId>& nodes) const;
  ir::NodeId decode(ir::Graph& to, ir::NodeId stored, ir::NodeId value,
                    std::vector<ir::NodeId>& nodes) const;
  // The values from outside that the region's nodes take.
  std::vector<ir::NodeId> taken_by(std::span<const ir::NodeId> region) const;
  // The region's nodes in `to`, after what decodes its leaves and before what encodes its root.
  // `copies`: of each of its own nodes, in order.
  std::vector<ir::NodeId> append(ir::Graph& to, std::span<const ir::NodeId> region,
                                 const Leaves& leaves, bool root_stored,
                                 Overflow overflow = Overflow::kInfinite,
                                 std::vector<ir::NodeId>* copies = nullptr) const;

  // make_step() of these nodes of the graph, over stored values where a library takes them.
  LibraryRegion step(const std::vector<ir::NodeId>& nodes, std::span<const MakeStep> makers) const;
  // The same, over values in these forms, and written as a part.
  LibraryRegion step_as(const LibraryRegion& like, std::span<const MakeStep> makers,
                        const OutputPart& part) const;
  // What the nodes compute, of stored values and as stored, where those are.
  struct StoredDefinition {
    ir::Denotation denotation;
    std::vector<ir::TensorType> types;
    std::vector<ir::NodeId> inputs;
  };
  base::Result<StoredDefinition> stored_definition(const std::vector<ir::NodeId>& nodes) const;
  // Whether a step reads a value as stored.
  bool is_read_stored(ir::NodeId value, bool reads_stored, bool writes_stored) const;

 private:
  bool is_narrow(ir::NodeId value) const;
  ir::TensorType stored_type(ir::NodeId value) const;
  // Nodes in a graph of their own, whose inputs stand for these values.
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
