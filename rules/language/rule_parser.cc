// SPDX-License-Identifier: Apache-2.0
#include "rules/language/rule_parser.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <set>

#include "base/did_you_mean.h"
#include "rules/language/builtin_rules.h"
#include "rules/language/expression_parser.h"
#include "rules/language/expression_reads.h"
#include "rules/language/rule_lexer.h"

namespace egret::rules {

using base::Result;
using base::Status;

namespace {

constexpr std::string_view kItemWords[] = {"rule", "where", "heuristic", "let"};

bool begins_item(const Token& token) {
  return token.kind == Token::Kind::kWord &&
         std::ranges::find(kItemWords, token.text) != std::end(kItemWords);
}

// Marks the attribute variables that a left-side pattern binds: a variable alone, or as an element
// of a list.
void bind_pattern(const Expr& pattern, NameTable& attributes) {
  if (pattern.kind == Expr::Kind::kAttribute) attributes.bind(pattern.slot);
  if (pattern.kind == Expr::Kind::kList) {
    for (const Expr& element : pattern.arguments) {
      if (element.kind == Expr::Kind::kAttribute) attributes.bind(element.slot);
    }
  }
}

class RuleParser {
 public:
  explicit RuleParser(TokenReader& tokens) : tokens_(tokens), expressions_(tokens, names_) {}

  // The rule, and its reverse if it is written with '<=>'.
  Result<std::vector<Rule>> run();

 private:
  Status header();
  Status items();
  Status check_signs(const Expr& condition) const;
  Status source();
  Status let();
  Status targets();
  Result<Term> tensor_term();
  Result<Term> term(bool left);
  Result<Term> scalar_term(bool left);
  Result<Term> application(const Token& name, bool left);
  Status attributes(Term& result, bool left);
  Status attribute(Term& result, bool left);
  Status check_attributes(const Term& result, bool left) const;
  Status check_arity(const Term& result) const;
  Status close_names();
  Result<Rule> reversed() const;

  TokenReader& tokens_;
  RuleNames names_;
  ExpressionParser expressions_;
  Rule rule_;
  bool both_ways_ = false;
  int depth_ = 0;
  int anonymous_ = 0;
};

Result<std::vector<Rule>> RuleParser::run() {
  EGRET_RETURN_IF_ERROR(header());
  EGRET_RETURN_IF_ERROR(items());
  if (rule_.targets.empty())
    return tokens_.error(rule_.at, "rule '" + rule_.name + "' has no '=>'");
  rule_.tensors = names_.tensors.names();
  rule_.attributes = names_.attributes.names();
  rule_.spreads = names_.spreads.names();
  std::vector<Rule> rules{rule_};
  if (both_ways_) {
    EGRET_ASSIGN_OR_RETURN(Rule back, reversed());
    rules.push_back(std::move(back));
  }
  return rules;
}

Status RuleParser::header() {
  if (!tokens_.peek().is_word("rule"))
    return tokens_.error(tokens_.peek().at, "expected 'rule' here");
  tokens_.take();
  const Token name = tokens_.take();
  rule_.name = name.text;
  rule_.at = name.at;
  rule_.file = tokens_.file();
  if (tokens_.peek().kind == Token::Kind::kText) rule_.doc = tokens_.take().text;
  if (!tokens_.accept("[")) return base::ok();
  do {
    const Token tag = tokens_.take();
    if (tag.kind != Token::Kind::kWord) return tokens_.error(tag.at, "expected a tag here");
    rule_.tags.emplace_back(tag.text);
  } while (tokens_.accept(","));
  return tokens_.expect("]");
}

Status RuleParser::items() {
  for (;;) {
    const Token token = tokens_.peek();
    if (token.kind == Token::Kind::kEnd || token.is_word("rule")) return base::ok();
    if (token.is_word("where") || token.is_word("heuristic")) {
      EGRET_RETURN_IF_ERROR(close_names());
      tokens_.take();
      EGRET_ASSIGN_OR_RETURN(Expr condition, expressions_.parse());
      if (token.text == "where") EGRET_RETURN_IF_ERROR(check_signs(condition));
      (token.text == "where" ? rule_.conditions : rule_.heuristics).push_back(std::move(condition));
    } else if (token.is_word("let")) {
      EGRET_RETURN_IF_ERROR(close_names());
      EGRET_RETURN_IF_ERROR(let());
    } else if (token.is("=>") || token.is("<=>")) {
      EGRET_RETURN_IF_ERROR(close_names());
      EGRET_RETURN_IF_ERROR(targets());
    } else {
      EGRET_RETURN_IF_ERROR(source());
    }
  }
}

// Proofs and tests give a variable the sign that the conditions state. They must therefore state it
// for all instances, and of a variable.
Status RuleParser::check_signs(const Expr& condition) const {
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) EGRET_RETURN_IF_ERROR(check_signs(part));
    return base::ok();
  }
  if (const Expr* nested = nested_sign(condition)) {
    return tokens_.error(nested->at, std::string(nested->function->name) +
                                         "() must be a condition of its own or joined by 'and'");
  }
  const bool of_variable =
      !states_sign(condition) ||
      names_.tensors.names()[static_cast<std::size_t>(condition.arguments[0].slot)].starts_with(
          '?');
  if (!of_variable) {
    return tokens_.error(condition.at, std::string(condition.function->name) +
                                           "() applies to variables alone, not to named terms");
  }
  return base::ok();
}

Status RuleParser::source() {
  const Token first = tokens_.peek();
  if (!names_.open)
    return tokens_.error(first.at, "sources must come before 'where', 'heuristic', 'let' and '=>'");
  Binding binding;
  std::string name = "out";
  if (first.kind == Token::Kind::kWord && tokens_.peek(1).is("=")) {
    name = tokens_.take().text;
    tokens_.take();
  }
  EGRET_ASSIGN_OR_RETURN(binding.term, term(true));
  if (binding.term.kind != Term::Kind::kApply)
    return tokens_.error(first.at, "a source must apply an operator");
  if (names_.tensors.find(name) >= 0)
    return tokens_.error(first.at, "duplicate value '" + name + "'");
  binding.tensor = names_.tensors.add(name, first.at);
  names_.tensors.bind(binding.tensor);
  rule_.sources.push_back(std::move(binding));
  return base::ok();
}

// After the sources, every name must be bound.
Status RuleParser::close_names() {
  if (!names_.open) return base::ok();
  names_.open = false;
  if (rule_.sources.empty())
    return tokens_.error(tokens_.peek().at, "a rule must begin with a source");
  for (int slot = 0; slot < static_cast<int>(names_.tensors.names().size()); ++slot) {
    if (!names_.tensors.is_bound(slot)) {
      return tokens_.error(names_.tensors.first_use(slot),
                           "no source contains the tensor " +
                               names_.tensors.names()[static_cast<std::size_t>(slot)]);
    }
  }
  for (int slot = 0; slot < static_cast<int>(names_.attributes.names().size()); ++slot) {
    if (!names_.attributes.is_bound(slot)) {
      return tokens_.error(names_.attributes.first_use(slot),
                           "no source binds the attribute ?" +
                               names_.attributes.names()[static_cast<std::size_t>(slot)] +
                               "; it must occur alone or in a list");
    }
  }
  return base::ok();
}

Status RuleParser::let() {
  tokens_.take();
  if (!rule_.targets.empty())
    return tokens_.error(tokens_.peek().at, "'let' must come before '=>'");
  const Token name = tokens_.take();
  EGRET_RETURN_IF_ERROR(tokens_.expect("="));
  Rule::Let let;
  if (name.kind == Token::Kind::kVariable) {
    if (names_.attributes.find(name.text) >= 0 ||
        names_.tensors.find("?" + std::string(name.text)) >= 0) {
      return tokens_.error(name.at, "?" + std::string(name.text) + " is already bound");
    }
    EGRET_ASSIGN_OR_RETURN(let.value, expressions_.parse());
    let.attribute = names_.attributes.add(name.text, name.at);
  } else if (name.kind == Token::Kind::kWord) {
    if (names_.tensors.find(name.text) >= 0) {
      return tokens_.error(name.at, "duplicate value '" + std::string(name.text) + "'");
    }
    EGRET_ASSIGN_OR_RETURN(let.term, tensor_term());
    let.tensor = names_.tensors.add(name.text, name.at);
  } else {
    return tokens_.error(name.at, "expected a value or an attribute variable after 'let'");
  }
  rule_.lets.push_back(std::move(let));
  return base::ok();
}

Status RuleParser::targets() {
  const Token arrow = tokens_.take();
  if (!rule_.targets.empty()) return tokens_.error(arrow.at, "a rule must have one arrow");
  both_ways_ = arrow.text == "<=>";
  while (tokens_.peek().kind != Token::Kind::kEnd && !begins_item(tokens_.peek())) {
    Token name = tokens_.peek();
    Binding binding;
    if (name.kind == Token::Kind::kWord && tokens_.peek(1).is("=")) {
      tokens_.take();
      tokens_.take();
    } else {
      name.text = "out";
    }
    const auto source = std::ranges::find_if(rule_.sources, [&](const Binding& candidate) {
      return rule_.sources.size() == 1 && name.text == "out"
                 ? true
                 : candidate.tensor == names_.tensors.find(name.text);
    });
    if (source == rule_.sources.end()) {
      return tokens_.error(name.at,
                           "unknown source '" + std::string(name.text) +
                               "'; with several sources, each target must name its source");
    }
    binding.tensor = source->tensor;
    EGRET_ASSIGN_OR_RETURN(binding.term, tensor_term());
    rule_.targets.push_back(std::move(binding));
  }
  if (rule_.targets.empty())
    return tokens_.error(tokens_.peek().at, "expected a target after the arrow");
  return base::ok();
}

Result<Term> RuleParser::term(bool left) {
  const Token token = tokens_.peek();
  if (++depth_ > ExpressionParser::kMaxDepth)
    return tokens_.error(token.at, "terms are nested too deeply");
  Result<Term> result = [&]() -> Result<Term> {
    const bool number = token.kind == Token::Kind::kInteger || token.kind == Token::Kind::kReal ||
                        token.is("-") || token.is_word("value");
    if (number) return scalar_term(left);
    if (token.kind != Token::Kind::kVariable && token.kind != Token::Kind::kWord)
      return tokens_.error(token.at, "expected a term here");
    tokens_.take();
    const bool applied = tokens_.peek().is("(") || tokens_.peek().is("{");
    if (token.kind == Token::Kind::kWord && applied) return application(token, left);
    Term variable;
    variable.at = token.at;
    EGRET_ASSIGN_OR_RETURN(variable.slot, expressions_.tensor_slot(token));
    if (left && token.kind == Token::Kind::kVariable) names_.tensors.bind(variable.slot);
    return variable;
  }();
  --depth_;
  return result;
}

// A term on the right that needs a shape of its own: a number is not allowed.
Result<Term> RuleParser::tensor_term() {
  EGRET_ASSIGN_OR_RETURN(Term made, term(false));
  if (made.kind == Term::Kind::kScalar)
    return tokens_.error(made.at, "a number alone has no shape; use it beside a tensor");
  return made;
}

Result<Term> RuleParser::scalar_term(bool left) {
  Term result;
  result.kind = Term::Kind::kScalar;
  result.at = tokens_.peek().at;
  const bool written_out = tokens_.peek().is_word("value");
  if (written_out) {
    tokens_.take();
    EGRET_RETURN_IF_ERROR(tokens_.expect("("));
  }
  EGRET_ASSIGN_OR_RETURN(Expr value, expressions_.parse());
  if (written_out) EGRET_RETURN_IF_ERROR(tokens_.expect(")"));
  if (!left) {
    result.value.push_back(std::move(value));
    return result;
  }
  // On the left: a new variable with the condition that all its elements equal the number.
  result.kind = Term::Kind::kTensor;
  result.slot = names_.tensors.add("?_" + std::to_string(++anonymous_), result.at);
  names_.tensors.bind(result.slot);
  Expr tensor;
  tensor.kind = Expr::Kind::kTensor;
  tensor.slot = result.slot;
  tensor.at = result.at;
  Expr condition;
  condition.kind = Expr::Kind::kCall;
  condition.function = find_function("splat");
  condition.arguments = {std::move(tensor), std::move(value)};
  condition.at = result.at;
  rule_.conditions.push_back(std::move(condition));
  return result;
}

Result<Term> RuleParser::application(const Token& name, bool left) {
  Term result;
  result.kind = Term::Kind::kApply;
  result.at = name.at;
  result.op = ir::find_operator(name.text);
  if (result.op == nullptr) {
    std::vector<std::string> known;
    for (const ir::Operator* op : ir::all_operators()) known.push_back(op->name());
    return tokens_.error(name.at, "unknown operator '" + std::string(name.text) +
                                      "' (`egret ops` lists them)" +
                                      base::did_you_mean(name.text, known));
  }
  if (tokens_.accept("{")) EGRET_RETURN_IF_ERROR(attributes(result, left));
  EGRET_RETURN_IF_ERROR(check_attributes(result, left));
  if (tokens_.accept("(") && !tokens_.accept(")")) {
    do {
      EGRET_ASSIGN_OR_RETURN(Term argument, term(left));
      result.arguments.push_back(std::move(argument));
    } while (tokens_.accept(","));
    EGRET_RETURN_IF_ERROR(tokens_.expect(")"));
  }
  EGRET_RETURN_IF_ERROR(check_arity(result));
  return result;
}

Status RuleParser::attributes(Term& result, bool left) {
  if (tokens_.accept("}")) return base::ok();
  do {
    EGRET_RETURN_IF_ERROR(attribute(result, left));
  } while (tokens_.accept(","));
  return tokens_.expect("}");
}

Status RuleParser::attribute(Term& result, bool left) {
  const Token token = tokens_.take();
  if (token.is("*")) {
    if (result.spread != Term::kNoSpread)
      return tokens_.error(token.at, "an operator may have one '*'");
    if (tokens_.peek().kind != Token::Kind::kWord) {
      if (!left)
        return tokens_.error(token.at, "'*' on the right side needs the name of a capture");
      result.spread = Term::kAnySpread;
      return base::ok();
    }
    const Token name = tokens_.take();
    result.spread = names_.spreads.find(name.text);
    if (result.spread < 0 && !left) {
      return tokens_.error(name.at, "no source captures attributes as *" + std::string(name.text) +
                                        base::did_you_mean(name.text, names_.spreads.names()));
    }
    if (result.spread < 0) result.spread = names_.spreads.add(name.text, name.at);
    names_.spreads.bind(result.spread);
    if (left) names_.spreads.add_members(result.spread, result.op->attrs());
    return base::ok();
  }
  if (token.kind != Token::Kind::kWord)
    return tokens_.error(token.at, "expected an attribute's name here");
  const auto& specs = result.op->attrs();
  if (specs.empty())
    return tokens_.error(token.at, "operator '" + result.op->name() + "' has no attributes");
  if (std::ranges::find(specs, token.text, &ir::AttrSpec::name) == specs.end()) {
    std::vector<std::string> known;
    for (const ir::AttrSpec& spec : specs) known.push_back(spec.name);
    return tokens_.error(token.at, "operator '" + result.op->name() + "' has no attribute '" +
                                       std::string(token.text) + "'" +
                                       base::known_names(token.text, known));
  }
  if (std::ranges::find(result.attrs, token.text, &Term::Attr::name) != result.attrs.end())
    return tokens_.error(token.at, "attribute '" + std::string(token.text) + "' is given twice");
  EGRET_RETURN_IF_ERROR(tokens_.expect("="));
  EGRET_ASSIGN_OR_RETURN(Expr value, expressions_.parse());
  if (left) bind_pattern(value, names_.attributes);
  result.attrs.push_back({std::string(token.text), std::move(value), token.at});
  return base::ok();
}

// Attributes without a default must be mentioned, unless '*' covers them.
Status RuleParser::check_attributes(const Term& result, bool left) const {
  if (result.spread != Term::kNoSpread) return base::ok();
  for (const ir::AttrSpec& spec : result.op->attrs()) {
    if (spec.default_value) continue;
    if (std::ranges::find(result.attrs, spec.name, &Term::Attr::name) != result.attrs.end())
      continue;
    return tokens_.error(result.at, "operator '" + result.op->name() + "' needs its attribute '" +
                                        spec.name + "'" +
                                        (left ? "; write {*} if any value is allowed" : ""));
  }
  return base::ok();
}

Status RuleParser::check_arity(const Term& result) const {
  const Status status = ir::check_arity(*result.op, result.arguments.size());
  return status.ok() ? status : tokens_.error(result.at, status.message());
}

// The rule with sources and targets exchanged. Named values of the right side become sources too.
Result<Rule> RuleParser::reversed() const {
  Rule back = rule_;
  back.name += "-reversed";
  back.targets.clear();
  back.sources.clear();
  back.lets.clear();
  NameTable tensors;
  NameTable attributes;
  for (const std::string& name : rule_.tensors) tensors.add(name, rule_.at);
  for (const std::string& name : rule_.attributes) attributes.add(name, rule_.at);
  std::set<int> spreads;
  Status status;
  const auto add_source = [&](int tensor, const Term& term) {
    for_each_subterm(term, [&](const Term& part) {
      if (part.kind == Term::Kind::kScalar)
        status = tokens_.error(part.at, "'<=>' cannot have a number as its right side");
      if (part.kind == Term::Kind::kTensor) tensors.bind(part.slot);
      spreads.insert(part.spread);
      for (const Term::Attr& attr : part.attrs) bind_pattern(attr.value, attributes);
    });
    tensors.bind(tensor);
    back.sources.push_back({tensor, term});
  };
  for (const Rule::Let& let : rule_.lets) {
    if (let.tensor >= 0) {
      add_source(let.tensor, let.term);
    } else {
      attributes.bind(let.attribute);
      back.lets.push_back(let);
    }
  }
  for (const Binding& target : rule_.targets) {
    if (target.term.kind != Term::Kind::kApply)
      return tokens_.error(target.term.at, "'<=>' needs an operator on its right side");
    add_source(target.tensor, target.term);
  }
  EGRET_RETURN_IF_ERROR(status);
  // Every source must have a target, since the reverse would otherwise leave it undefined.
  for (const Binding& source : rule_.sources) {
    const bool rewritten =
        std::ranges::find(rule_.targets, source.tensor, &Binding::tensor) != rule_.targets.end();
    if (!rewritten) return tokens_.error(rule_.at, "'<=>' needs a target for every source");
    back.targets.push_back(source);
  }
  for (std::size_t i = 0; i < rule_.tensors.size(); ++i) {
    if (tensors.is_bound(static_cast<int>(i))) continue;
    return tokens_.error(names_.tensors.first_use(static_cast<int>(i)),
                         "'<=>' needs " + rule_.tensors[i] + " on both sides");
  }
  for (std::size_t i = 0; i < rule_.attributes.size(); ++i) {
    if (attributes.is_bound(static_cast<int>(i))) continue;
    return tokens_.error(names_.attributes.first_use(static_cast<int>(i)),
                         "'<=>' needs a right side that binds ?" + rule_.attributes[i]);
  }
  for (std::size_t i = 0; i < rule_.spreads.size(); ++i) {
    if (spreads.contains(static_cast<int>(i))) continue;
    return tokens_.error(names_.spreads.first_use(static_cast<int>(i)),
                         "'<=>' needs *" + rule_.spreads[i] + " on both sides");
  }
  return back;
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view file, std::string_view text) {
  EGRET_ASSIGN_OR_RETURN(std::vector<Token> tokens, lex_rules(file, text));
  TokenReader reader(file, text, std::move(tokens));
  std::vector<Rule> rules;
  std::set<std::string> names;
  while (reader.peek().kind != Token::Kind::kEnd) {
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> parsed, RuleParser(reader).run());
    for (Rule& rule : parsed) {
      if (!names.insert(rule.name).second)
        return reader.error(rule.at, "duplicate rule '" + rule.name + "'");
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

namespace {

// The rules of a text that have one of these names, as text. O(length of the text).
std::string rules_named(std::string_view text, const std::map<std::string, std::string>& names) {
  constexpr std::string_view kReversed = "-reversed";
  constexpr std::string_view kRule = "rule ";
  std::set<std::string_view> plain;
  for (const auto& [key, full] : names) {
    std::string_view name = full;
    name.remove_prefix(name.rfind('/') + 1);  // of npos, too
    plain.insert(name);
    if (name.ends_with(kReversed)) plain.insert(name.substr(0, name.size() - kReversed.size()));
  }
  std::string kept;
  bool keeps = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    at = end;
    if (line.starts_with(kRule)) {
      const std::string_view name = line.substr(kRule.size());
      keeps = plain.contains(name.substr(0, name.find_first_of(" \r\n")));
    }
    if (keeps) kept += line;
  }
  return kept;
}

}  // namespace

Result<std::vector<Rule>> parse_builtin_rules(const std::map<std::string, std::string>* names) {
  std::vector<Rule> all;
  for (const std::string_view text : builtin_rule_texts()) {
    const std::string some = names != nullptr ? rules_named(text, *names) : std::string(text);
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> rules, parse_rules("a rule file of Egret", some));
    std::ranges::move(rules, std::back_inserter(all));
  }
  return all;
}

}  // namespace egret::rules
