// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/stored_laws.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace egret::parallel {
namespace {

using Scope = LawProof::Scope;

constexpr int kApplications = 12;  // of each operator and number of inputs
constexpr std::string_view kDefinitions = "definitions ";
constexpr std::string_view kHead =
    "# Placement laws for any number of devices (parallel/laws/stored_laws.h), by an application "
    "of "
    "each\n"
    "# operator, with what they are proven for besides. `placement_laws` writes this file.\n";

constexpr std::array<std::pair<Scope, std::string_view>, 4> kScopes{{
    {Scope::kAllSizes, "proven-for-all-sizes"},
    {Scope::kSizes, "proven-for-these-attributes"},
    {Scope::kCut, "proven-for-what-is-cut"},
    {Scope::kNone, "tested"},
}};

base::Result<StoredLaw> parse_law(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::size_t colon = line.rfind(" : ");
  const std::size_t name = line.find_first_of("({", std::min(space, line.size()));
  if (space == std::string_view::npos || colon == std::string_view::npos || name > colon)
    return base::bad_input("a law has the form STATUS  OPERATOR(TYPES) : INPUTS -> OUTPUT");
  const auto scope = std::ranges::find(kScopes, line.substr(0, space),
                                       &std::pair<Scope, std::string_view>::second);
  if (scope == kScopes.end())
    return base::bad_input("unknown status '" + std::string(line.substr(0, space)) + "'");
  const std::size_t begin = line.find_first_not_of(' ', space);
  return StoredLaw{std::string(line.substr(begin, name - begin)),
                   std::string(line.substr(begin, colon - begin)),
                   std::string(line.substr(colon + 3)), scope->first};
}

}  // namespace

std::string_view name_of(Scope scope) {
  return std::ranges::find(kScopes, scope, &std::pair<Scope, std::string_view>::first)->second;
}

base::Result<StoredLaws> parse_laws(std::string_view text) {
  StoredLaws laws;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(kDefinitions)) {
      laws.definitions = line.substr(kDefinitions.size());
      continue;
    }
    auto law = parse_law(line);
    if (!law.ok()) return law.status().at("line " + std::to_string(number));
    laws.laws.push_back(*std::move(law));
  }
  return laws;
}

std::string to_text(const StoredLaws& laws) {
  std::string text(kHead);
  text += std::string(kDefinitions) + laws.definitions + "\n";
  for (const StoredLaw& law : laws.laws)
    text += std::string(name_of(law.scope)) + "  " + law.application + " : " + law.law + "\n";
  return text;
}

// Visits each law of each operator once, by the first application that has it. A law is named by
// its operator, its placements and the ranks of the inputs.
void for_all_laws(const std::function<void(const Application&, const Law&)>& visit) {
  std::set<std::string> seen;
  for_all_operators(kApplications, [&](const Application& call, base::Random) {
    for (const Law& law : laws_of(*call.op, call.attrs, call.types, 2)) {
      if (law.output.is_copy()) continue;
      std::string name = call.op->name() + " " + to_string(law) + " of ranks";
      for (const ir::TensorType& type : call.types) name += " " + std::to_string(type.rank());
      if (seen.insert(name).second) visit(call, law);
    }
  });
}

StoredLaw stored(const Application& application, const Law& law, LawProof::Scope scope) {
  return {application.op->name(), to_string(application), to_string(law), scope};
}

}  // namespace egret::parallel
