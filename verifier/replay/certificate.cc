// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/certificate.h"

#include <algorithm>
#include <utility>

#include "base/formats/json.h"
#include "base/formats/json_reader.h"

namespace egret::verifier {

using base::Json;
using Reader = base::JsonReader;
using base::Result;
using base::Status;
using Step = Certificate::Step;
using Symbol = Certificate::Symbol;

namespace {

class Parser {
 public:
  explicit Parser(const Json& document) : document_(document) {}

  Result<Certificate> run() {
    EGRET_RETURN_IF_ERROR(base::check_schema_version(document_, "certificates"));
    const Json* format = document_.find("format");
    if (format == nullptr || format->scalar_text() != Certificate::kFormat)
      return base::bad_input("not a certificate: the format is not '" +
                             std::string(Certificate::kFormat) + "'");
    if (const Json* reals = document_.find("reals")) made_.reals = reals->scalar_text() == "true";
    read_sizes();
    each("symbols", [&](const Json& item, Reader& reader) { add_symbol(item, reader); });
    each("terms", [&](const Json& item, Reader& reader) { add_term(item, reader); });
    each("rules", [&](const Json& item, Reader& reader) {
      made_.rules.push_back({reader.text(item.find("name")), reader.text(item.find("hash"))});
    });
    each("steps", [&](const Json& item, Reader& reader) { add_step(item, reader); });
    each("outputs", [&](const Json& item, Reader& reader) { add_output(item, reader); });
    if (!status_.ok()) return status_;
    return std::move(made_);
  }

 private:
  // What is known and unknown of sizes; none of it need be there.
  void read_sizes() {
    const auto members = [&](std::string_view table, const auto& visit) {
      const Json* found = document_.find(table);
      if (found == nullptr || !found->is_object()) return;
      for (const auto& [name, item] : found->members()) {
        Reader reader("'" + name + "' of '" + std::string(table) + "'", status_);
        visit(name, item, reader);
      }
    };
    constexpr std::size_t kEnd = std::size_t{1} << 40;
    members("sizes", [&](const std::string& name, const Json& item, Reader& reader) {
      made_.sizes[name] = reader.number(item, 0, kEnd);
    });
    members("open", [&](const std::string& name, const Json& item, Reader& reader) {
      const std::vector<Json>& numbers = reader.items(item, 3);
      if (numbers.empty()) return;
      const std::int64_t least = reader.number(numbers[0], 1, kEnd);
      const std::int64_t most = reader.number(numbers[1], 1, kEnd);
      // What is so for all sizes of an empty range says nothing.
      if (least > most) return reader.fail("the least size exceeds the most");
      made_.open[name] = {{least, most}, reader.number(numbers[2], 1, kEnd)};
    });
    members("obligations", [&](const std::string& guard, const Json& item, Reader& reader) {
      made_.obligations[guard] = reader.text(&item);
    });
  }

  template <typename Visit>
  void each(std::string_view table, Visit visit) {
    const Json* found = document_.find(table);
    std::string name(table);
    Reader whole(name, status_);
    if (found == nullptr) return whole.fail("the table is missing");
    name.pop_back();
    std::size_t i = 0;
    for (const Json& item : whole.items(*found, 0)) {
      if (!status_.ok()) return;
      Reader reader(name + " " + std::to_string(i++), status_);
      visit(item, reader);
    }
  }

  void add_symbol(const Json& item, Reader& reader) {
    Symbol symbol;
    if (const Json* input = item.find("input")) {
      symbol.kind = Symbol::Kind::kInput;
      symbol.name = reader.text(input);
    } else if (const Json* constant = item.find("constant")) {
      symbol.kind = Symbol::Kind::kConstant;
      symbol.name = reader.text(constant);
      if (item.find("type") != nullptr) {
        symbol.type = reader.text(item.find("type"));
        symbol.value = reader.text(item.find("value"));
      }
    } else {
      symbol.name = reader.text(item.find("operator"));
      const Json* attributes = item.find("attributes");
      if (attributes != nullptr && attributes->is_object()) {
        for (const auto& [name, value] : attributes->members())
          symbol.attributes[name] = reader.text(&value);
      }
    }
    made_.symbols.push_back(std::move(symbol));
  }

  void add_term(const Json& item, Reader& reader) {
    Certificate::Term term;
    bool is_first = true;
    for (const Json& number : reader.items(item, 1)) {
      if (std::exchange(is_first, false)) {
        term.symbol = reader.index(number, made_.symbols.size());
      } else {
        term.children.push_back(reader.index(number, made_.terms.size()));
      }
    }
    made_.terms.push_back(std::move(term));
  }

  void add_step(const Json& item, Reader& reader) {
    const std::vector<Json>& parts = reader.items(item, 1);
    if (parts.empty()) return;
    const std::string kind = reader.text(parts.data());
    const auto* form = std::ranges::find(Certificate::kForms, kind, &Certificate::Form::kind);
    if (form == std::end(Certificate::kForms))
      return reader.fail("'" + kind + "' is no kind of step");
    Step step{.kind = static_cast<Step::Kind>(form - Certificate::kForms)};
    const std::size_t fixed = form->items.size() - (form->items.ends_with('P') ? 1 : 0);
    if (parts.size() < 1 + fixed || (parts.size() > 1 + fixed && fixed == form->items.size()))
      return reader.fail(kind + " has " + std::to_string(fixed) + " items");
    for (std::size_t i = 1; i < parts.size(); ++i) {
      switch (form->items[std::min(i - 1, form->items.size() - 1)]) {
        case 'l': step.left = reader.index(parts[i], made_.terms.size()); break;
        case 'r': step.right = reader.index(parts[i], made_.terms.size()); break;
        case 'u': step.rule = reader.index(parts[i], made_.rules.size()); break;
        case 'q': step.equation = reader.index(parts[i], 1U << 30U); break;
        case 'n': step.name = reader.text(&parts[i]); break;
        case 'S': step.substitution = reader.indices(parts[i], made_.terms.size()); break;
        case 'O': step.operators = reader.indices(parts[i], made_.symbols.size()); break;
        default:
          step.premises.push_back(
              reader.number(parts[i], Certificate::kReflexive, made_.steps.size()));
      }
    }
    if (step.kind == Step::Kind::kSymmetry && step.premises.size() != 1)
      reader.fail("sym has one premise");
    made_.steps.push_back(std::move(step));
  }

  void add_output(const Json& item, Reader& reader) {
    const Json* before = item.find("before");
    const Json* after = item.find("after");
    const Json* step = item.find("step");
    if (before == nullptr || after == nullptr || step == nullptr)
      return reader.fail("'before', 'after' or 'step' is missing");
    made_.outputs.push_back({reader.text(item.find("name")),
                             reader.index(*before, made_.terms.size()),
                             reader.index(*after, made_.terms.size()),
                             reader.number(*step, Certificate::kReflexive, made_.steps.size())});
  }

  const Json& document_;
  Status status_;
  Certificate made_;
};

}  // namespace

Result<Certificate> parse_certificate(std::string_view json) {
  EGRET_ASSIGN_OR_RETURN(const Json document, Json::parse(json));
  return Parser(document).run();
}

std::string step_name(const Certificate& certificate, std::size_t step) {
  const Step& one = certificate.steps[step];
  std::string text = "step " + std::to_string(step) + " (";
  text += Certificate::kForms[static_cast<std::size_t>(one.kind)].kind;
  if (one.kind == Step::Kind::kRule) text += " '" + certificate.rules[one.rule].name + "'";
  if (one.kind == Step::Kind::kCode) text += " '" + one.name + "'";
  return text + ")";
}

}  // namespace egret::verifier
