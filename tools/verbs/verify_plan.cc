// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "base/stop.h"
#include "base/timer.h"
#include "driver/models/read_rank_model.h"
#include "driver/proofs/rank_difference.h"
#include "driver/proofs/rank_models.h"
#include "ir/ops/opaque.h"
#include "parallel/machine/named_cluster.h"
#include "parallel/placed/sequential_program.h"
#include "parallel/ranks/rank_programs.h"
#include "runtime/loaded_plan.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/proof_arguments.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct VerifyPlanArguments {
  std::string mesh;
  std::vector<std::string> placement;

  static const base::OptionTable<VerifyPlanArguments>& table() {
    using V = VerifyPlanArguments;
    static const base::OptionTable<V> rows{
        "verify-plan",
        {{"mesh", &V::mesh, parallel::kMeshHelp},
         {"placement", &V::placement,
          "Placement of an input, weight or output of ranks' models, as NAME=AXIS:S(0),...; may be "
          "repeated. Outputs are whole on every rank unless one is named"}}};
    return rows;
  }
};

// What the plan computes, and what it should compute.
struct Programs {
  ir::Graph sequential;
  // Not ok: mismatch for a wrong program, unsupported for one that is not decided.
  base::Result<parallel::PlacedGraph> placed;
  // Runs all ranks of such a program. Null: of a plan file, which states its placements.
  std::function<base::Result<std::optional<driver::RankDifference>>()> difference{};
};

struct Verdict {
  std::string verdict;
  std::string reason;
  ExitCode code;
};

base::Json placements_of(const parallel::PlacedGraph& placed, bool outputs) {
  base::Json json = base::Json::object();
  const auto text = [&](std::size_t node) {
    return parallel::to_string(placed.nodes[node].placement, placed.mesh);
  };
  for (std::size_t i = 0; i < placed.nodes.size() && !outputs; ++i) {
    if (placed.nodes[i].kind == parallel::PlacedNode::Kind::kInput)
      json.set(placed.nodes[i].name, text(i));
  }
  for (const auto& output : placed.outputs) {
    if (outputs) json.set(output.name, text(output.node));
  }
  return json;
}

// "inputs x x:S(0), mask x:R and 3 more".
std::string line_of(const std::string& what, const base::Json& placements) {
  constexpr std::size_t kMost = 6;
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, placement] : placements.members()) {
    if (++count > kMost) continue;
    text += (text.empty() ? " " : ", ") + name + " " + *placement.as_string();
  }
  if (count > kMost) text += " and " + std::to_string(count - kMost) + " more";
  return text.empty() ? "" : what + text + "\n";
}

// The inputs of the program in the order of the model's, by name. Inputs that the model lacks stay
// behind them.
ir::Graph in_order_of(const ir::Graph& program, const ir::Graph& model) {
  std::map<std::string, ir::Node> inputs;
  for (const ir::NodeId id : program.inputs())
    inputs.emplace(program.node(id).name, program.node(id));
  ir::Graph ordered;
  std::map<std::string, ir::NodeId> placed;
  for (const ir::NodeId id : model.inputs()) {
    const ir::Node& node = model.node(id);
    const auto found = inputs.find(node.name);
    placed[node.name] = ordered.append(found == inputs.end() ? node : found->second);
  }
  std::vector<ir::NodeId> moved;
  for (const ir::Node& old : program.nodes()) {
    if (old.kind == ir::NodeKind::kInput && placed.contains(old.name)) {
      moved.push_back(placed.at(old.name));
      continue;
    }
    ir::Node node = old;
    for (ir::NodeId& input : node.inputs) input = moved[input.index()];
    moved.push_back(ordered.append(std::move(node)));
  }
  for (const auto& output : program.outputs())
    ordered.add_output(output.name, moved[output.node.index()]);
  return ordered;
}

class VerifyPlan final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PLAN", plan_,
                         "A plan file, a folder of ranks' models (rank0.onnx, rank1.onnx, ...), or "
                         "one model that all ranks run");
    arguments.optional(
        "MODEL", model_path_,
        "The sequential model, an ONNX file (default: the one that a plan file names)");
    arguments.options(arguments_);
    arguments.options(options_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const Programs programs, read(console));
    if (!programs.placed.ok()) {
      EGRET_ASSIGN_OR_RETURN(const Verdict verdict, verdict_of(programs));
      base::Json json = base::versioned_json();
      json.set("verdict", verdict.verdict).set("reason", verdict.reason);
      console.result(json, verdict.verdict + ": " + verdict.reason + "\n");
      return verdict.code;
    }
    const parallel::PlacedGraph& placed = *programs.placed;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph whole, parallel::sequential_program(placed));
    EGRET_ASSIGN_OR_RETURN(
        const driver::EqualityProof proof,
        options_.prove(programs.sequential, in_order_of(whole, programs.sequential), console));
    const auto exchanges = std::ranges::count_if(placed.nodes, [](const auto& node) {
      return node.kind == parallel::PlacedNode::Kind::kCollective ||
             node.kind == parallel::PlacedNode::Kind::kRing;
    });
    const base::Json inputs = placements_of(placed, false);
    const base::Json outputs = placements_of(placed, true);
    base::Json json = base::versioned_json();
    add_proof(json, proof);
    json.set("mesh", parallel::to_string(placed.mesh))
        .set("nodes", static_cast<std::int64_t>(placed.nodes.size()))
        .set("exchanges", static_cast<std::int64_t>(exchanges))
        .set("inputs", inputs)
        .set("outputs", outputs);
    std::string text = to_text(proof, "the model", "the plan");
    text += "all " + std::to_string(placed.nodes.size()) + " nodes of a rank on " +
            parallel::to_string(placed.mesh) + " follow the laws of placements, " +
            std::to_string(exchanges) + " of them exchanges\n";
    console.result(json, text + line_of("inputs", inputs) + line_of("outputs", outputs));
    return exit_code_of(proof);
  }

 private:
  // Of a program that could not be placed. Errors: that of another kind.
  static base::Result<Verdict> verdict_of(const Programs& programs) {
    const base::Status& status = programs.placed.status();
    const std::string& reason = status.message();
    if (status.code() == base::StatusCode::kMismatch)
      return Verdict{"wrong", reason, ExitCode::kMismatch};
    if (status.code() != base::StatusCode::kUnsupported) return status;
    if (programs.difference == nullptr) return Verdict{"undecided", reason, ExitCode::kLimit};
    const auto difference = programs.difference();
    if (!difference.ok()) {
      if (base::stop_requested()) return difference.status();
      if (difference.status().code() == base::StatusCode::kMismatch)
        return Verdict{"wrong", difference.status().message(), ExitCode::kMismatch};
      return Verdict{"undecided",
                     reason + "; the ranks were not run: " + difference.status().message(),
                     ExitCode::kLimit};
    }
    if (!*difference) {
      return Verdict{"undecided", reason + "; on random inputs the ranks compute the model",
                     ExitCode::kLimit};
    }
    const driver::RankDifference& found = **difference;
    return Verdict{"wrong",
                   reason + "; on random inputs output '" + found.output + "' of rank " +
                       std::to_string(found.rank) + " differs by up to " +
                       base::Json(found.difference).dump(),
                   ExitCode::kMismatch};
  }

  base::Result<Programs> read(Console& console) const {
    std::error_code ignored;  // what is no folder is read as a file
    if (std::filesystem::is_directory(plan_, ignored)) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<std::string> files, driver::rank_files(plan_));
      return read_ranks(files, true, console);
    }
    if (plan_.ends_with(".onnx")) return read_ranks({plan_}, false, console);
    if (!arguments_.mesh.empty() || !arguments_.placement.empty())
      return base::usage_error("a plan file names its mesh and placements");
    EGRET_ASSIGN_OR_RETURN(const runtime::PlanFile file,
                           runtime::read_plan_file(plan_, {}, model_path_));
    for (const std::string& note : file.notes) console.note(note);
    return Programs{file.model, runtime::program_of(file, plan_)};
  }

  // The mesh of --mesh, or of the files' metadata, which name the same one. `is_folder`: each rank
  // has its own file.
  base::Result<parallel::Mesh> mesh_for(std::span<const parallel::RankProgram> ranks,
                                        bool is_folder) const {
    const auto count = static_cast<std::int64_t>(ranks.size());
    const std::string files = std::to_string(count) + (count == 1 ? " file" : " files");
    if (!arguments_.mesh.empty()) {
      EGRET_ASSIGN_OR_RETURN(parallel::Mesh mesh, parallel::Mesh::parse(arguments_.mesh));
      if (!is_folder || mesh.ranks() == count) return mesh;
      return base::usage_error("--mesh " + arguments_.mesh + " has " +
                               std::to_string(mesh.ranks()) + " ranks, and " + plan_ + " has " +
                               files);
    }
    const auto mesh_of = [&](std::size_t rank) {
      const auto& metadata = ranks[rank].graph.metadata;
      const auto found = metadata.find(driver::kMeshKey);
      return found == metadata.end() ? std::string() : found->second;
    };
    const std::string named = mesh_of(0);
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      if (mesh_of(rank) == named) continue;
      return base::bad_input("rank 0 is of the mesh '" + named + "', and rank " +
                             std::to_string(rank) + " of '" + mesh_of(rank) + "'")
          .at(plan_);
    }
    if (named.empty()) {
      if (!is_folder) return base::usage_error("one model of all ranks needs --mesh");
      return parallel::Mesh::of({{"ranks", count}});
    }
    auto mesh = parallel::Mesh::parse(named);
    if (!mesh.ok()) return base::bad_input(mesh.status().message()).at(plan_);
    if (!is_folder || mesh->ranks() == count) return mesh;
    return base::bad_input("its models are of " + std::to_string(mesh->ranks()) + " ranks, " +
                           named + ", and there are " + files)
        .at(plan_);
  }

  // Errors: usage for a name that no rank has, or that is given twice.
  base::Result<parallel::NamedPlacements> given_placements(const ir::Graph& rank,
                                                           const parallel::Mesh& mesh) const {
    std::set<std::string> names;
    for (const ir::Node& node : rank.nodes()) {
      if (node.kind != ir::NodeKind::kOperator) names.insert(node.name);
    }
    for (const auto& output : rank.outputs()) names.insert(output.name);
    parallel::NamedPlacements given;
    for (const std::string& text : arguments_.placement) {
      const auto error = [&](const std::string& what) {
        return base::usage_error("--placement " + text + ": " + what);
      };
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) return error("it has the form NAME=AXIS:S(0)");
      const std::string name = text.substr(0, equals);
      if (name.empty() || !names.contains(name))
        return error("no input, weight or output is called '" + name + "'");
      EGRET_ASSIGN_OR_RETURN(const parallel::Placement placement,
                             parallel::Placement::parse(text.substr(equals + 1), mesh));
      if (placement.has_partial() || placement.has_halo())
        return error("inputs, weights and outputs are copies or blocks");
      if (!given.emplace(name, placement).second) return error("'" + name + "' is given twice");
    }
    return given;
  }

  // Errors: usage for a --bind of a size that neither the model nor a rank has.
  base::Status check_bindings(std::span<const ModelSource> sources) const {
    EGRET_ASSIGN_OR_RETURN(auto unknown, frontends::parse_bindings(model_.bind));
    for (const ModelSource& source : sources) {
      if (unknown.empty()) break;
      EGRET_ASSIGN_OR_RETURN(const auto open, driver::open_sizes(source));
      for (const auto& [name, axis] : open) unknown.erase(name);
    }
    if (unknown.empty()) return base::ok();
    return base::usage_error("--bind: no model has a size '" + unknown.begin()->first + "'");
  }

  base::Result<Programs> read_ranks(const std::vector<std::string>& files, bool is_folder,
                                    Console& console) const {
    if (model_path_.empty()) return base::usage_error("ranks' models need MODEL");
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(model_path_));
    std::vector<ModelSource> sources{source};
    for (const std::string& file : files) sources.push_back({.path = file});
    EGRET_RETURN_IF_ERROR(check_bindings(sources));
    EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel model,
                           driver::read_concrete_model(source, model_, BindNames::kMayBeUnknown));
    if (!model.chosen.empty()) console.note("open sizes are taken as" + model.chosen);
    report_notes(model.model, console);
    std::vector<parallel::RankProgram> ranks;
    for (const ModelSource& one : std::span(sources).subspan(1)) {
      EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel rank,
                             driver::read_rank_model(one, model_));
      if (ranks.empty() && !rank.chosen.empty() && rank.chosen != model.chosen)
        console.note("open sizes of the ranks are taken as" + rank.chosen);
      report_notes(rank.model, console);
      auto program = driver::rank_program(rank.model);
      if (!program.ok()) return program.status().at(one.path);
      ranks.push_back(*std::move(program));
    }
    EGRET_ASSIGN_OR_RETURN(const parallel::Mesh mesh, mesh_for(ranks, is_folder));
    EGRET_ASSIGN_OR_RETURN(const parallel::NamedPlacements given,
                           given_placements(ranks.front().graph, mesh));
    const ir::Graph sequential = ir::expand_bodies(model.model.graph);
    auto placed = parallel::place(ranks, mesh, sequential, given);
    Programs programs{sequential, std::move(placed)};
    programs.difference = [this, ranks = std::move(ranks), mesh, sequential, given] {
      const auto deadline = base::Deadline::after(options_.proof_time);
      const auto should_stop = [&] { return base::stop_requested() || deadline.expired(); };
      return driver::difference_of_ranks(ranks, mesh, sequential, given,
                                         static_cast<std::uint64_t>(options_.seed), should_stop);
    };
    return programs;
  }

  std::string plan_;
  std::string model_path_;
  VerifyPlanArguments arguments_;
  ProofArguments options_;
  ModelOptions model_;
};

}  // namespace

Verb verify_plan_verb() {
  return {
      "verify-plan", "Prove that a distributed program computes what the model does",
      "Proves for all inputs that the programs of all ranks together compute the model, in real "
      "arithmetic, whoever wrote them. Each operator on parts must follow the laws of "
      "placements, which are derived from its definition, and each exchange must fit what is "
      "held. The operators on wholes that remain are proven equal to the model, as `egret "
      "verify` does. Where no law leads on, all ranks run on random inputs.\n\nExchanges in ranks' "
      "models are the operators AllReduce and AllGather of "
      "com.microsoft, and AllReduce, AllGather, ReduceScatter, AllToAll and Shard of the domain "
      "egret. `egret plan --rank-models` writes such models.\n\nInputs are placed by "
      "their sizes, and outputs must be whole on every rank, but for those that --placement "
      "names; output NAME.next of a training step is placed as the input NAME.\n\nThe exit "
      "code is 0 if all outputs are proven, 6 if the program is wrong, and 5 if that is "
      "undecided.",
      make_command<VerifyPlan>};
}

}  // namespace egret::tools
