// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/certificate_mutation.h"

#include <utility>
#include <vector>

namespace egret::checking {

using base::Json;
using base::Random;

namespace {

Json with_item(const Json& list, std::size_t at, Json value) {
  Json made = Json::array();
  for (std::size_t i = 0; i < list.items().size(); ++i)
    made.push(i == at ? value : list.items()[i]);
  return made;
}
Json without_item(const Json& list, std::size_t at) {
  Json made = Json::array();
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    if (i != at) made.push(list.items()[i]);
  }
  return made;
}
Json swapped(const Json& list, std::size_t at) {
  Json made = with_item(list, at, list.items()[at + 1]);
  return with_item(made, at + 1, list.items()[at]);
}

// Another number below `count`.
std::optional<Json> another(const Json& number, std::size_t count, Random& random) {
  if (count < 2) return {};
  const std::uint64_t old = static_cast<std::uint64_t>(*number.as_integer());
  return Json((old + 1 + random.below(count - 1)) % count);
}

class Mutation {
 public:
  Mutation(const Json& document, Random& random)
      : document_(document), random_(random), tree_(document.find("steps") != nullptr) {}

  std::optional<Mutant> run() {
    switch (random_.below(12)) {
      case 0: return in_rules();
      case 1: return unknown_field();
      case 2: return in_claim();
      default: return tree_ ? in_tree() : in_flat();
    }
  }

 private:
  std::size_t terms() const { return document_.find("terms")->items().size(); }

  Mutant made(std::string what, std::string_view key, Json value) const {
    Json copy = document_;
    copy.set(key, std::move(value));
    return {std::move(what), std::move(copy)};
  }

  std::optional<Mutant> in_rules() {
    const Json& rules = *document_.find("rules");
    if (rules.items().empty()) return {};
    const std::size_t at = random_.below(rules.items().size());
    Json rule = rules.items()[at];
    static constexpr const char* kFields[] = {"name", "text", "hash"};
    const char* const field = kFields[random_.below(3)];
    std::string text = *rule.find(field)->as_string();
    const std::size_t place = random_.below(text.size());
    text[place] = text[place] == 'z' ? 'y' : 'z';
    rule.set(field, text);
    return made(std::string("rule's ") + field, "rules", with_item(rules, at, rule));
  }

  std::optional<Mutant> unknown_field() {
    if (random_.chance(0.3)) return made("field of the document", "comment", Json("trust me"));
    const char* const key = tree_ ? "steps" : "proofs";
    const Json& list = *document_.find(key);
    const std::size_t at = random_.below(list.items().size());
    Json step = list.items()[at];
    step.set("note", Json(1));
    return made("field of a step", key, with_item(list, at, step));
  }

  std::optional<Mutant> in_claim() {
    Json claim = *document_.find("claim");
    const char* const side = random_.chance(0.5) ? "left" : "right";
    const auto term = another(*claim.find(side), terms(), random_);
    if (!term) return {};
    claim.set(side, *term);
    return made("claim", "claim", claim);
  }

  // What both forms' rule steps have. False where it does not apply.
  bool change_instance(Json& step, Random& random) {
    if (random.chance(0.3)) {
      const auto rule =
          another(*step.find("rule"), document_.find("rules")->items().size(), random);
      if (!rule) return false;
      step.set("rule", *rule);
      return true;
    }
    Json substitution = *step.find("substitution");
    const auto& members = substitution.members();
    if (members.empty()) return false;
    const auto [var, value] = members[random.below(members.size())];
    if (random.chance(0.2)) {
      Json rest = Json::object();
      for (const auto& [name, term] : members) rest.set(name == var ? "?_zz" : name, term);
      step.set("substitution", rest);
      return true;
    }
    const auto term = another(value, terms(), random);
    if (!term) return false;
    substitution.set(var, *term);
    step.set("substitution", substitution);
    return true;
  }

  std::optional<Mutant> in_tree() {
    const Json& steps = *document_.find("steps");
    const std::size_t at = random_.below(steps.items().size());
    const std::string name = " of step " + std::to_string(at);
    Json step = steps.items()[at];
    const std::string kind = *step.find("kind")->as_string();
    const auto replaced = [&](std::string what) {
      return made(std::move(what) + name + " (" + kind + ")", "steps", with_item(steps, at, step));
    };
    switch (random_.below(5)) {
      case 0: {
        const char* const side = random_.chance(0.5) ? "left" : "right";
        const auto term = another(*step.find(side), terms(), random_);
        if (!term) return {};
        step.set(side, *term);
        return replaced(side);
      }
      case 1: step.set("kind", Json(kind == "sym" ? "trans" : "sym")); return replaced("kind");
      case 2:
        if (kind != "rule" || !change_instance(step, random_)) return {};
        return replaced("instance");
      case 3: {
        const Json* const premises = step.find("premises");
        if (premises == nullptr || premises->items().empty()) return {};
        step.set("premises", without_item(*premises, random_.below(premises->items().size())));
        return replaced("dropped premise");
      }
      default: {
        const Json* const premises = step.find("premises");
        if (kind != "trans") return {};
        step.set("premises", swapped(*premises, random_.below(premises->items().size() - 1)));
        return replaced("swapped premises");
      }
    }
  }

  std::optional<Mutant> in_flat() {
    const Json& proofs = *document_.find("proofs");
    const std::size_t which = random_.below(proofs.items().size());
    Json proof = proofs.items()[which];
    const Json steps = *proof.find("steps");
    const auto replaced = [&](std::string what, Json list) {
      proof.set("steps", std::move(list));
      return made(std::move(what), "proofs", with_item(proofs, which, proof));
    };
    if (steps.items().empty()) return {};
    const std::size_t at = random_.below(steps.items().size());
    Json step = steps.items()[at];
    switch (random_.below(6)) {
      case 0: return replaced("dropped rewrite", without_item(steps, at));
      case 1:
        if (at + 1 >= steps.items().size()) return {};
        return replaced("swapped rewrites", swapped(steps, at));
      case 2: {
        const std::string direction = *step.find("direction")->as_string();
        const bool odd = random_.chance(0.2);
        step.set("direction", Json(odd                      ? "sideways"
                                   : direction == "forward" ? "backward"
                                                            : "forward"));
        return replaced("direction", with_item(steps, at, step));
      }
      case 3: {
        Json position = *step.find("position");
        if (position.items().empty() || random_.chance(0.3)) {
          position.push(random_.below(2));
        } else {
          const std::size_t depth = random_.below(position.items().size());
          const std::int64_t old = *position.items()[depth].as_integer();
          position = with_item(position, depth, Json(old == 0 ? 1 : old - 1));
        }
        step.set("position", position);
        return replaced("position", with_item(steps, at, step));
      }
      case 4: {
        const auto term = another(*step.find("term"), terms(), random_);
        if (!term) return {};
        step.set("term", *term);
        return replaced("term", with_item(steps, at, step));
      }
      default:
        if (*step.find("kind")->as_string() != "rule" || !change_instance(step, random_)) return {};
        return replaced("instance", with_item(steps, at, step));
    }
  }

  const Json& document_;
  Random& random_;
  const bool tree_;
};

}  // namespace

std::optional<Mutant> mutate(const Json& certificate, Random& random) {
  return Mutation(certificate, random).run();
}

}  // namespace egret::checking
