// SPDX-License-Identifier: Apache-2.0
// Replays the certificates of egraph/proofs/explanation_certificate.h by plain term matching. It
// shares no code with the engine: rules come from text, through a parser of its own, and all it
// knows of e-graphs is that it need not know them.
//
// It accepts nothing that it does not understand: unknown fields, kinds, directions, rules, axioms
// and conditions are refused, and so is whatever a step says that it does not need to say.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"

namespace egret::checking {

// Terms by structure: equal terms have equal numbers.
class Terms {
 public:
  using Term = std::size_t;
  struct Node {
    std::string op;
    std::vector<Term> children;
    friend auto operator<=>(const Node&, const Node&) = default;
  };

  Term make(Node node);
  const Node& node(Term term) const { return nodes_[term]; }
  // A hash of the whole structure.
  const std::string& hash(Term term) const { return hashes_[term]; }
  std::string text(Term term) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::string> hashes_;
  std::map<Node, Term> index_;
};

struct Equation {
  Terms::Term left;
  Terms::Term right;
};

class CertificateChecker {
 public:
  using Term = Terms::Term;
  // Whether a condition holds of these terms. `evidence` are equalities proven beside it.
  using Condition = std::function<bool(const Terms&, const std::vector<Term>& arguments,
                                       const std::vector<Equation>& evidence)>;
  using Axiom = std::function<bool(const Terms&, Term left, Term right)>;
  // Whether the client's function "!name" makes this term of these terms and operators.
  using Computed = std::function<bool(const Terms&, const std::map<std::string, Term>& substitution,
                                      const std::map<std::string, std::string>& operators,
                                      Term made, const std::vector<Equation>& evidence)>;

  // One rule a line, as egraph/search/syntax.h describes them; all must have names. Right sides may
  // contain !name where a function of the client's is meant, and operators name{?variable}.
  base::Status add_rules(std::string_view text);
  void define_condition(std::string name, Condition condition);
  void define_axiom(std::string name, Axiom axiom);
  void define_computed(std::string name, Computed computed);

  // What was proven, as hashes of the two terms, or why nothing was.
  struct Proven {
    std::string left;
    std::string right;
    std::string left_text;
    std::string right_text;
    friend bool operator==(const Proven&, const Proven&) = default;
  };
  base::Result<Proven> check(const base::Json& certificate) const;

 private:
  friend class Replay;
  friend class RuleReader;

  // An expression of a rule: a variable "?a", a computed term "!f", or an operator on children.
  struct Expression {
    std::string head;
    std::vector<Expression> children;
  };
  struct Rule {
    std::string name;
    std::string text;
    std::vector<std::pair<Expression, Expression>> equations;
    std::vector<std::pair<std::string, Expression>> premises;
    struct Call {
      std::string name;
      std::vector<Expression> arguments;
    };
    std::vector<Call> conditions;
    std::vector<std::string> variables;
    std::vector<std::string> operators;
  };

  std::map<std::string, Rule> rules_;  // by hash of the text
  std::map<std::string, Condition> conditions_;
  std::map<std::string, Axiom> axioms_;
  std::map<std::string, Computed> computed_;
};

}  // namespace egret::checking
