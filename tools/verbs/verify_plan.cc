// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <system_error>

#include "driver/proofs/rank_models.h"
#include "ir/ops/opaque.h"
#include "parallel/placed/sequential_program.h"
#include "parallel/ranks/rank_programs.h"
#include "runtime/loaded_plan.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/plan_arguments.h"
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
        {{"mesh", &V::mesh, kMeshHelp},
         {"placement", &V::placement,
          "Placement of an input or weight of ranks' models, as NAME=AXIS:S(0),...; may be "
          "repeated"}}};
    return rows;
  }
};

// What the plan computes, and what it should compute.
struct Programs {
  ir::Graph sequential;
  // Not ok: the program is against the laws of placements.
  base::Result<parallel::PlacedGraph> placed;
};

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
      if (programs.placed.status().code() != base::StatusCode::kBadInput)
        return programs.placed.status();
      const std::string& reason = programs.placed.status().message();
      base::Json json = base::versioned_json();
      json.set("verdict", "wrong").set("reason", reason);
      console.result(json, "wrong: " + reason + "\n");
      return ExitCode::kMismatch;
    }
    const parallel::PlacedGraph& placed = *programs.placed;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph whole,
                           parallel::sequential_program(placed, programs.sequential));
    EGRET_ASSIGN_OR_RETURN(const driver::EqualityProof proof,
                           options_.prove(programs.sequential, whole, console));
    const auto exchanges = std::ranges::count_if(placed.nodes, [](const auto& node) {
      return node.kind == parallel::PlacedNode::Kind::kCollective ||
             node.kind == parallel::PlacedNode::Kind::kRing;
    });
    base::Json json = base::versioned_json();
    add_proof(json, proof);
    json.set("mesh", parallel::to_string(placed.mesh))
        .set("nodes", static_cast<std::int64_t>(placed.nodes.size()))
        .set("exchanges", static_cast<std::int64_t>(exchanges));
    std::string text = to_text(proof, "the model", "the plan");
    text += "all " + std::to_string(placed.nodes.size()) + " nodes of a rank on " +
            parallel::to_string(placed.mesh) + " follow the laws of placements, " +
            std::to_string(exchanges) + " of them exchanges\n";
    console.result(json, text);
    return exit_code_of(proof);
  }

 private:
  base::Result<Programs> read(Console& console) const {
    std::error_code ignored;  // what is no folder is read as a file
    if (std::filesystem::is_directory(plan_, ignored)) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<std::string> files, driver::rank_files(plan_));
      return read_ranks(files, console);
    }
    if (plan_.ends_with(".onnx")) return read_ranks({plan_}, console);
    if (!arguments_.mesh.empty() || !arguments_.placement.empty())
      return base::usage_error("a plan file names its mesh and placements");
    EGRET_ASSIGN_OR_RETURN(const runtime::PlanFile file,
                           runtime::read_plan_file(plan_, {}, model_path_));
    for (const std::string& note : file.notes) console.note(note);
    return Programs{file.model, runtime::program_of(file, plan_)};
  }

  base::Result<parallel::Mesh> mesh_for(std::span<const parallel::RankProgram> ranks) const {
    if (!arguments_.mesh.empty()) return parallel::Mesh::parse(arguments_.mesh);
    const auto& metadata = ranks.front().graph.metadata;
    if (const auto found = metadata.find(driver::kMeshKey); found != metadata.end())
      return parallel::Mesh::parse(found->second);
    if (ranks.size() == 1) return base::usage_error("one model of all ranks needs --mesh");
    return parallel::Mesh::of({{"ranks", static_cast<std::int64_t>(ranks.size())}});
  }

  base::Result<Programs> read_ranks(const std::vector<std::string>& files, Console& console) const {
    if (model_path_.empty()) return base::usage_error("ranks' models need MODEL");
    EGRET_ASSIGN_OR_RETURN(
        const frontends::ImportedModel model,
        read_concrete_model(model_path_, model_, console, BindNames::kMayBeUnknown));
    std::vector<parallel::RankProgram> ranks;
    for (const std::string& file : files) {
      EGRET_ASSIGN_OR_RETURN(const driver::ModelSource source, source_of(file));
      EGRET_ASSIGN_OR_RETURN(
          const frontends::ImportedModel rank,
          driver::read_model(source, model_, {.opaque_nodes = true, .keeps_rounding = false}));
      auto program = driver::rank_program(rank);
      if (!program.ok()) return program.status().at(file);
      ranks.push_back(*std::move(program));
    }
    EGRET_ASSIGN_OR_RETURN(const parallel::Mesh mesh, mesh_for(ranks));
    std::map<std::string, parallel::Placement> given;
    for (const std::string& text : arguments_.placement) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos)
        return base::usage_error("--placement " + text + ": it has the form NAME=AXIS:S(0)");
      EGRET_ASSIGN_OR_RETURN(given[text.substr(0, equals)],
                             parallel::Placement::parse(text.substr(equals + 1), mesh));
    }
    const ir::Graph sequential = ir::expand_bodies(model.graph);
    auto placed = parallel::place(ranks, mesh, sequential, given);
    return Programs{sequential, std::move(placed)};
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
      "verify` does.\n\nExchanges in ranks' models are the operators AllReduce and AllGather of "
      "com.microsoft, and AllReduce, AllGather, ReduceScatter, AllToAll and Shard of the domain "
      "egret. `egret plan --rank-models` writes such models.\n\nThe exit code is 0 if all "
      "outputs are proven, 6 if a node is wrong or an output differs, and 5 if one is "
      "undecided.",
      make_command<VerifyPlan>};
}

}  // namespace egret::tools
