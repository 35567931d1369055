// SPDX-License-Identifier: Apache-2.0
// `egret costs profile MODEL`: fills the database of measured costs beforehand. With --collectives:
// the links between ranks.
#include "base/formats/units.h"
#include "driver/prices/cost_choice.h"
#include "driver/select/operator_costs.h"
#include "tools/arguments/collective_profile.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/useless_flags.h"
#include "tools/console/rates_report.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

base::Json to_json(const driver::ProfileReport& r) {
  return base::versioned_json()
      .set("machine", r.machine)
      .set("e_nodes", r.e_nodes)
      .set("operators", r.operators)
      .set("known", r.known)
      .set("measured", r.measured)
      .set("left", r.left)
      .set("measured_again", r.measured_again)
      .set("improved", r.improved)
      .set("noisy", r.noisy)
      .set("disturbed", r.disturbed)
      .set("rates", rates_json(r.rates.rates))
      .set("failures", base::Json::array(r.failures))
      .set("seconds", r.seconds);
}

std::string to_text(const driver::ProfileReport& r) {
  std::string text = base::counted(r.operators, "operator") + " in " +
                     base::counted(static_cast<std::int64_t>(r.e_nodes), "e-node") + ": " +
                     base::format_count(r.known) + " known before, " +
                     base::format_count(r.measured) + " measured in " +
                     base::format_seconds(r.seconds);
  if (r.left > 0)
    text += ", " + base::format_count(r.left) + " left (the same command goes on with them)";
  text += "\n";
  if (r.measured_again > 0) {
    text += base::counted(r.measured_again, "noisy measurement") + " repeated, " +
            base::format_count(r.improved) + " of them better\n";
  }
  if (r.noisy > 0)
    text += base::counted(r.noisy, "operator deviates", "operators deviate") +
            " by more than 10 % of the time\n";
  if (r.disturbed > 0) text += driver::note_of_disturbed(r.disturbed) + "\n";
  text += rates_text(r.rates.rates) + "\n";
  for (const std::string& failure : r.failures) text += "not measured: " + failure + "\n";
  return text;
}

class Profile final : public Command {
 public:
  void declare(Arguments& arguments) override {
    given_ = &arguments.set();
    arguments.optional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(model_);
    arguments.options(options_);
    arguments.options(collectives_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (path_.empty() != collectives_.collectives)
      return base::usage_error("name a model, or give --collectives");
    EGRET_RETURN_IF_ERROR(check_flags());
    if (collectives_.collectives) {
      // Ranks share the machine, so each uses one thread.
      const driver::Execution execution = {
          .backend = options_.backend,
          .threads = 1,
          .precision = backends::precision_named(options_.precision)};
      return profile_collectives(collectives_, execution, options_.cost_db, console);
    }
    options_.threads = console.options().threads;
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    EGRET_ASSIGN_OR_RETURN(const driver::ProfileReport report,
                           driver::profile(model.graph, options_, console.progress()));
    if (report.of_other_machines > 0) {
      console.warning(driver::warning_of_other_machines(report.of_other_machines, report.machine));
    }
    console.result(to_json(report), to_text(report));
    return report.left > 0 && console.is_given("profile-time") ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Status check_flags() {
    base::OptionSet of_others;
    if (!collectives_.collectives) {
      of_others.add(collectives_);
      return refuse_flags(*given_, of_others, "needs --collectives");
    }
    of_others.add(model_);
    of_others.add(options_);
    return refuse_flags(*given_, of_others, "needs MODEL", {"cost-db", "backend", "precision"});
  }

  const base::OptionSet* given_ = nullptr;
  std::string path_;
  ModelOptions model_;
  driver::ProfileOptions options_;
  CollectiveOptions collectives_;
};

}  // namespace

Verb costs_profile_verb() {
  return {
      "costs profile", "Measure the operators of a model and its rewrites",
      "Saturates the model's e-graph as `egret optimize` does, and measures every operator in it "
      "that the database lacks. Each measurement is stored at once: a run that --profile-time or a "
      "signal ends can be continued by the same command. Measurements that vary by more than 10 % "
      "are repeated while time remains, and the more stable one is kept. If the database has no "
      "rates of this machine, they are measured first (`egret costs calibrate`).\n\nWith "
      "--collectives, the ranks of mpirun measure all_reduce, all_gather, reduce_scatter, "
      "all_to_all and messages between neighbours, for tensors of 1 KiB to 64 MiB: mpirun -n 4 "
      "egret costs profile --collectives. For the ranks of a host, and for equal ranks of all "
      "hosts, the latency and bandwidth are fitted that a machine file has. With --backend cuda, "
      "data lie on GPUs, one for each rank, and NCCL moves them (--exchange). The database keeps "
      "them: `egret plan --machine measured` and `egret simulate PLAN` read them. --output also "
      "writes a machine file.",
      make_command<Profile>};
}

}  // namespace egret::tools
