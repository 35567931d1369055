// SPDX-License-Identifier: Apache-2.0
#include "rules/certificates/certificate_json.h"

#include <span>
#include <utility>

#include "base/formats/json.h"

namespace egret::rules {

using base::Json;
using verifier::Certificate;
using Step = Certificate::Step;
using Symbol = Certificate::Symbol;

namespace {

template <typename Number>
Json list(std::span<const Number> numbers) {
  Json made = Json::array();
  for (const Number number : numbers) made.push(static_cast<std::int64_t>(number));
  return made;
}

Json symbol_json(const Symbol& symbol) {
  Json made = Json::object();
  if (symbol.kind == Symbol::Kind::kInput) return made.set("input", symbol.name);
  if (symbol.kind == Symbol::Kind::kConstant) {
    made.set("constant", symbol.name);
    return symbol.type.empty() ? made : made.set("type", symbol.type).set("value", symbol.value);
  }
  made.set("operator", symbol.name);
  if (symbol.attributes.empty()) return made;
  Json attributes = Json::object();
  for (const auto& [name, value] : symbol.attributes) attributes.set(name, value);
  return made.set("attributes", std::move(attributes));
}

Json step_json(const Step& step) {
  Json made = Json::array();
  made.push(Certificate::kForms[static_cast<std::size_t>(step.kind)].kind);
  switch (step.kind) {
    case Step::Kind::kRule:
      made.push(step.rule).push(step.equation).push(step.left).push(step.right);
      return made.push(list(std::span(step.substitution))).push(list(std::span(step.operators)));
    case Step::Kind::kFold: return made.push(step.left).push(step.right).push(step.name);
    case Step::Kind::kCode: return made.push(step.name).push(step.left).push(step.right);
    case Step::Kind::kCongruence: made.push(step.left).push(step.right); break;
    case Step::Kind::kSymmetry:
    case Step::Kind::kTransitivity: break;
  }
  for (const std::int64_t premise : step.premises) made.push(premise);
  return made;
}

}  // namespace

std::string to_json(const Certificate& certificate) {
  Json document = base::versioned_json();
  document.set("format", Certificate::kFormat);
  Json sizes = Json::object();
  for (const auto& [name, size] : certificate.sizes) sizes.set(name, size);
  Json symbols = Json::array();
  for (const Symbol& symbol : certificate.symbols) symbols.push(symbol_json(symbol));
  Json terms = Json::array();
  for (const Certificate::Term& term : certificate.terms) {
    Json one = Json::array();
    one.push(term.symbol);
    for (const std::uint32_t child : term.children) one.push(child);
    terms.push(std::move(one));
  }
  Json rules = Json::array();
  for (const Certificate::Rule& rule : certificate.rules) {
    Json one = Json::object();
    rules.push(one.set("name", rule.name).set("hash", rule.hash));
  }
  Json steps = Json::array();
  for (const Step& step : certificate.steps) steps.push(step_json(step));
  Json outputs = Json::array();
  for (const Certificate::Output& output : certificate.outputs) {
    Json one = Json::object();
    one.set("name", output.name).set("before", output.before).set("after", output.after);
    outputs.push(one.set("step", output.step));
  }
  if (certificate.reals) document.set("reals", true);
  if (!certificate.open.empty()) {
    Json open = Json::object();
    for (const auto& [name, size] : certificate.open) {
      Json numbers = Json::array();
      open.set(name, numbers.push(size.range.least).push(size.range.most).push(size.example));
    }
    Json obligations = Json::object();
    for (const auto& [guard, proof] : certificate.obligations) obligations.set(guard, proof);
    document.set("open", std::move(open)).set("obligations", std::move(obligations));
  }
  document.set("sizes", std::move(sizes)).set("symbols", std::move(symbols));
  document.set("terms", std::move(terms)).set("rules", std::move(rules));
  document.set("steps", std::move(steps)).set("outputs", std::move(outputs));
  return document.dump() + "\n";
}

}  // namespace egret::rules
