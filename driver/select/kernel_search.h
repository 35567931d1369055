// SPDX-License-Identifier: Apache-2.0
// One search through the e-graph of kernels: which kernels there may be, what they cost, and rounds
// of extraction and measuring. What is chosen besides, such as the precision of kernels, is added
// by classes that derive from it (precision_search.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "base/timer.h"
#include "cost/database.h"
#include "driver/select/kernel_choice.h"
#include "driver/select/kernel_forms.h"
#include "driver/select/kernel_pieces.h"
#include "driver/select/piece_times.h"
#include "extract/core/extractor.h"
#include "extract/kernels/kernel_graph.h"
#include "extract/kernels/pieces.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// What the searches over one e-graph share. Their time counts from its beginning.
struct SearchedEGraph {
  const rules::TensorEGraph& tensors;
  const egraph::EGraphView& view;
  const std::vector<bool> leaves;
  const std::vector<double> costs;  // of the view's nodes, without factors
  PieceTimes times;
  rules::FoldedValues folded{};
  const base::Stopwatch watch{};
};

// The answer of another search: a piece for each kernel, and the kernel (its place among them) that
// makes each value.
struct KernelStart {
  KernelChoice choice;
  std::vector<extract::Piece> pieces{};
  std::vector<extract::KernelGraph::Maker> makers{};
};

class KernelSearch {
 public:
  // `until_s`: the end of its time. `factors` on the costs of nodes; empty: none. All else outlives
  // it.
  KernelSearch(SearchedEGraph& egraph, const KernelChoiceOptions& options, double until_s,
               std::vector<double> factors, base::ProgressSink* sink);
  virtual ~KernelSearch() = default;
  KernelSearch(const KernelSearch&) = delete;
  KernelSearch& operator=(const KernelSearch&) = delete;

  // The answer is as fast as the fastest start, or faster. A given program that is the program of a
  // start is not run again; `started`: its place, by start, or none where starts are no given
  // programs. Programs at places beyond those of the starts are left out.
  base::Result<KernelChoice> run(std::span<const GivenProgram> given,
                                 std::vector<KernelStart> starts = {},
                                 std::span<const std::size_t> started = {});
  // After run().
  KernelStart answer() const;

 protected:
  // Adds candidates to pieces_ and says in which form each is.
  virtual PieceForms add_forms() { return plain_forms(pieces_); }
  // Whether kernels that store several values are candidates.
  virtual bool joins_kernels() const { return true; }
  // By class: whether its values are there in several layouts; empty: the backend decides on them.
  virtual std::vector<bool> formed_classes() const { return {}; }
  // Whether a piece is in the layouts that it says; false: they are the backend's own.
  virtual bool is_laid_out(const extract::Piece& /*piece*/) const { return false; }
  // Whether there is a search besides the given programs.
  virtual bool divides() const { return !options_.keep_division; }
  // Once all candidates are known.
  virtual base::Status look_up_others() { return base::ok(); }
  // Prices of what is not measured, from what is.
  virtual void price_unmeasured() { price_forms(forms_, is_measured_, prices_); }
  // By copy (KernelGraph::copies), in egraph_.times.
  virtual std::span<const std::size_t> works_of_copies() const { return {}; }
  virtual std::vector<double> costs_of_kernels() const { return kernels_.costs(prices_); }
  virtual base::Result<extract::Solution> extract(const extract::Problem& problem) const;
  // Whether a program may be worth a run.
  virtual bool may_gain(const extract::Solution& solution) const;
  // Before the program of a choice runs. True: it changed what is known besides times.
  virtual base::Result<bool> prepare(KernelChoice& /*choice*/) { return false; }
  // Whether the program may be the answer, and is to be preferred to the best one.
  virtual bool is_better(const KernelChoice& choice) const;
  // Whether another extraction may choose differently for other reasons than times.
  virtual bool may_change() const { return false; }
  // Even where no time is left.
  virtual bool needs_answer() const { return false; }
  // Of extraction and measuring.
  virtual int max_rounds() const { return options_.max_rounds; }
  // The share of the time in which new kernels are measured.
  virtual double exploring_share() const { return 1; }
  // Where the answer is kept; null: nowhere.
  virtual cost::Database* answers() const;
  // Before the first and after the last round.
  virtual base::Status begin() { return base::ok(); }
  virtual base::Status settle() { return base::ok(); }

  bool may_explore() const;
  bool may_measure() const;
  // Compiles and runs the program of a choice. True: times of kernels or something else were
  // learned.
  base::Result<bool> try_choice(const extract::Solution& solution,
                                std::optional<std::size_t> given = std::nullopt);

  SearchedEGraph& egraph_;
  const KernelChoiceOptions& options_;
  extract::Pieces pieces_;
  extract::KernelGraph kernels_;
  PieceForms forms_;
  std::vector<double> prices_;     // by piece
  std::vector<bool> is_measured_;  // by piece, of prices
  std::set<std::vector<extract::NodeIndex>> tried_;
  std::optional<KernelChoice> best_;

 private:
  struct Given {
    std::size_t place;  // among the given programs
    std::vector<extract::KernelGraph::Maker> makers;
  };

  double estimate(const extract::Piece& piece) const;
  void find_pieces();
  base::Status add_given(const GivenProgram& program, std::size_t place);
  void begin_with(KernelStart start, std::vector<std::uint32_t> numbers,
                  std::optional<std::size_t> place);
  base::Status look_up();
  void update_prices();
  std::string key_of_search() const;
  base::Result<bool> recall();
  base::Status keep();
  void bound_by(const extract::Problem& problem, const extract::Solution& solution);
  base::Status try_given(std::vector<KernelTimes>& times_of_given);
  base::Status search();
  base::Status rounds();
  base::Result<std::optional<KnownPartTimes>> times_of(const DividedGraph& program) const;

  const double until_s_;
  const base::Progress progress_;
  std::vector<double> costs_;  // of the view's nodes
  // By node of the view: the time of the fastest measured kernel in f32 that has it; else infinite.
  std::vector<double> least_;
  std::vector<Given> given_;
  std::vector<std::size_t> work_of_;  // by piece, in egraph_.times
  KernelTimes last_times_;
  // Whether the rounds ended because nothing was left to learn; false: a limit ended them.
  bool is_final_ = false;
  std::int64_t newly_measured_ = 0;
  int rounds_ = 0;
};

}  // namespace egret::driver
