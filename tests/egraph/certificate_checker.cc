// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/certificate_checker.h"

#include <algorithm>
#include <set>

#include "base/hash.h"

namespace egret::checking {

using base::Json;
using base::Result;
using base::Status;

namespace {

Status refuse(const std::string& why) { return base::mismatch(why); }

}  // namespace

Terms::Term Terms::make(Node node) {
  const auto [entry, fresh] = index_.try_emplace(std::move(node), nodes_.size());
  if (fresh) {
    const Node& made = entry->first;
    std::string content = std::to_string(made.op.size()) + ":" + made.op;
    for (const Term child : made.children) content += " " + hashes_[child];
    nodes_.push_back(made);
    hashes_.push_back(base::content_hash(content).to_hex());
  }
  return entry->second;
}

std::string Terms::text(Term term) const {
  constexpr std::size_t kMax = 10'000;
  std::string out;
  std::vector<std::pair<Term, bool>> stack{{term, true}};  // false: only the parenthesis
  while (!stack.empty()) {
    const auto [top, opens] = stack.back();
    stack.pop_back();
    if (out.size() > kMax) return out + "...";
    if (!opens) {
      out += ')';
      continue;
    }
    if (!out.empty() && out.back() != '(') out += ' ';
    if (!nodes_[top].children.empty()) {
      out += '(';
      stack.emplace_back(top, false);
    }
    out += nodes_[top].op;
    for (auto child = nodes_[top].children.rbegin(); child != nodes_[top].children.rend(); ++child)
      stack.emplace_back(*child, true);
  }
  return out;
}

// Reads one rule. Recursive: trusted rules are written by hand.
class RuleReader {
 public:
  using Expression = CertificateChecker::Expression;
  using Rule = CertificateChecker::Rule;

  explicit RuleReader(std::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      if (line[i] == ' ') {
        ++i;
      } else if (std::string_view("(),").find(line[i]) != std::string_view::npos) {
        tokens_.emplace_back(line.substr(i++, 1));
      } else {
        const std::size_t end = std::min(line.find_first_of(" (),", i), line.size());
        tokens_.emplace_back(line.substr(i, end - i));
        i = end;
      }
    }
  }

  Rule read() {
    Rule rule;
    rule.name = next();
    if (rule.name.ends_with(':')) rule.name.pop_back();
    const auto sources = side();
    expect("=>");
    const auto targets = side();
    std::map<std::string, int> defined;
    for (const auto& [var, term] : sources) ++defined[var];
    for (const auto& [var, term] : sources) {
      if (!var.empty() && defined[var] == 1) definitions_[var] = term;
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto& [var, term] = targets[i];
      const auto& [source_var, source] = sources.at(var.empty() ? i : 0);
      Expression left = source;
      if (!var.empty()) left = {var, {}};
      if (var.empty() && !source_var.empty()) left = {source_var, {}};
      rule.equations.emplace_back(expand(left), expand(term));
    }
    for (const auto& [var, term] : sources) {
      if (!var.empty() && defined[var] > 1) rule.premises.emplace_back(var, expand(term));
    }
    if (at_ < tokens_.size()) {
      expect("if");
      do {
        Rule::Call call{next(), {}};
        expect("(");
        do {
          call.arguments.push_back({next(), {}});
        } while (accept(","));
        expect(")");
        rule.conditions.push_back(call);
      } while (accept("and"));
    }
    failed_ |= at_ != tokens_.size();
    finish(rule, sources);
    return rule;
  }
  bool failed() const { return failed_; }

 private:
  using Source = std::pair<std::string, Expression>;

  std::string next() {
    failed_ |= at_ >= tokens_.size();
    return failed_ ? std::string() : tokens_[at_++];
  }
  bool accept(std::string_view token) {
    if (at_ >= tokens_.size() || tokens_[at_] != token) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view token) { failed_ |= !accept(token); }

  Expression term() {
    if (!accept("(")) return {next(), {}};
    Expression made{next(), {}};
    while (!failed_ && !accept(")")) made.children.push_back(term());
    return made;
  }
  std::vector<Source> side() {
    std::vector<Source> list;
    do {
      Expression first = term();
      if (accept("=")) {
        list.emplace_back(first.head, term());
      } else {
        list.emplace_back("", first);
      }
    } while (!failed_ && accept(","));
    return list;
  }
  Expression expand(const Expression& given) const {
    if (const auto found = definitions_.find(given.head); found != definitions_.end())
      return expand(found->second);
    Expression made{given.head, {}};
    for (const Expression& child : given.children) made.children.push_back(expand(child));
    return made;
  }

  static std::string write(const Expression& e) {
    if (e.children.empty()) return e.head;
    std::string out = "(" + e.head;
    for (const Expression& child : e.children) out += " " + write(child);
    return out + ")";
  }
  static void collect(const Expression& e, std::set<std::string>& vars,
                      std::set<std::string>& ops) {
    if (e.head.starts_with("?")) vars.insert(e.head);
    if (const auto brace = e.head.find("{?"); brace != std::string::npos)
      ops.insert(e.head.substr(brace + 1, e.head.size() - brace - 2));
    for (const Expression& child : e.children) collect(child, vars, ops);
  }
  void finish(Rule& rule, const std::vector<Source>& sources) const {
    std::set<std::string> vars;
    std::set<std::string> ops;
    for (const auto& [var, term] : sources) collect(expand(term), vars, ops);
    std::string left;
    std::string right;
    for (const auto& [l, r] : rule.equations) {
      left += (left.empty() ? "" : ", ") + write(l);
      right += (right.empty() ? "" : ", ") + write(r);
      collect(l, vars, ops);
      collect(r, vars, ops);
    }
    for (const auto& [var, term] : rule.premises) {
      left += ", " + var + " = " + write(term);
      vars.insert(var);
      collect(term, vars, ops);
    }
    rule.text = left + " => " + right;
    for (std::size_t i = 0; i < rule.conditions.size(); ++i) {
      rule.text += (i == 0 ? " if " : " and ") + rule.conditions[i].name + "(";
      for (std::size_t k = 0; k < rule.conditions[i].arguments.size(); ++k) {
        Expression& argument = rule.conditions[i].arguments[k];
        rule.text += (k == 0 ? "" : ", ") + argument.head;
        argument = expand(argument);
        collect(argument, vars, ops);
      }
      rule.text += ")";
    }
    rule.variables.assign(vars.begin(), vars.end());
    rule.operators.assign(ops.begin(), ops.end());
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::map<std::string, Expression> definitions_;
  bool failed_ = false;
};

Status CertificateChecker::add_rules(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("=>") == std::string_view::npos) continue;
    RuleReader reader(line);
    Rule rule = reader.read();
    if (reader.failed()) return base::bad_input("cannot read rule: " + std::string(line));
    const std::string hash = base::content_hash(rule.text).to_hex();
    rules_[hash] = std::move(rule);
  }
  return base::ok();
}

void CertificateChecker::define_condition(std::string name, Condition condition) {
  conditions_[std::move(name)] = std::move(condition);
}
void CertificateChecker::define_axiom(std::string name, Axiom axiom) {
  axioms_[std::move(name)] = std::move(axiom);
}
void CertificateChecker::define_computed(std::string name, Computed computed) {
  computed_[std::move(name)] = std::move(computed);
}

// One certificate being read.
class Replay {
 public:
  using Term = Terms::Term;
  using Expression = CertificateChecker::Expression;
  using Rule = CertificateChecker::Rule;

  explicit Replay(const CertificateChecker& checker) : checker_(checker) {}

  Result<CertificateChecker::Proven> run(const Json& document) {
    EGRET_ASSIGN_OR_RETURN(const std::string format, text_of(document, "format"));
    const bool tree = format == "egret-equality-tree";
    if (!tree && format != "egret-equality-flat") return refuse("unknown format " + format);
    EGRET_RETURN_IF_ERROR(
        has_just(document, {"schema_version", "format", "operators", "terms", "rules", "axioms",
                            tree ? "steps" : "proofs", "claim"}));
    EGRET_ASSIGN_OR_RETURN(const std::size_t version,
                           number(*document.find("schema_version"), 1000, "version"));
    if (version != 1) return refuse("unknown schema version");
    EGRET_RETURN_IF_ERROR(read_tables(document));
    const Json& list = *document.find(tree ? "steps" : "proofs");
    if (!list.is_array()) return refuse("no list of steps");
    for (const Json& item : list.items()) {
      EGRET_ASSIGN_OR_RETURN(const Equation shown, tree ? tree_step(item) : flat_proof(item));
      shown_.push_back(shown);
    }
    const char* const what = tree ? "step" : "proof";
    const Json& claim = *document.find("claim");
    EGRET_RETURN_IF_ERROR(has_just(claim, {"left", "right", what}));
    EGRET_ASSIGN_OR_RETURN(const Equation claimed, sides(claim));
    EGRET_ASSIGN_OR_RETURN(const std::size_t which,
                           number(*claim.find(what), shown_.size(), "step"));
    if (!same(claimed, shown_[which])) return refuse("the claim is not what was shown");
    return CertificateChecker::Proven{terms_.hash(claimed.left), terms_.hash(claimed.right),
                                      terms_.text(claimed.left), terms_.text(claimed.right)};
  }

 private:
  static bool same(const Equation& a, const Equation& b) {
    return a.left == b.left && a.right == b.right;
  }

  // ---- reading ----

  static Status has_just(const Json& object, const std::vector<std::string>& keys) {
    if (!object.is_object()) return refuse("expected an object");
    std::set<std::string> found;
    for (const auto& [key, value] : object.members()) found.insert(key);
    if (found.size() != object.members().size()) return refuse("a field is given twice");
    if (found != std::set<std::string>(keys.begin(), keys.end())) {
      std::string list;
      for (const std::string& key : found) list += " " + key;
      return refuse("missing or unknown fields:" + list);
    }
    return base::ok();
  }
  static Result<std::string> text_of(const Json& object, std::string_view key) {
    const Json* const found = object.find(key);
    if (found == nullptr || !found->is_string())
      return refuse("no text '" + std::string(key) + "'");
    return found->as_string();
  }
  // An integer below `end`.
  static Result<std::size_t> number(const Json& json, std::size_t end, const std::string& what) {
    const auto value = json.as_integer();
    if (!value.ok() || *value < 0 || static_cast<std::size_t>(*value) >= end)
      return refuse("bad " + what);
    return static_cast<std::size_t>(*value);
  }
  Result<Term> term(const Json& json) const {
    EGRET_ASSIGN_OR_RETURN(const std::size_t index, number(json, table_.size(), "term"));
    return table_[index];
  }
  Result<Equation> sides(const Json& object) const {
    EGRET_ASSIGN_OR_RETURN(const Term left, term(*object.find("left")));
    EGRET_ASSIGN_OR_RETURN(const Term right, term(*object.find("right")));
    return Equation{left, right};
  }
  Result<std::vector<Equation>> shown_before(const Json& list) const {
    if (!list.is_array()) return refuse("premises are no list");
    std::vector<Equation> result;
    for (const Json& item : list.items()) {
      EGRET_ASSIGN_OR_RETURN(const std::size_t index, number(item, shown_.size(), "premise"));
      result.push_back(shown_[index]);
    }
    return result;
  }

  Status read_tables(const Json& document) {
    for (const char* key : {"operators", "terms", "rules", "axioms"}) {
      if (!document.find(key)->is_array()) return refuse(std::string(key) + " is no list");
    }
    std::set<std::string> names;
    for (const Json& op : document.find("operators")->items()) {
      if (!op.is_string()) return refuse("an operator is a text");
      operators_.push_back(*op.as_string());
      if (!names.insert(operators_.back()).second) return refuse("an operator is given twice");
    }
    std::set<Term> distinct;
    for (const Json& entry : document.find("terms")->items()) {
      if (!entry.is_array() || entry.items().empty()) return refuse("bad entry of the term table");
      Terms::Node node;
      EGRET_ASSIGN_OR_RETURN(const std::size_t op,
                             number(entry.items()[0], operators_.size(), "operator"));
      node.op = operators_[op];
      for (std::size_t i = 1; i < entry.items().size(); ++i) {
        EGRET_ASSIGN_OR_RETURN(const Term child, term(entry.items()[i]));
        node.children.push_back(child);
      }
      table_.push_back(terms_.make(std::move(node)));
      if (!distinct.insert(table_.back()).second) return refuse("a term is given twice");
    }
    for (const Json& entry : document.find("rules")->items()) {
      EGRET_RETURN_IF_ERROR(has_just(entry, {"name", "text", "hash"}));
      EGRET_ASSIGN_OR_RETURN(const std::string name, text_of(entry, "name"));
      EGRET_ASSIGN_OR_RETURN(const std::string text, text_of(entry, "text"));
      EGRET_ASSIGN_OR_RETURN(const std::string hash, text_of(entry, "hash"));
      const auto known = checker_.rules_.find(hash);
      if (known == checker_.rules_.end()) return refuse("unknown rule " + name + ": " + text);
      if (known->second.name != name || known->second.text != text)
        return refuse("rule " + name + " is not the rule of that hash");
      rules_.push_back(&known->second);
    }
    for (const Json& axiom : document.find("axioms")->items()) {
      if (!axiom.is_string()) return refuse("an axiom is a text");
      axioms_.push_back(*axiom.as_string());
    }
    return base::ok();
  }

  // ---- rules ----

  struct Binding {
    std::map<std::string, Term> terms;
    std::map<std::string, std::string> operators;
    std::vector<Equation> evidence;
  };

  // Whether `e` under the binding is this very term.
  bool is(const Expression& e, Term term, const Binding& binding) const {
    if (e.head.starts_with("?")) return binding.terms.at(e.head) == term;
    const Terms::Node& node = terms_.node(term);
    if (e.head.starts_with("!") && e.children.empty()) {
      const auto computed = checker_.computed_.find(e.head.substr(1));
      return computed != checker_.computed_.end() &&
             computed->second(terms_, binding.terms, binding.operators, term, binding.evidence);
    }
    if (const auto brace = e.head.find("{?"); brace != std::string::npos) {
      const std::string var = e.head.substr(brace + 1, e.head.size() - brace - 2);
      const std::string base = e.head.substr(0, brace);
      if (binding.operators.at(var) != node.op) return false;
      if (node.op != base && !node.op.starts_with(base + "{")) return false;
    } else if (e.head.starts_with("!")) {
      const auto computed = checker_.computed_.find(e.head.substr(1));
      if (computed == checker_.computed_.end() ||
          !computed->second(terms_, binding.terms, binding.operators, term, binding.evidence)) {
        return false;
      }
    } else if (e.head != node.op) {
      return false;
    }
    if (node.children.size() != e.children.size()) return false;
    for (std::size_t i = 0; i < e.children.size(); ++i) {
      if (!is(e.children[i], node.children[i], binding)) return false;
    }
    return true;
  }

  static constexpr const char* kRuleFields[] = {"kind",      "rule",     "equation", "substitution",
                                                "operators", "premises", "evidence"};

  // Checks all that a rule's step says, but for where it is used.
  Status rule_holds(const Json& step, const Equation& claimed) {
    EGRET_ASSIGN_OR_RETURN(const std::size_t index,
                           number(*step.find("rule"), rules_.size(), "rule"));
    const Rule& rule = *rules_[index];
    EGRET_ASSIGN_OR_RETURN(const std::size_t equation,
                           number(*step.find("equation"), rule.equations.size(), "equation"));
    Binding binding;
    EGRET_RETURN_IF_ERROR(has_just(*step.find("substitution"), rule.variables));
    for (const auto& [var, value] : step.find("substitution")->members()) {
      EGRET_ASSIGN_OR_RETURN(binding.terms[var], term(value));
    }
    EGRET_RETURN_IF_ERROR(has_just(*step.find("operators"), rule.operators));
    for (const auto& [var, value] : step.find("operators")->members()) {
      EGRET_ASSIGN_OR_RETURN(const std::size_t op, number(value, operators_.size(), "operator"));
      binding.operators[var] = operators_[op];
    }
    EGRET_ASSIGN_OR_RETURN(const auto premises, shown_before(*step.find("premises")));
    EGRET_ASSIGN_OR_RETURN(binding.evidence, shown_before(*step.find("evidence")));
    const auto& [left, right] = rule.equations[equation];
    if (!is(left, claimed.left, binding)) return refuse(rule.name + ": its left side is another");
    if (!is(right, claimed.right, binding))
      return refuse(rule.name + ": its right side is another");
    if (premises.size() != rule.premises.size()) return refuse(rule.name + ": wrong premises");
    for (std::size_t i = 0; i < premises.size(); ++i) {
      const auto& [var, expression] = rule.premises[i];
      if (premises[i].left != binding.terms.at(var) || !is(expression, premises[i].right, binding))
        return refuse(rule.name + ": another premise is needed");
    }
    return conditions_hold(rule, binding);
  }

  Status conditions_hold(const Rule& rule, const Binding& binding) {
    for (const Rule::Call& call : rule.conditions) {
      const auto known = checker_.conditions_.find(call.name);
      if (known == checker_.conditions_.end()) return refuse("unknown condition " + call.name);
      std::vector<Term> arguments;
      for (const Expression& argument : call.arguments)
        arguments.push_back(make(argument, binding));
      if (!known->second(terms_, arguments, binding.evidence))
        return refuse(rule.name + ": " + call.name + " does not hold");
    }
    return base::ok();
  }
  Term make(const Expression& e, const Binding& binding) {
    if (e.head.starts_with("?")) return binding.terms.at(e.head);
    Terms::Node node{e.head, {}};
    for (const Expression& child : e.children) node.children.push_back(make(child, binding));
    return terms_.make(std::move(node));
  }

  Status axiom_holds(const Json& step, const Equation& claimed) const {
    EGRET_ASSIGN_OR_RETURN(const std::size_t index,
                           number(*step.find("axiom"), axioms_.size(), "axiom"));
    const auto known = checker_.axioms_.find(axioms_[index]);
    if (known == checker_.axioms_.end()) return refuse("unknown axiom " + axioms_[index]);
    if (known->second(terms_, claimed.left, claimed.right)) return base::ok();
    return refuse("axiom " + axioms_[index] + " does not say " + terms_.text(claimed.left) + " = " +
                  terms_.text(claimed.right));
  }

  // ---- trees ----

  Result<Equation> tree_step(const Json& step) {
    EGRET_ASSIGN_OR_RETURN(const std::string kind, text_of(step, "kind"));
    std::vector<std::string> fields{"kind", "left", "right"};
    if (kind == "rule") {
      fields.assign(std::begin(kRuleFields), std::end(kRuleFields));
      fields.insert(fields.end(), {"left", "right"});
    } else if (kind == "axiom") {
      fields.push_back("axiom");
    } else if (kind == "sym" || kind == "trans" || kind == "congruence") {
      fields.push_back("premises");
    } else if (kind != "refl") {
      return refuse("unknown kind of step " + kind);
    }
    EGRET_RETURN_IF_ERROR(has_just(step, fields));
    EGRET_ASSIGN_OR_RETURN(const Equation claimed, sides(step));
    if (kind == "rule") {
      EGRET_RETURN_IF_ERROR(rule_holds(step, claimed));
    } else if (kind == "axiom") {
      EGRET_RETURN_IF_ERROR(axiom_holds(step, claimed));
    } else if (kind == "refl") {
      if (claimed.left != claimed.right) return refuse("reflexivity of two terms");
    } else {
      EGRET_ASSIGN_OR_RETURN(const auto premises, shown_before(*step.find("premises")));
      EGRET_RETURN_IF_ERROR(follows(kind, premises, claimed));
    }
    return claimed;
  }

  Status follows(const std::string& kind, const std::vector<Equation>& premises,
                 const Equation& claimed) const {
    if (kind == "sym") {
      if (premises.size() == 1 && same(premises[0], {claimed.right, claimed.left}))
        return base::ok();
      return refuse("symmetry of something else");
    }
    if (kind == "trans") {
      Term at = claimed.left;
      for (const Equation& premise : premises) {
        if (premise.left != at) return refuse("a broken chain");
        at = premise.right;
      }
      if (premises.size() < 2 || at != claimed.right) return refuse("a chain to somewhere else");
      return base::ok();
    }
    const Terms::Node& left = terms_.node(claimed.left);
    const Terms::Node& right = terms_.node(claimed.right);
    if (left.op != right.op || left.children.size() != premises.size() ||
        right.children.size() != premises.size()) {
      return refuse("congruence of different operators");
    }
    for (std::size_t i = 0; i < premises.size(); ++i) {
      if (!same(premises[i], {left.children[i], right.children[i]}))
        return refuse("congruence needs another premise");
    }
    return base::ok();
  }

  // ---- sequences ----

  Result<Equation> flat_proof(const Json& proof) {
    EGRET_RETURN_IF_ERROR(has_just(proof, {"left", "right", "steps"}));
    EGRET_ASSIGN_OR_RETURN(const Equation claimed, sides(proof));
    if (!proof.find("steps")->is_array()) return refuse("no list of rewrites");
    Term at = claimed.left;
    for (const Json& step : proof.find("steps")->items()) {
      EGRET_ASSIGN_OR_RETURN(at, rewrite(step, at));
    }
    if (at != claimed.right) return refuse("the rewrites end in another term");
    return claimed;
  }

  // The term after one rewrite of `whole`.
  Result<Term> rewrite(const Json& step, Term whole) {
    EGRET_ASSIGN_OR_RETURN(const std::string kind, text_of(step, "kind"));
    std::vector<std::string> fields;
    if (kind == "rule") {
      fields.assign(std::begin(kRuleFields), std::end(kRuleFields));
    } else if (kind == "axiom") {
      fields = {"kind", "axiom", "left", "right"};
    } else {
      return refuse("unknown kind of rewrite " + kind);
    }
    fields.insert(fields.end(), {"direction", "position", "term"});
    EGRET_RETURN_IF_ERROR(has_just(step, fields));
    EGRET_ASSIGN_OR_RETURN(const std::string direction, text_of(step, "direction"));
    if (direction != "forward" && direction != "backward")
      return refuse("unknown direction " + direction);
    EGRET_ASSIGN_OR_RETURN(const Term after, term(*step.find("term")));

    // Down to the position in both terms, which must agree beside it.
    if (!step.find("position")->is_array()) return refuse("no position");
    Term from = whole;
    Term to = after;
    for (const Json& item : step.find("position")->items()) {
      const Terms::Node& a = terms_.node(from);
      const Terms::Node& b = terms_.node(to);
      EGRET_ASSIGN_OR_RETURN(const std::size_t child, number(item, a.children.size(), "position"));
      if (a.op != b.op || a.children.size() != b.children.size())
        return refuse("a rewrite changes more than its position");
      for (std::size_t i = 0; i < a.children.size(); ++i) {
        if (i != child && a.children[i] != b.children[i])
          return refuse("a rewrite changes more than its position");
      }
      from = a.children[child];
      to = b.children[child];
    }
    const Equation used = direction == "forward" ? Equation{from, to} : Equation{to, from};
    if (kind == "rule") {
      EGRET_RETURN_IF_ERROR(rule_holds(step, used));
    } else {
      EGRET_ASSIGN_OR_RETURN(const Equation said, sides(step));
      if (!same(said, used)) return refuse("the axiom is about other terms");
      EGRET_RETURN_IF_ERROR(axiom_holds(step, used));
    }
    return after;
  }

  const CertificateChecker& checker_;
  Terms terms_;
  std::vector<std::string> operators_;
  std::vector<Term> table_;
  std::vector<const Rule*> rules_;
  std::vector<std::string> axioms_;
  std::vector<Equation> shown_;
};

Result<CertificateChecker::Proven> CertificateChecker::check(const Json& certificate) const {
  return Replay(*this).run(certificate);
}

}  // namespace egret::checking
