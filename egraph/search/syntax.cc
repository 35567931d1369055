// SPDX-License-Identifier: Apache-2.0
// Parses text to tokens, then to flat terms (children before parents, without recursion), then to
// the result.
#include "egraph/search/syntax.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "base/small_vector.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

struct Token {
  std::string_view text;  // "(", ")", "," or a word; empty at the end
  std::size_t line = 1;
  std::size_t column = 1;

  bool is_word() const { return !text.empty() && text != "(" && text != ")" && text != ","; }
  bool is_var() const { return text.size() > 1 && text[0] == '?'; }
};

Status error_at(const Token& token, std::string message) {
  std::string place = "line ";
  place += std::to_string(token.line) + ", column " + std::to_string(token.column);
  return base::bad_input(std::move(message)).at(place);
}

class Lexer {
 public:
  Lexer(std::string_view text, std::size_t first_line) : text_(text) {
    token_.line = line_ = first_line;
    next();
  }

  const Token& peek() const { return token_; }
  Token next() {
    const Token current = token_;
    skip_space();
    token_ = {{}, line_, at_ - line_begin_ + 1};
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_single(text_[at_])) {
      ++at_;
    } else {
      while (at_ < text_.size() && !is_single(text_[at_]) && !is_space(text_[at_])) ++at_;
    }
    token_.text = text_.substr(begin, at_ - begin);
    return current;
  }
  bool accept(std::string_view text) {
    if (token_.text != text) return false;
    next();
    return true;
  }

 private:
  static bool is_single(char c) { return c == '(' || c == ')' || c == ','; }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void skip_space() {
    for (bool comment = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') comment = true;
      if (!comment && !is_space(c)) return;
      if (c != '\n') continue;
      comment = false;
      ++line_;
      line_begin_ = at_ + 1;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
  Token token_;
};

// The nodes of a term, children first. The last node is the root.
struct Term {
  struct Node {
    Token head;
    std::vector<std::size_t> children;
  };
  std::vector<Node> nodes;
};

// A stack of open heads replaces recursion, so deep terms do not exhaust the program's stack.
Result<Term> parse_term(Lexer& lexer) {
  Term term;
  std::vector<Term::Node> open;  // heads whose ")" is still to come
  while (true) {
    const Token token = lexer.next();
    if (token.text == "(") {
      const Token head = lexer.next();
      if (!head.is_word()) return error_at(head, "expected an operator after '('");
      if (head.is_var()) return error_at(head, "a variable cannot be applied");
      open.push_back({head, {}});
      continue;
    }
    if (token.text == ")" && !open.empty()) {
      term.nodes.push_back(std::move(open.back()));
      open.pop_back();
    } else if (token.is_word()) {
      if (token.text == "?") return error_at(token, "a variable needs a name after '?'");
      term.nodes.push_back({token, {}});
    } else if (token.text.empty() && !open.empty()) {
      return error_at(open.back().head, "the parenthesis before '" +
                                            std::string(open.back().head.text) + "' is not closed");
    } else {
      return error_at(token, token.text.empty()
                                 ? "expected a term, found the end"
                                 : "expected a term, found '" + std::string(token.text) + "'");
    }
    if (open.empty()) return term;
    open.back().children.push_back(term.nodes.size() - 1);
  }
}

Status expect_end(const Lexer& lexer) {
  if (lexer.peek().text.empty()) return base::ok();
  return error_at(lexer.peek(), "unexpected '" + std::string(lexer.peek().text) + "'");
}

std::vector<VarId> select(const std::vector<VarId>& values,
                          const std::vector<std::size_t>& indices) {
  std::vector<VarId> result;
  for (const std::size_t i : indices) result.push_back(values[i]);
  return result;
}

// Adds the term to the pattern and returns its root's variable. With `result`, that variable
// becomes the class of the root, which must not be a variable itself.
VarId add_to_pattern(const Term& term, OpTable& ops, Pattern& pattern, VarId result = {}) {
  std::vector<VarId> vars;
  for (const Term::Node& node : term.nodes) {
    if (node.head.is_var()) {
      vars.push_back(pattern.var(node.head.text.substr(1)));
    } else {
      const bool is_root = &node == &term.nodes.back();
      vars.push_back(pattern.node(ops.op(node.head.text, node.children.size()),
                                  select(vars, node.children), is_root ? result : VarId()));
    }
  }
  return vars.back();
}

}  // namespace

// [name:] side => side [if call {and call}]
class RuleParser {
 public:
  RuleParser(const Syntax& syntax, Lexer& lexer) : syntax_(syntax), lexer_(lexer) {}

  Result<Rewrite> run(std::string default_name) {
    std::string name = std::move(default_name);
    if (lexer_.peek().is_word() && lexer_.peek().text.ends_with(':')) {
      name = lexer_.next().text;
      name.pop_back();
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<Equation> sources, parse_side(Side::kSources));
    const Token arrow = lexer_.peek();
    if (!lexer_.accept("=>")) return error_at(arrow, "expected '=>'");
    EGRET_ASSIGN_OR_RETURN(const std::vector<Equation> targets, parse_side(Side::kTargets));

    Pattern pattern;
    std::vector<VarId> roots;
    for (const Equation& source : sources) {
      EGRET_ASSIGN_OR_RETURN(const VarId root, add_source(source, pattern));
      roots.push_back(root);
    }
    Rewrite rewrite(std::move(name), std::move(pattern));
    std::optional<Rewrite::Reads> builders_read;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!targets[i].var && i >= roots.size()) {
        return error_at(targets[i].term.nodes.back().head, "this target has no source");
      }
      VarId root;
      if (targets[i].var) {
        EGRET_ASSIGN_OR_RETURN(root, variable(*targets[i].var, rewrite.pattern()));
      } else {
        root = roots[i];
      }
      EGRET_ASSIGN_OR_RETURN(const VarId built, targets[i].is_call
                                                    ? build_call(targets[i], rewrite)
                                                    : build(targets[i].term, rewrite));
      rewrite.equate(root, built);
      if (!targets[i].is_call) continue;
      const auto reads =
          syntax_.builders_.find(targets[i].term.nodes.back().head.text)->second.reads;
      builders_read = std::max(builders_read.value_or(reads), reads);
    }
    if (builders_read) rewrite.builders_read(*builders_read);
    if (lexer_.accept("if")) {
      do {
        EGRET_RETURN_IF_ERROR(parse_condition(rewrite));
      } while (lexer_.accept("and"));
    }
    EGRET_RETURN_IF_ERROR(expect_end(lexer_));
    return rewrite;
  }

 private:
  enum class Side : unsigned char { kSources, kTargets };

  struct Equation {
    std::optional<Token> var;
    Term term;  // of a call: its name alone
    bool is_call = false;
    std::vector<Token> arguments;
  };

  Result<std::vector<Equation>> parse_side(Side which) {
    std::vector<Equation> side;
    do {
      Equation equation;
      EGRET_ASSIGN_OR_RETURN(equation.term, parse_term(lexer_));
      if (lexer_.peek().text == "=") {
        equation.var = equation.term.nodes.back().head;
        if (!equation.var->is_var())
          return error_at(*equation.var, "expected a variable before '='");
        lexer_.next();
        EGRET_ASSIGN_OR_RETURN(equation.term, parse_term(lexer_));
      }
      // On the right side, a single word before "(" is the name of a call.
      if (which == Side::kTargets && equation.term.nodes.size() == 1 && lexer_.accept("(")) {
        equation.is_call = true;
        EGRET_ASSIGN_OR_RETURN(equation.arguments, parse_arguments());
      }
      side.push_back(std::move(equation));
    } while (lexer_.accept(","));
    return side;
  }

  Result<VarId> add_source(const Equation& source, Pattern& pattern) {
    if (!source.var) return add_to_pattern(source.term, syntax_.ops_, pattern);
    const Token& root = source.term.nodes.back().head;
    if (root.is_var()) return error_at(root, "expected an operator after '='");
    return add_to_pattern(source.term, syntax_.ops_, pattern,
                          pattern.var(source.var->text.substr(1)));
  }

  static Result<VarId> variable(const Token& token, const Pattern& pattern) {
    const VarId var = token.is_var() ? pattern.find_var(token.text.substr(1)) : VarId();
    if (var.valid()) return var;
    return error_at(token, token.is_var() ? "variable " + std::string(token.text) +
                                                " does not occur on the left side"
                                          : "expected a variable");
  }

  Result<VarId> build(const Term& term, Rewrite& rewrite) {
    std::vector<VarId> vars;
    for (const Term::Node& node : term.nodes) {
      if (node.head.is_var()) {
        EGRET_ASSIGN_OR_RETURN(const VarId var, variable(node.head, rewrite.pattern()));
        vars.push_back(var);
      } else {
        const OpId op = syntax_.ops_.op(node.head.text, node.children.size());
        vars.push_back(rewrite.build(op, select(vars, node.children)));
      }
    }
    return vars.back();
  }

  // Parses the arguments up to ")". The "(" was already consumed.
  Result<std::vector<Token>> parse_arguments() {
    std::vector<Token> arguments;
    do {
      arguments.push_back(lexer_.next());
    } while (lexer_.accept(","));
    const Token close = lexer_.peek();
    if (!lexer_.accept(")")) return error_at(close, "expected ')' or ','");
    return arguments;
  }

  // The function of a call, bound to the argument variables: it takes a match.
  template <typename Function>
  Result<std::function<
      std::invoke_result_t<Function, EGraph&, std::span<const ClassId>>(EGraph&, const Match&)>>
  bind(std::string_view kind, const Syntax::ByName<Function>& defined, const Token& name,
       const std::vector<Token>& arguments, const Pattern& pattern) {
    const auto entry = defined.find(name.text);
    if (entry == defined.end()) {
      return error_at(name,
                      "no " + std::string(kind) + " '" + std::string(name.text) + "' is defined");
    }
    std::vector<VarId> vars;
    for (const Token& argument : arguments) {
      EGRET_ASSIGN_OR_RETURN(const VarId var, variable(argument, pattern));
      vars.push_back(var);
    }
    if (vars.size() != entry->second.arguments) {
      return error_at(name, std::string(kind) + " '" + std::string(name.text) + "' takes " +
                                std::to_string(entry->second.arguments) + " arguments");
    }
    return {[vars, function = entry->second.function](EGraph& egraph, const Match& match) {
      base::SmallVector<ClassId, 4> classes;
      for (const VarId var : vars) classes.push_back(match[var]);
      return function(egraph, {classes.data(), classes.size()});
    }};
  }

  Result<VarId> build_call(const Equation& target, Rewrite& rewrite) {
    EGRET_ASSIGN_OR_RETURN(
        Rewrite::ClassBuilder make,
        bind<Syntax::Builder>("builder", syntax_.builders_, target.term.nodes.back().head,
                              target.arguments, rewrite.pattern()));
    std::string text(target.term.nodes.back().head.text);
    for (const Token& argument : target.arguments) text.append(":").append(argument.text);
    return rewrite.build(std::move(make), std::move(text));
  }

  Status parse_condition(Rewrite& rewrite) {
    const Token name = lexer_.next();
    const Token open = lexer_.peek();
    if (!lexer_.accept("(")) {
      const bool known = syntax_.conditions_.contains(name.text);
      return known ? error_at(open, "expected '(' after the condition's name")
                   : error_at(name, "no condition '" + std::string(name.text) + "' is defined");
    }
    EGRET_ASSIGN_OR_RETURN(const std::vector<Token> arguments, parse_arguments());
    EGRET_ASSIGN_OR_RETURN(Rewrite::Condition holds,
                           bind<Syntax::Condition>("condition", syntax_.conditions_, name,
                                                   arguments, rewrite.pattern()));
    std::string text(name.text);
    for (const Token& argument : arguments)
      text.append(&argument == &arguments.front() ? "(" : ", ").append(argument.text);
    rewrite.when(std::move(holds), syntax_.conditions_.find(name.text)->second.reads, text + ")");
    return base::ok();
  }

  const Syntax& syntax_;
  Lexer& lexer_;
};

void Syntax::define_condition(std::string name, std::size_t arguments, Condition condition,
                              Rewrite::Reads reads) {
  conditions_[std::move(name)] = {arguments, std::move(condition), reads};
}

void Syntax::define_builder(std::string name, std::size_t arguments, Builder builder,
                            Rewrite::Reads reads) {
  builders_[std::move(name)] = {arguments, std::move(builder), reads};
}

Result<ClassId> Syntax::add_term(EGraph& egraph, std::string_view text) const {
  Lexer lexer(text, 1);
  EGRET_ASSIGN_OR_RETURN(const Term term, parse_term(lexer));
  EGRET_RETURN_IF_ERROR(expect_end(lexer));
  std::vector<ClassId> classes;
  for (const Term::Node& node : term.nodes) {
    if (node.head.is_var()) return error_at(node.head, "a term has no variables");
    std::vector<ClassId> children;
    for (const std::size_t child : node.children) children.push_back(classes[child]);
    EGRET_ASSIGN_OR_RETURN(const ClassId id,
                           egraph.add(ops_.op(node.head.text, children.size()), children));
    classes.push_back(id);
  }
  return classes.back();
}

Result<Pattern> Syntax::pattern(std::string_view text) const {
  Lexer lexer(text, 1);
  EGRET_ASSIGN_OR_RETURN(const Term term, parse_term(lexer));
  EGRET_RETURN_IF_ERROR(expect_end(lexer));
  Pattern pattern;
  add_to_pattern(term, ops_, pattern);
  return pattern;
}

Result<Rewrite> Syntax::rule(std::string_view text) const {
  Lexer lexer(text, 1);
  return RuleParser(*this, lexer).run(std::string(text));
}

Result<std::vector<Rewrite>> Syntax::rules(std::string_view text) const {
  std::vector<Rewrite> result;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Lexer lexer(text.substr(0, end), line);
    if (!lexer.peek().text.empty()) {
      EGRET_ASSIGN_OR_RETURN(Rewrite rule,
                             RuleParser(*this, lexer).run("line " + std::to_string(line)));
      result.push_back(std::move(rule));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace egret::egraph
