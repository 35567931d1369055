// SPDX-License-Identifier: Apache-2.0
#include "driver/certificate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/system/file.h"
#include "frontends/bindings.h"
#include "frontends/certified_reading.h"
#include "rules/certificates/certificate_json.h"
#include "rules/certificates/certificate_writer.h"
#include "rules/replay/rule_library.h"
#include "verifier/index/proven_sizes.h"
#include "verifier/index/size_proof_search.h"
#include "verifier/replay/plain_program.h"
#include "verifier/replay/program_replay.h"

namespace egret::driver {

using base::Result;
using base::Status;
using verifier::Certificate;

namespace {

frontends::ImportOptions reading_of(const Certificate& certificate,
                                    const verifier::ExampleOf& example_of) {
  return frontends::certified_reading(certificate.sizes, !certificate.reals, example_of);
}

Status not_replayed(const Status& reason) {
  return base::unsupported("--certificate: the proof cannot be replayed: " + reason.message());
}

// As egret-check does it. `search` finds proofs about open sizes that the certificate lacks.
Result<verifier::ProgramReplay> replay_models(const Certificate& certificate,
                                              const ModelSource& source,
                                              const frontends::CertifiedModels::Read& read_result,
                                              const rules::RuleLibrary& library,
                                              verifier::ProvenSizes::Search search = {}) {
  frontends::CertifiedModels models(
      [&](const auto& reading) { return read_model(source, {}, reading); }, read_result);
  return verifier::replay_programs(
      certificate,
      [&](const auto& example) { return models.first(reading_of(certificate, example)); },
      [&](const auto& example) { return models.second(reading_of(certificate, example)); }, library,
      std::move(search));
}

// What is assumed of the size alone.
verifier::SizeRange bounds_of(const std::string& name, const rules::OpenSizes& open) {
  verifier::SizeRange bounds;
  const auto is_symbol = [&](const ir::ExprNode* node) {
    return node->op == ir::ExprOp::kSymbol && node->name == name;
  };
  for (const ir::Guard& guard : open.assumptions()) {
    if (guard.is_constant() || guard.node()->op != ir::ExprOp::kIndexLe) continue;
    const ir::ExprNode* const low = guard.node()->kids[0];
    const ir::ExprNode* const high = guard.node()->kids[1];
    if (low->op == ir::ExprOp::kIndexConst && is_symbol(high))
      bounds.least = std::max(bounds.least, low->integer);
    if (high->op == ir::ExprOp::kIndexConst && is_symbol(low))
      bounds.most = std::min(bounds.most, high->integer);
  }
  return bounds;
}

}  // namespace

Status check_explainable(const OptimizeOptions& options) {
  if (options.error_budget > 0)
    return base::usage_error(
        "--certificate excludes --error-budget, whose result is another value");
  return base::ok();
}

Result<std::string> certificate_of(const OptimizeResult& result, const CertifiedModel& model,
                                   const frontends::ExportedModel& written,
                                   const rules::OpenSizes* open) {
  EGRET_CHECK(result.explained != nullptr, "the result was not explained");
  const Explained& explained = *result.explained;
  Certificate header;
  EGRET_ASSIGN_OR_RETURN(header.sizes, frontends::parse_bindings(model.bind));
  header.reals = !model.keeps_rounding;
  if (open != nullptr) {
    for (const auto& [name, example] : open->examples()) {
      header.open[name] = {bounds_of(name, *open), example};
    }
  }
  verifier::ExampleOf example_of;
  if (!header.open.empty()) {
    example_of = [&](std::string_view name, int) {
      const auto known = header.open.find(std::string(name));
      return known != header.open.end() ? known->second.example : 1;
    };
  }
  EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel again,
                         frontends::import_written(written, reading_of(header, example_of)));
  const Status same_nodes = frontends::check_same_nodes(model.info, again.info);
  if (!same_nodes.ok()) return base::unsupported("--certificate: " + same_nodes.message());
  const ir::Graph after = verifier::plain_program(again.graph);
  EGRET_ASSIGN_OR_RETURN(
      Certificate certificate,
      rules::write_certificate(
          {.before = &explained.program, .extracted = explained.extracted.get(), .after = &after},
          explained.saturated.tensors.get(), explained.rules));
  certificate.sizes = header.sizes;
  certificate.reals = header.reals;
  certificate.open = header.open;

  rules::RuleLibrary library;
  EGRET_ASSIGN_OR_RETURN(const rules::RuleProofs proofs,
                         rules::read_proofs(explained.rules.statuses().to_json()));
  library.add(explained.rules.set().rules, proofs);
  std::string json = rules::to_json(certificate);
  EGRET_ASSIGN_OR_RETURN(Certificate parsed, verifier::parse_certificate(json));
  if (!certificate.open.empty()) {
    const auto proven = replay_models(
        parsed, model.source,
        [&](const auto& reading) { return frontends::import_written(written, reading); }, library,
        verifier::find_size_proof);
    if (!proven.ok()) return not_replayed(proven.status());
    parsed.obligations = proven->proofs;
    return rules::to_json(parsed);
  }
  const auto accepted = verifier::replay(parsed, explained.program, after, library);
  if (!accepted.ok()) return not_replayed(accepted.status());
  return json;
}

Result<CertificateCheck> check_certificate(const ModelSource& before, const ModelSource& after,
                                           const std::string& certificate_path,
                                           const std::vector<std::string>& rule_files) {
  EGRET_ASSIGN_OR_RETURN(
      const std::string json,
      base::read_file(certificate_path, std::numeric_limits<std::int64_t>::max()));
  auto certificate = verifier::parse_certificate(json);
  if (!certificate.ok()) return base::mismatch(certificate.status().message()).at(certificate_path);
  EGRET_ASSIGN_OR_RETURN(const rules::RuleLibrary library,
                         rules::RuleLibrary::read(rule_files, &certificate->rules));
  EGRET_ASSIGN_OR_RETURN(
      const verifier::ProgramReplay replayed,
      replay_models(
          *certificate, before, [&](const auto& reading) { return read_model(after, {}, reading); },
          library));
  return CertificateCheck{.report = replayed.report,
                          .outputs = certificate->outputs.size(),
                          .rules = certificate->rules.size(),
                          .obligations = certificate->obligations.size(),
                          .reals = certificate->reals,
                          .sizes = certificate->sizes,
                          .open = replayed.open,
                          .assumptions = replayed.assumptions};
}

}  // namespace egret::driver
