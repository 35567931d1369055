// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/low_precision.h"
#include "extract/extractors/budget.h"

namespace egret::driver {
namespace {

using backends::OperandForm;
using extract::ClassIndex;
using extract::NodeIndex;
using extract::Piece;

constexpr std::array kLowered = {OperandForm::kBF16, OperandForm::kI8};

struct Forms {
  ErrorBudget::Key contraction;
  std::vector<OperandForm> possible;
};

// On the time in f32, by the units of processors that multiply such operands.
double least_factor(OperandForm form) {
  switch (form) {
    case OperandForm::kF32: return 1;
    case OperandForm::kBF16: return 0.5;
    case OperandForm::kI8: break;
  }
  return 0.25;
}

// Of a piece of one contraction.
std::optional<Forms> forms_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                              const backends::Backend& backend, const Piece& piece) {
  const auto graph = graph_of(tensors, view, piece);
  if (!graph.ok()) return std::nullopt;
  std::optional<Forms> forms;
  std::size_t operators = 0;
  for (std::size_t i = 0; i < graph->size(); ++i) {
    const ir::NodeId id(i);
    const ir::Node& node = graph->node(id);
    if (node.kind != ir::NodeKind::kOperator) continue;
    const std::size_t place = operators++;
    if (!backends::is_contraction(*graph, id)) continue;
    if (forms) return std::nullopt;
    const NodeIndex contraction = piece.nodes[place];
    forms = Forms{{view.node_class[contraction], view.children_of(contraction)[0]}, {}};
    const bool has_weights = graph->node(node.inputs[1]).kind == ir::NodeKind::kConstant;
    for (const OperandForm form : kLowered) {
      if (backend.takes_form(*graph, id, form) && (has_weights || form != OperandForm::kI8))
        forms->possible.push_back(form);
    }
  }
  return forms;
}

// The nodes of each class of a choice that computes the same in other forms, the chosen one too.
std::vector<NodeIndex> same_kernels(const extract::KernelGraph& kernels, const PieceForms& forms,
                                    NodeIndex chosen) {
  std::vector<NodeIndex> same;
  if (!kernels.is_piece(chosen)) return same;
  const std::uint32_t piece = kernels.piece[chosen];
  const ClassIndex c = kernels.graph.node_class[chosen];
  for (NodeIndex node = kernels.graph.class_begin[c]; node < kernels.graph.class_begin[c + 1];
       ++node) {
    if (kernels.is_piece(node) && forms.in_f32[kernels.piece[node]] == forms.in_f32[piece])
      same.push_back(node);
  }
  return same;
}

double square_of(const extract::KernelGraph& kernels, const PieceForms& forms,
                 const ErrorBudget& budget, NodeIndex node) {
  if (!kernels.is_piece(node)) return 0;
  const std::uint32_t piece = kernels.piece[node];
  if (forms.form[piece] == OperandForm::kF32) return 0;
  return budget.square(forms.contraction[piece], forms.form[piece]);
}

// The limit of the sum of squared errors; 1 is all of it.
extract::SideRow error_row(const extract::KernelGraph& kernels, const PieceForms& forms,
                           const ErrorBudget& budget) {
  extract::SideRow row;
  row.most = 1;
  const double all = budget.limit() * budget.limit();
  for (NodeIndex node = 0; node < kernels.piece.size(); ++node) {
    const double square = square_of(kernels, forms, budget, node);
    if (square > 0 && std::isfinite(square)) row.add(node, square / all);
  }
  return row;
}

void exclude(std::span<double> costs, const std::function<bool(NodeIndex)>& is_excluded) {
  for (NodeIndex node = 0; node < costs.size(); ++node) {
    if (is_excluded(node)) costs[node] = std::numeric_limits<double>::infinity();
  }
}

}  // namespace

PieceForms plain_forms(const extract::Pieces& pieces) {
  const std::size_t count = pieces.all.size();
  PieceForms forms{.form = std::vector<OperandForm>(count, OperandForm::kF32),
                   .in_f32 = std::vector<std::size_t>(count),
                   .contraction = std::vector<ErrorBudget::Key>(count, kNoContraction)};
  std::iota(forms.in_f32.begin(), forms.in_f32.end(), std::size_t{0});
  return forms;
}

PieceForms add_forms(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                     const backends::Backend& backend, extract::Pieces& pieces) {
  PieceForms forms = plain_forms(pieces);
  for (ClassIndex c = 0; c < pieces.of_class.size(); ++c) {
    const std::vector<std::uint32_t> in_f32 = pieces.of_class[c];
    for (const std::uint32_t number : in_f32) {
      const auto of = forms_of(tensors, view, backend, pieces.all[number]);
      if (!of) continue;
      forms.contraction[number] = of->contraction;
      for (const OperandForm form : of->possible) {
        pieces.add(c, Piece(pieces.all[number]));
        forms.form.push_back(form);
        forms.in_f32.push_back(number);
        forms.contraction.push_back(of->contraction);
      }
    }
  }
  return forms;
}

void price_forms(const PieceForms& forms, const std::vector<bool>& measured,
                 std::span<double> prices) {
  std::map<std::pair<ErrorBudget::Key, OperandForm>, double> of_contraction;
  std::array<std::vector<double>, backends::kOperandForms> of_form;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const std::size_t plain = forms.in_f32[i];
    if (plain == i || !measured[i] || !measured[plain] || !(prices[plain] > 0)) continue;
    const double factor = prices[i] / prices[plain];
    const auto [entry, is_new] =
        of_contraction.try_emplace({forms.contraction[i], forms.form[i]}, factor);
    entry->second = std::min(entry->second, factor);
    of_form[static_cast<std::size_t>(forms.form[i])].push_back(factor);
  }
  for (std::vector<double>& factors : of_form) std::ranges::sort(factors);
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (forms.in_f32[i] == i || measured[i]) continue;
    const std::vector<double>& factors = of_form[static_cast<std::size_t>(forms.form[i])];
    const auto own = of_contraction.find({forms.contraction[i], forms.form[i]});
    const double factor = own != of_contraction.end() ? own->second
                          : factors.empty()           ? least_factor(forms.form[i])
                                                      : factors[factors.size() / 4];
    prices[i] = factor * prices[forms.in_f32[i]];
  }
}

std::vector<ErrorBudget::Contraction> contractions_of(const DividedGraph& program,
                                                      const PieceForms& forms) {
  std::vector<ErrorBudget::Contraction> contractions;
  for (std::size_t k = 0; k < program.pieces.size(); ++k) {
    const ErrorBudget::Key key = forms.contraction[program.pieces[k]];
    if (key == kNoContraction) continue;
    for (const ir::NodeId id : program.division[k]) {
      if (backends::is_contraction(program.graph, id)) contractions.emplace_back(key, id);
    }
  }
  return contractions;
}

DividedGraph in_forms(const DividedGraph& program, const PieceForms& forms,
                      const ErrorBudget& budget, FormsChosen& chosen) {
  std::map<ir::NodeId, backends::Lowering> lowerings;
  double square = 0;
  for (std::size_t k = 0; k < program.pieces.size(); ++k) {
    const std::uint32_t piece = program.pieces[k];
    if (forms.contraction[piece] == kNoContraction) continue;
    const FormErrors* const errors = budget.find(forms.contraction[piece]);
    for (const ir::NodeId id : program.division[k]) {
      if (!backends::is_contraction(program.graph, id)) continue;
      OperandForm form = forms.form[piece];
      if (form != OperandForm::kF32 && (errors == nullptr || !(*errors)[form].possible))
        form = OperandForm::kF32;
      ++chosen.kernels[static_cast<std::size_t>(form)];
      if (form == OperandForm::kF32) continue;
      backends::Lowering& lowering = lowerings[id] = (*errors)[form].lowering;
      square += budget.square(forms.contraction[piece], form);
      // Equal values may be computed with other weights.
      if (form == OperandForm::kI8)
        lowering.weight_scales = backends::weight_scales(program.graph, id);
    }
  }
  chosen.estimated = std::sqrt(square);
  if (lowerings.empty()) return program;
  backends::WithRoundings rounded =
      backends::with_roundings(program.graph, program.division, lowerings);
  DividedGraph result{.division = std::move(rounded.division), .pieces = program.pieces};
  for (const ir::NodeId origin : rounded.origin)
    result.origins.push_back(origin.valid() ? program.origins[origin.index()] : egraph::NodeId());
  result.graph = std::move(rounded.graph);
  return result;
}

base::Result<TriedForms> try_forms(DividedGraph& program, const PieceForms& forms,
                                   ErrorBudget& budget, const backends::Backend& backend,
                                   const backends::CompileOptions& plan, FormsChosen& chosen) {
  TriedForms tried;
  EGRET_ASSIGN_OR_RETURN(tried.learned,
                         budget.learn(program.graph, contractions_of(program, forms)));
  program = in_forms(program, forms, budget, chosen);
  if (!chosen.lowers()) return tried;
  backends::CompileOptions divided = plan;
  divided.division = program.division;
  EGRET_ASSIGN_OR_RETURN(const auto compiled, backend.compile(program.graph, divided));
  EGRET_ASSIGN_OR_RETURN(chosen.measured, budget.measure(*compiled));
  tried.corrected = budget.correct(chosen.estimated, chosen.measured.largest());
  tried.beyond = !budget.allows(chosen.measured);
  return tried;
}

void exclude_impossible(const extract::KernelGraph& kernels, const PieceForms& forms,
                        const ErrorBudget& budget, std::span<double> costs) {
  exclude(costs,
          [&](NodeIndex node) { return std::isinf(square_of(kernels, forms, budget, node)); });
}

void exclude_lowered(const extract::KernelGraph& kernels, const PieceForms& forms,
                     std::span<double> costs) {
  exclude(costs, [&](NodeIndex node) {
    return kernels.is_piece(node) && forms.form[kernels.piece[node]] != OperandForm::kF32;
  });
}

void exclude_unknown(const extract::KernelGraph& kernels, const PieceForms& forms,
                     const ErrorBudget& budget, const std::vector<bool>& measured,
                     std::span<double> costs) {
  exclude(costs, [&](NodeIndex node) {
    if (!kernels.is_piece(node)) return false;
    const std::uint32_t piece = kernels.piece[node];
    const bool has_error = forms.form[piece] != OperandForm::kF32;
    return !measured[piece] || (has_error && budget.find(forms.contraction[piece]) == nullptr);
  });
}

std::vector<NodeIndex> in_form_everywhere(const extract::KernelGraph& kernels,
                                          const PieceForms& forms,
                                          std::span<const NodeIndex> choice, OperandForm form,
                                          const ErrorBudget& budget) {
  std::vector<NodeIndex> result(choice.begin(), choice.end());
  for (NodeIndex& chosen : result) {
    if (chosen == extract::kNoNode) continue;
    for (const NodeIndex node : same_kernels(kernels, forms, chosen)) {
      if (forms.form[kernels.piece[node]] == form &&
          std::isfinite(square_of(kernels, forms, budget, node))) {
        chosen = node;
        break;
      }
    }
  }
  return result;
}

std::vector<NodeIndex> in_forms_by_layers(const extract::KernelGraph& kernels,
                                          const PieceForms& forms,
                                          std::span<const NodeIndex> choice,
                                          std::span<const double> costs,
                                          const ErrorBudget& budget) {
  std::vector<NodeIndex> result(choice.begin(), choice.end());
  struct Layer {
    std::size_t at;
    std::vector<NodeIndex> nodes;  // in all forms
    double least;                  // the least square of a lowered form
  };
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == extract::kNoNode) continue;
    Layer layer{i, same_kernels(kernels, forms, result[i]),
                std::numeric_limits<double>::infinity()};
    for (const NodeIndex node : layer.nodes) {
      if (forms.form[kernels.piece[node]] != OperandForm::kF32)
        layer.least = std::min(layer.least, square_of(kernels, forms, budget, node));
    }
    if (std::isfinite(layer.least)) layers.push_back(std::move(layer));
  }
  std::ranges::stable_sort(layers, {}, &Layer::least);
  double left = budget.limit() * budget.limit();
  for (const Layer& layer : layers) {
    NodeIndex& chosen = result[layer.at];
    for (const NodeIndex node : layer.nodes) {
      if (square_of(kernels, forms, budget, node) <= left && costs[node] < costs[chosen])
        chosen = node;
    }
    left -= square_of(kernels, forms, budget, chosen);
  }
  return result;
}

base::Result<extract::Solution> extract_in_forms(
    const extract::Problem& problem, const extract::KernelGraph& kernels, const PieceForms& forms,
    std::span<const NodeIndex> plain, const ErrorBudget& budget,
    const extract::ExtractorRow& extractor, const extract::Options& options) {
  std::vector<NodeIndex> choice;
  switch (budget.forms_from()) {
    case FormsFrom::kExtraction:
      return extract::extract_within_budget(problem, error_row(kernels, forms, budget), extractor,
                                            options);
    case FormsFrom::kLayers:
      choice = in_forms_by_layers(kernels, forms, plain, problem.costs, budget);
      break;
    case FormsFrom::kBF16:
      choice = in_form_everywhere(kernels, forms, plain, OperandForm::kBF16, budget);
      break;
    case FormsFrom::kI8:
      choice = in_form_everywhere(kernels, forms, plain, OperandForm::kI8, budget);
      break;
  }
  extract::Solution solution = extract::solution_of(problem, std::move(choice));
  solution.bound = 0;
  return solution;
}

}  // namespace egret::driver
