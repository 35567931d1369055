// SPDX-License-Identifier: Apache-2.0
// `egret rules theorems`.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/formats/json.h"
#include "base/stop.h"
#include "base/system/file.h"
#include "rules/proofs/rule_theorem.h"
#include "tools/frame/verb.h"
#include "verifier/equality/coq_text.h"

namespace egret::tools {
namespace {

struct TheoremOptions {
  std::string output;

  static const base::OptionTable<TheoremOptions>& table() {
    static const base::OptionTable<TheoremOptions> rows{
        "rules theorems",
        {{"theorems-output", &TheoremOptions::output, "Folder for the files of Coq",
          base::output_folder(), 'o'}}};
    return rows;
  }
};

class Theorems final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PROOFS", proofs_, "File that `egret rules verify --certificates` wrote");
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.output.empty()) return base::usage_error("-o names the folder to write");
    EGRET_ASSIGN_OR_RETURN(const std::string text,
                           base::read_file(proofs_, std::numeric_limits<std::int64_t>::max()));
    std::error_code failed;
    std::filesystem::create_directories(options_.output, failed);
    if (failed) return base::unavailable(failed.message()).at(options_.output);
    EGRET_RETURN_IF_ERROR(write("Laws", std::string(verifier::coq_prelude())));
    rules::KnownOperators known;
    base::Json list = base::Json::array();
    std::string refused;
    std::int64_t written = 0;
    std::int64_t families = 0;
    std::int64_t statements = 0;
    for (std::size_t at = 0; at < text.size() && !base::stop_requested();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      at = end + 1;
      if (line.empty()) continue;
      const std::string place = proofs_ + ":" + std::to_string(++line_);
      constexpr std::size_t kDeep = 64;
      const auto json = base::Json::parse(line, kDeep);
      if (!json.ok()) return json.status().at(place);
      const auto certificate = rules::parse_rule_certificate(*json);
      if (!certificate.ok()) return certificate.status().at(place);
      const auto made = rules::rule_theorem(*certificate, known);
      base::Json row = base::Json::object();
      if (made.ok()) {
        EGRET_RETURN_IF_ERROR(write(made->name, made->text));
        row.set("rule", made->rule).set("file", made->name + ".v").set("families", made->families);
        row.set("statements", made->statements).set("on_scalars", made->on_scalars);
        ++written;
        families += made->families;
        statements += made->statements;
      } else if (made.status().code() == base::StatusCode::kUnsupported) {
        row.set("place", place).set("reason", made.status().message());
        refused += place + ": " + std::string(made.status().message()) + "\n";
      } else {
        return made.status().at(place);
      }
      list.push(std::move(row));
    }
    base::Json json = base::versioned_json();
    json.set("rules", std::move(list)).set("written", written).set("families", families);
    json.set("statements", statements);
    console.result(json, refused + std::to_string(written) + " rules, " + std::to_string(families) +
                             " families in " + std::to_string(statements) +
                             " statements: check them with\n    cd " + options_.output +
                             " && for file in Laws.v Rule_*.v; do coqc -Q . Egret $file; done\n");
    return ExitCode::kOk;
  }

 private:
  base::Status write(const std::string& name, const std::string& text) const {
    return base::write_file((std::filesystem::path(options_.output) / (name + ".v")).string(),
                            text);
  }

  std::string proofs_;
  TheoremOptions options_;
  int line_ = 0;
};

}  // namespace

Verb rules_theorems_verb() {
  return {
      "rules theorems", "State proven rules as theorems for Coq",
      "Writes a file for each rule of PROOFS, and one with the laws that all of them use. For each "
      "family of the rule's proof, a theorem says that both sides are equal at each element, for "
      "all sizes that meet the family's conditions and for all real numbers as elements. Both "
      "sides are written as the operators' definitions say. Coq, a proof assistant, then checks "
      "the theorems; Egret's proofs are not used.\n\nRules whose definitions need more than real "
      "numbers are left out, with the reason: infinite numbers, integer division, elements as "
      "indices, casts to integers.",
      make_command<Theorems>};
}

}  // namespace egret::tools
