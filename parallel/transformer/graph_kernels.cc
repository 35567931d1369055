// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/graph_kernels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "ir/nest/term_graph.h"

namespace egret::parallel {
namespace {

using ir::ExprOp;
using ir::NodeId;
using ir::NodeKind;
using ir::TermGraph;
using ir::TermId;

// What an operator is by its definition.
struct Meaning {
  std::optional<GraphKernel> product;
  bool is_layout = false;     // each element is another one of the input's
  bool is_selection = false;  // each element is one of the first input's, wherever that is found
};

TermId without_casts(const TermGraph& terms, TermId id) {
  while (terms[id].op == ExprOp::kCast) id = terms[id].kids[0];
  return id;
}

void collect_variables(const TermGraph& terms, TermId id, std::set<std::int64_t>& variables) {
  if (terms[id].op == ExprOp::kVar) variables.insert(terms[id].integer);
  for (const TermId kid : terms[id].kids) collect_variables(terms, kid, variables);
}

// A sum of products of two reads. With one row or one column, each element of the other factor is
// used once: the memory limits it, and it is a kernel like others.
std::optional<GraphKernel> product_of(const TermGraph& terms, const ir::Shape& shape) {
  std::vector<std::pair<std::int64_t, double>> outputs, summed;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    outputs.emplace_back(terms.vars[axis], static_cast<double>(shape[axis]));
  TermId at = without_casts(terms, terms.root);
  while (terms[at].op == ExprOp::kReduce && terms[at].reduction == ir::Reduction::kSum) {
    const TermId extent = terms[at].kids[1];
    if (terms[extent].op != ExprOp::kIndexConst) return std::nullopt;
    summed.emplace_back(terms[terms[at].kids[0]].integer,
                        static_cast<double>(terms[extent].integer));
    at = without_casts(terms, terms[at].kids[3]);
  }
  if (summed.empty() || terms[at].op != ExprOp::kMul) return std::nullopt;
  std::set<std::int64_t> of[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const TermId read = without_casts(terms, terms[at].kids[side]);
    if (terms[read].op != ExprOp::kRead) return std::nullopt;
    collect_variables(terms, read, of[side]);
  }
  GraphKernel product;
  product.batch = product.m = product.n = product.k = 1;
  for (const auto& [variable, extent] : outputs) {
    const bool left = of[0].contains(variable), right = of[1].contains(variable);
    (left && right ? product.batch : left ? product.m : product.n) *= extent;
  }
  for (const auto& [variable, extent] : summed) product.k *= extent;
  if (product.m == 1 || product.n == 1) return std::nullopt;
  return product;
}

base::Result<Meaning> meaning_of(const ir::Graph& graph, const ir::Node& node) {
  Meaning meaning;
  if (node.op->is_composite()) return meaning;
  std::vector<ir::TensorType> types;
  std::vector<ir::DType> dtypes;
  for (const NodeId input : node.inputs) {
    types.push_back(graph.node(input).type);
    dtypes.push_back(types.back().dtype);
  }
  EGRET_ASSIGN_OR_RETURN(const ir::Denotation denotation,
                         ir::denote_concrete(*node.op, node.attrs, types));
  EGRET_ASSIGN_OR_RETURN(const TermGraph terms, ir::term_graph(denotation, dtypes));
  meaning.product = product_of(terms, denotation.type.shape());
  meaning.is_selection = terms[terms.root].op == ExprOp::kRead && !types.empty();
  // Parts of a value, as slices are, too.
  meaning.is_layout = meaning.is_selection && types.size() == 1 &&
                      denotation.type.elements() <= types.front().elements();
  return meaning;
}

class KernelFinder {
 public:
  KernelFinder(const ir::Graph& graph, std::size_t forward_nodes,
               std::span<const std::string> parameters)
      : graph_(graph),
        forward_(forward_nodes),
        parameters_(parameters.begin(), parameters.end()),
        meanings_(graph.size()),
        stored_(graph.size(), false),
        group_(graph.size()),
        name_behind_(graph.size()) {}

  base::Result<GraphKernels> run() {
    EGRET_RETURN_IF_ERROR(find_stored());
    group();
    GraphKernels result;
    for (const NodeId id : live_) {
      if (!is_operator(id)) continue;
      const bool is_new = meanings_[id.index()].product || root(id.index()) == id.index();
      if (!is_new) continue;
      if (auto kernel = kernel_of(id.index()))
        (id.index() < forward_ ? result.forward : result.backward).push_back(*std::move(kernel));
    }
    for (const std::size_t i : kept_) result.kept_bytes += bytes(i);
    return result;
  }

 private:
  const ir::Node& node(std::size_t i) const { return graph_.nodes()[i]; }
  bool is_operator(NodeId id) const { return graph_.node(id).kind == NodeKind::kOperator; }
  double bytes(std::size_t i) const { return static_cast<double>(node(i).type.bytes()); }
  bool is_free_layout(std::size_t i) const {
    return node(i).kind == NodeKind::kOperator && meanings_[i].is_layout && !stored_[i];
  }
  // The value whose elements a chain of free layouts has.
  std::size_t source(std::size_t i) const {
    while (is_free_layout(i)) i = node(i).inputs.front().index();
    return i;
  }
  std::size_t root(std::size_t i) const {
    while (group_[i] != i) i = group_[i];
    return i;
  }

  base::Status find_stored() {
    live_ = ir::live_nodes(graph_);
    for (const NodeId id : live_) {
      const std::size_t i = id.index();
      if (!is_operator(id)) {
        stored_[i] = true;
        continue;
      }
      EGRET_ASSIGN_OR_RETURN(meanings_[i], meaning_of(graph_, node(i)));
      stored_[i] = meanings_[i].product || !node(i).name.empty();
    }
    for (const auto& output : graph_.outputs()) stored_[output.node.index()] = true;
    EGRET_RETURN_IF_ERROR(find_names_behind());
    for (const NodeId id : live_) {
      if (!meanings_[id.index()].product) continue;
      for (const NodeId input : graph_.node(id).inputs) stored_[source(input.index())] = true;
    }
    return base::ok();
  }

  // A gradient may be read in another layout than the one that has its name.
  base::Status find_names_behind() {
    std::vector<bool> is_live(graph_.size(), false);
    for (const NodeId id : live_) is_live[id.index()] = true;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (is_live[i] || node(i).name.empty()) continue;
      std::size_t at = i;
      while ((at == i || node(at).name.empty()) && node(at).kind == NodeKind::kOperator) {
        EGRET_ASSIGN_OR_RETURN(const Meaning meaning, meaning_of(graph_, node(at)));
        if (!meaning.is_layout) break;
        at = node(at).inputs.front().index();
      }
      if (is_live[at] && node(at).name.empty()) name_behind_[at] = node(i).name;
    }
    return base::ok();
  }

  // Operators of one pass, other than products, with unnamed values between them. The last one of a
  // group stands for it.
  void group() {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (const NodeId id : live_) {
      const std::size_t i = id.index();
      if (!is_operator(id) || meanings_[i].product) continue;
      for (const NodeId input : node(i).inputs) {
        const std::size_t from = input.index();
        if (is_operator(input) && !stored_[from] && (from < forward_) == (i < forward_))
          join(from, i);
      }
    }
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    group_[std::min(a, b)] = std::max(a, b);
  }

  // What a kernel reads: bytes by stored value, and the other values on the way.
  struct Reads {
    std::map<std::size_t, double> bytes;
    std::set<std::size_t> seen;
  };

  // Stored values behind VALUE, of which at most so many elements are read. Scalars cost nothing.
  void read(std::size_t value, double most, Reads& reads) const {
    if (!stored_[value]) {
      if (reads.seen.insert(value).second) read_inputs(value, reads);
      return;
    }
    if (node(value).kind == NodeKind::kConstant && node(value).type.rank() == 0) return;
    double& sum = reads.bytes[value];
    const auto elements = static_cast<double>(node(value).type.elements());
    sum = elements > 0 ? std::min(bytes(value), sum + most * bytes(value) / elements) : 0;
  }
  void read_inputs(std::size_t at, Reads& reads) const {
    for (std::size_t k = 0; k < node(at).inputs.size(); ++k) read_input(at, k, reads);
  }
  // A gather reads as many elements as it makes.
  void read_input(std::size_t at, std::size_t k, Reads& reads) const {
    const bool selects = k == 0 && meanings_[at].is_selection;
    const double most = selects ? static_cast<double>(node(at).type.elements())
                                : std::numeric_limits<double>::infinity();
    read(node(at).inputs[k].index(), most, reads);
  }

  void finish(GraphKernel& kernel, std::size_t at, const Reads& reads) {
    for (const auto& [i, bytes] : reads.bytes) {
      const bool is_parameter =
          node(i).kind == NodeKind::kInput && parameters_.contains(node(i).name);
      kernel.reads_parameters = kernel.reads_parameters || is_parameter;
      if (at >= forward_ && i < forward_ && !is_parameter && node(i).kind != NodeKind::kConstant)
        kept_.insert(i);
    }
  }

  void add_name(GraphKernel& kernel, std::size_t i) const {
    const std::string& name = node(i).name.empty() ? name_behind_[i] : node(i).name;
    if (!name.empty()) kernel.makes.push_back(name);
  }

  // nullopt for changes of layout that cost nothing. Names behind them are the product's.
  std::optional<GraphKernel> kernel_of(std::size_t at) {
    Reads reads;
    if (meanings_[at].product) {
      GraphKernel kernel = *meanings_[at].product;
      read_inputs(at, reads);
      finish(kernel, at, reads);
      add_name(kernel, at);
      for (const NodeId id : live_) {
        if (id.index() > at && is_operator(id) && writes_layout_of(id.index(), at))
          add_name(kernel, id.index());
      }
      return kernel;
    }
    GraphKernel kernel;
    bool only_layout = true;
    for (const NodeId id : live_) {
      const std::size_t i = id.index();
      if (!is_operator(id) || meanings_[i].product || root(i) != at) continue;
      only_layout = only_layout && meanings_[i].is_layout;
      for (std::size_t k = 0; k < node(i).inputs.size(); ++k) {
        const std::size_t input = node(i).inputs[k].index();
        if (root(input) != at || stored_[input]) read_input(i, k, reads);
      }
      if (!stored_[i]) continue;
      kernel.bytes += bytes(i);
      add_name(kernel, i);
    }
    const auto is_unnamed_product = [&](const auto& read) {
      return meanings_[read.first].product && node(read.first).name.empty();
    };
    if (only_layout && (kernel.bytes == 0 || std::ranges::all_of(reads.bytes, is_unnamed_product)))
      return std::nullopt;
    for (const auto& [i, bytes] : reads.bytes) kernel.bytes += bytes;
    finish(kernel, at, reads);
    return kernel;
  }

  bool writes_layout_of(std::size_t i, std::size_t product) const {
    if (!node(product).name.empty()) return false;
    while (i != product && node(i).kind == NodeKind::kOperator && meanings_[i].is_layout)
      i = node(i).inputs.front().index();
    return i == product;
  }

  const ir::Graph& graph_;
  const std::size_t forward_;
  const std::set<std::string> parameters_;
  std::vector<NodeId> live_;
  std::vector<Meaning> meanings_;         // by node
  std::vector<bool> stored_;              // by node
  std::vector<std::size_t> group_;        // by node: another of its group, or itself
  std::vector<std::string> name_behind_;  // by node: of a layout of it that nothing reads
  std::set<std::size_t> kept_;
};

}  // namespace

base::Result<GraphKernels> graph_kernels(const ir::Graph& graph, std::size_t forward_nodes,
                                         std::span<const std::string> parameters) {
  return KernelFinder(graph, forward_nodes, parameters).run();
}

}  // namespace egret::parallel
