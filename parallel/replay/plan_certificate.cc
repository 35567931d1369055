// SPDX-License-Identifier: Apache-2.0
#include "parallel/replay/plan_certificate.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/formats/json_reader.h"
#include "base/hash.h"

namespace egret::parallel {

using base::Json;
using base::JsonReader;
using base::Result;
using base::Status;
using Reason = PlanCertificate::Reason;

namespace {

constexpr std::string_view kKinds[] = {"leaf", "laws", "exchange", "ring"};  // by Reason::Kind

Reason read_reason(const Json& json, std::size_t number, std::size_t laws, Status& status) {
  JsonReader read("node " + std::to_string(number), status);
  Reason reason;
  const auto& items = read.items(json, 1);
  if (items.empty()) return reason;
  const std::string name = read.text(items.data());
  const auto* const kind = std::ranges::find(kKinds, name);
  if (kind == std::end(kKinds)) {
    read.fail("there is no reason '" + name + "'");
    return reason;
  }
  reason.kind = static_cast<Reason::Kind>(kind - std::begin(kKinds));
  if (reason.kind == Reason::Kind::kLaws) {
    for (const Json& law : std::span(items).subspan(1))
      reason.laws.push_back(read.index(law, laws));
    return reason;
  }
  const std::size_t expected = reason.kind == Reason::Kind::kLeaf ? 1 : 2;
  if (items.size() != expected) read.fail("a reason of another form");
  if (items.size() > 1) reason.text = read.text(&items[1]);
  return reason;
}

}  // namespace

std::string_view name_of(Reason::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Result<std::string> program_hash(const Json& plan) {
  std::string text;
  for (const std::string_view key :
       {"model_hash", "mesh", "program", "outputs", "carried", "bind"}) {
    const Json* const found = plan.find(key);
    if (found == nullptr) return base::bad_input("'" + std::string(key) + "' is missing");
    text += found->dump() + "\n";
  }
  const Json* const training = plan.find("training");
  if (training != nullptr) text += training->dump() + "\n";
  return base::content_hash(text).to_hex();
}

Result<PlanCertificate> parse_plan_certificate(std::string_view json) {
  EGRET_ASSIGN_OR_RETURN(const Json document, Json::parse(json));
  if (!document.is_object()) return base::bad_input("not a certificate of a plan");
  EGRET_RETURN_IF_ERROR(base::check_schema_version(document, "certificates"));
  Status status = base::ok();
  JsonReader read("the certificate", status);
  const std::string format = read.text(document.find("format"));
  if (format != PlanCertificate::kFormat)
    return base::bad_input("its format is '" + format + "', not " +
                           std::string(PlanCertificate::kFormat));
  PlanCertificate certificate;
  certificate.program = read.text(document.find("program"));
  for (const Json& law : read.items(read.member(document, "laws"), 0)) {
    JsonReader one("law " + std::to_string(certificate.laws.size()), status);
    certificate.laws.push_back({one.text(law.find("name")), one.text(law.find("hash"))});
  }
  for (const Json& node : read.items(read.member(document, "nodes"), 0)) {
    certificate.nodes.push_back(
        read_reason(node, certificate.nodes.size(), certificate.laws.size(), status));
  }
  const Json& model = read.member(document, "model");
  EGRET_RETURN_IF_ERROR(status);
  EGRET_ASSIGN_OR_RETURN(certificate.model, verifier::parse_certificate(model.dump()));
  const verifier::Certificate& inner = certificate.model;
  if (inner.reals || !inner.sizes.empty() || !inner.open.empty() || !inner.obligations.empty())
    return base::bad_input("'model' states sizes or a reading, which are the plan's");
  return certificate;
}

}  // namespace egret::parallel
