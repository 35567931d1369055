// SPDX-License-Identifier: Apache-2.0
// All distributions of a program over a mesh, as an e-graph.
//
// Its language: place[l](x), the value x of the sequential program under placement l, where x is a
// leaf that names a class of the sequential e-graph; that program's operators, on parts; and
// collectives. The class of place[l](x) holds the terms that represent x under l. They are equal as
// representations only: two terms of a partial sum may hold different parts of the same sum. This
// is sound because only laws apply operators to them, and laws describe the whole. No other
// rewriting happens here: algebra comes first, in the sequential e-graph, and every e-node found
// there is distributed.
//
// The e-graph is filled on demand from the outputs. A placed value requests the inputs that the
// laws of its e-nodes need, and the values from which one collective along one axis leads to it.
// Inputs and weights exist where they are needed, whole or in blocks: place[l] of a leaf of the
// program is free unless l has partial results. Elsewhere place[] is only a request and may not be
// chosen. An output with a free placement is an e-class of its own: keep[l](place[l](y)) for every
// l. An input that is such an output of the previous run arrives in its placement, and collectives
// lead from there. If it is read twice (the re-gather of parallel/plan/regather.h),
// same(place[l](first)) is one way to obtain the second.
//
// With rings (parallel/ring/ring.h), a law that needs an input whole can also be computed in a
// ring. A ring's children are the devices' shares.
//
// Two kinds of placements are never reached: cuts of one dimension in another order than the mesh's
// axes, and mixtures of sums and maxima.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/core/view.h"
#include "parallel/laws/implementations.h"
#include "parallel/machine/collective.h"
#include "parallel/ring/ring.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

class PlacedEGraph {
 public:
  struct Request {
    std::vector<std::optional<Placement>> outputs;  // nullopt: any without partial results
    std::set<std::string> carried{};                // inputs that come in one placement
    std::map<std::string, std::string> again{};     // re-gathered inputs, by first reading
    bool rings = false;
    std::size_t limit_nodes = 2'000'000;
  };

  // The computations of each output under its placement. The sequential e-graph is clean and
  // outlives this one. Errors: bad_input where an output cannot have its placement; limit_hit.
  static base::Result<std::unique_ptr<PlacedEGraph>> of(const rules::TensorEGraph& tensors,
                                                        const Mesh& mesh, const Request& request);

  const egraph::EGraph& egraph() const { return *egraph_; }
  std::size_t ring_count() const { return rings_; }  // rings found, before merging
  const rules::TensorEGraph& tensors() const { return tensors_; }
  const Mesh& mesh() const { return mesh_; }
  // The classes of the outputs, in their order: placed values, or of keep[].
  const std::vector<egraph::ClassId>& roots() const { return roots_; }

  // The meaning of an operator of this e-graph.
  enum class Kind : std::uint8_t { kValue, kPlace, kOperator, kCollective, kRing, kKeep, kSame };
  struct Meaning {
    Kind kind = Kind::kValue;
    egraph::OpId sequential{};  // kOperator: the operator on the whole, in tensors().language()
    ir::Attrs part_attrs{};     // kOperator
    Collective collective{};    // kCollective
    std::shared_ptr<const Ring> ring{};            // kRing
    std::shared_ptr<const RingProgram> program{};  // kRing
  };
  const Meaning& meaning(egraph::OpId op) const { return meanings_[op.index()]; }

  // The value and placement of a class, for all classes except those of kValue and kKeep.
  struct Placed {
    egraph::ClassId value;  // in tensors()
    Placement placement;
    ir::TensorType type;  // of a rank's share
  };
  const Placed& placed(egraph::ClassId id) const { return placed_.at(egraph_->find(id).index()); }
  // The leaf (input or constant) of the value; an invalid id if it is not one.
  egraph::NodeId leaf_of(egraph::ClassId value) const;

 private:
  PlacedEGraph(const rules::TensorEGraph& tensors, const Mesh& mesh, const Request& request)
      : tensors_(tensors),
        mesh_(mesh),
        request_(request),
        ways_(tensors, mesh_),
        egraph_(std::make_unique<egraph::EGraph>(ops_)) {}

  using Key = std::pair<egraph::ClassId, Placement>;

  // The class of place[placement](value), invalid where the placement does not fit. New classes are
  // filled later.
  base::Result<egraph::ClassId> want(egraph::ClassId value, const Placement& placement);
  base::Result<egraph::ClassId> want_any(egraph::ClassId value);
  bool is_carried(egraph::NodeId leaf) const;
  base::Status add_first_reading(const Key& key, egraph::ClassId id, egraph::NodeId leaf);
  base::Status fill(const Key& key, egraph::ClassId id);
  base::Status add_operator(const Key& key, egraph::ClassId id, egraph::NodeId node);
  base::Status add_way(const Key& key, egraph::ClassId id, egraph::NodeId node,
                       const Implementation& way);
  base::Status add_rings(const Key& key, egraph::ClassId id, egraph::NodeId node,
                         const Implementation& way);
  egraph::OpId operation(std::string_view base, std::size_t arity, const std::string& payload,
                         const Meaning& meaning);

  const rules::TensorEGraph& tensors_;
  const Mesh mesh_;
  const Request request_;
  Implementations ways_;
  egraph::OpTable ops_;
  std::unique_ptr<egraph::EGraph> egraph_;
  std::vector<Meaning> meanings_;  // by OpId
  std::map<std::string, std::uint64_t> payloads_;
  std::map<Key, egraph::ClassId> classes_;
  std::vector<std::pair<Key, egraph::ClassId>> pending_;
  std::unordered_map<std::uint32_t, Placed> placed_;  // by class
  std::vector<egraph::ClassId> roots_;
  std::size_t rings_ = 0;
};

}  // namespace egret::parallel
