// SPDX-License-Identifier: Apache-2.0
#include "driver/select/piece_times.h"

#include "backends/joint_kernels.h"
#include "backends/layout_forms.h"
#include "backends/timing/measure.h"

namespace egret::driver {

PieceTimes::PieceTimes(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                       const backends::Backend& backend, const backends::CompileOptions& plan,
                       const KeptTimes& kept)
    : tensors_(tensors),
      view_(view),
      backend_(backend),
      plan_(plan),
      kept_(kept),
      shapes_(tensors, view) {}

bool PieceTimes::is_kernel(const extract::Piece& piece) {
  const auto [entry, is_new] = is_kernel_.emplace(shapes_.shape(piece), false);
  if (is_new) {
    const auto graph = graph_of(tensors_, view_, piece);
    if (!graph.ok()) return false;
    if (!piece.is_joint()) {
      const auto division = backend_.divide(*graph, plan_);
      entry->second = division.ok() && division->size() == 1;
    }
    // Also of one value, which the backend's own division may make by several kernels.
    const backends::JointKernels* const joint = backends::joint_kernels_of(backend_);
    if (!entry->second && joint != nullptr) entry->second = joint->stores_together(*graph, plan_);
  }
  return entry->second;
}

// Pieces of one shape and form do the same work, and so do those of one text.
base::Result<std::size_t> PieceTimes::work_of(const extract::Piece& piece,
                                              backends::OperandForm form, bool in_layouts) {
  Shape shape = shapes_.shape(piece);
  if (in_layouts) shape.insert(shape.end(), {3, piece.reads, piece.writes});
  const auto [entry, is_new] = by_shape_.try_emplace({std::move(shape), form});
  if (!is_new) return entry->second;
  const auto graph = graph_of(tensors_, view_, piece);
  std::string text = "piece " + (graph.ok() ? text_of(*graph) : "?");
  if (form != backends::OperandForm::kF32) text += " in " + std::string(backends::to_string(form));
  if (in_layouts) text += " " + to_string(layouts_of(piece));
  EGRET_ASSIGN_OR_RETURN(entry->second, work_named(text));
  return entry->second;
}

base::Result<std::size_t> PieceTimes::work_of_copy(const ir::TensorType& type,
                                                   backends::LayoutForm from,
                                                   backends::LayoutForm to) {
  return work_named("reorder of " + ir::to_string(type) + " " +
                    backends::to_string(backends::KernelLayouts{from, to}));
}

base::Result<std::size_t> PieceTimes::work_named(const std::string& text) {
  const auto [entry, is_new] = by_text_.try_emplace(text, known_.size());
  if (!is_new) return entry->second;
  Known& known = known_.emplace_back(Known{.key = text, .measured = {}});
  if (kept_.database != nullptr) {
    EGRET_ASSIGN_OR_RETURN(const auto stored, kept_.database->find(kept_.machine, known.key));
    if (stored) known.measured.push_back(stored->median_s);
  }
  return entry->second;
}

double PieceTimes::seconds(std::size_t work) const {
  std::vector<double> sorted = known_[work].measured;
  return backends::summarize(std::move(sorted)).median_s;
}

base::Result<std::int64_t> PieceTimes::learn(std::span<const std::size_t> works,
                                             const KnownPartTimes& program) {
  const bool disturbed = kept_.disturbed && kept_.disturbed();
  std::int64_t learned = 0;
  for (std::size_t k = 0; k < works.size(); ++k) {
    Known& known = known_[works[k]];
    // The database keeps the median of programs, of which a remembered one is one.
    if (program.remembered && !known.measured.empty()) continue;
    learned += known.measured.empty() ? 1 : 0;
    known.measured.push_back(program.times.parts[k]);
    if (kept_.database == nullptr) continue;
    const cost::Entry entry{
        .runs = program.times.runs, .median_s = seconds(works[k]), .disturbed = disturbed};
    EGRET_RETURN_IF_ERROR(kept_.database->store(kept_.machine, known.key, entry));
  }
  return learned;
}

}  // namespace egret::driver
