// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/verification.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/stop.h"
#include "ir/graph/graph_text.h"
#include "rules/language/real_expressions.h"
#include "rules/proving/any_rank.h"
#include "rules/proving/bounded_check.h"
#include "rules/proving/cover.h"
#include "rules/proving/generalization.h"
#include "rules/proving/instance_search.h"
#include "rules/proving/member_search.h"
#include "rules/proving/proven_families.h"
#include "rules/proving/rewriting_proof.h"
#include "rules/testing/counterexample.h"
#include "rules/testing/guard_solver.h"
#include "rules/testing/instance_stream.h"
#include "rules/testing/instance_walk.h"
#include "rules/testing/small_instances.h"
#include "rules/testing/tester.h"
#include "verifier/solver/solver.h"

namespace egret::rules {
namespace {

using Status = Verdict::Status;

constexpr std::uint64_t kPathStream = std::uint64_t{1} << 40;  // far from attempts
constexpr std::uint64_t kSmallStream = kPathStream + 1;
constexpr std::uint64_t kSolvedStream = kPathStream + 2;
// Elements of a tensor of an instance that is only proven, and of one that is run.
constexpr std::int64_t kMostImagined = std::int64_t{1} << 40;
constexpr std::int64_t kMostRun = std::int64_t{1} << 22;
constexpr int kProvenAxes = 2;
constexpr int kMostAxes = 4;
constexpr std::size_t kLeastGrowth = 3;  // of the effort, with each axis

bool is_trivial(const Instance& instance) {
  return ir::to_text(instance.left) == ir::to_text(instance.right);
}

// Every claim about outputs without elements is true.
bool shows_nothing(const Instance& instance) {
  return std::ranges::all_of(instance.left.outputs(), [&](const auto& output) {
    return instance.left.node(output.node).type.elements() == 0;
  });
}

class Verification {
 public:
  Verification(const Rule& rule, const VerifyOptions& options, KnownOperators& known)
      : rule_(rule),
        options_(options),
        known_(known),
        instantiator_(rule, known),
        session_({.keep_queries = options.keep_queries,
                  .second_opinion = options.second_opinion,
                  .memory = options.memory,
                  .easy = options.easy}),
        solved_(instantiator_, random_.split(kSolvedStream), &session_),
        instances_(instantiator_, random_, &solved_) {}

  // First tests instances on tensors. Then proves families until enough instances are members of
  // them, and explores other paths and all small instances. `on_scalars`: a proof of the same rule
  // on tensors of rank 0 that holds at any rank.
  Verdict run(const Verdict* on_scalars = nullptr) {
    for (int checks = 0; checks < options_.tensor_checks;) {
      auto instance = next_instance();
      if (!instance) break;
      const base::Random elements =
          random_.split(instances_.attempts()).split(1 + instances_.walked());
      const Comparison comparison = compare(rule_, *instance, elements, known_);
      if (comparison.outcome == Comparison::Outcome::kDifferent) {
        refute_by(*instance, comparison, elements);
        return verdict_;
      }
      if (shows_nothing(*instance)) continue;
      tested_.push_back(*std::move(instance));
      checks += comparison.outcome == Comparison::Outcome::kEqual ? 1 : 0;
    }
    if (on_scalars != nullptr && !tested_.empty()) return at_any_rank(*on_scalars);
    // A rule is trivial if both sides of all its instances are the same graph.
    bool trivial = true;
    while (verdict_.members < options_.instances) {
      const auto instance = tested_or_next_instance();
      if (!instance) break;
      if (shows_nothing(*instance)) continue;
      trivial = trivial && is_trivial(*instance);
      if (!is_member(*instance)) {
        if (!prove_family_of(*instance)) return verdict_;
        opened_.push_back(instance->choice);
      }
      ++verdict_.members;
      if (!like_) like_ = *instance;
    }
    // Small instances may be of further kinds.
    if (like_ && !(cover_kinds() && hold_small_ones() && cover_kinds())) return verdict_;
    if (verdict_.members == 0) return without_instances();
    if (trivial) return finish(Status::kTrivial, "both sides are the same");
    verdict_.any_rank = holds_at_higher_ranks();
    return verdict_.bound > 0 ? finish(Status::kBounded, unproven_) : finish(Status::kProven, "");
  }

  // Whether the operators of all instances that opened families are elementwise.
  bool is_elementwise() {
    ElementwiseCheck check;
    return std::ranges::all_of(opened_, [&](const Choice& choice) {
      const auto instance = instantiator_.of(choice, random_);
      return instance && check.holds(rule_, *instance);
    });
  }

 private:
  Verdict at_any_rank(const Verdict& on_scalars) {
    verdict_ = on_scalars;
    verdict_.any_rank = true;
    verdict_.axes = kMostAxes;
    verdict_.members += static_cast<int>(tested_.size());
    for (std::string& proof : verdict_.proofs)
      proof += "  at any rank, as both sides are elementwise\n";
    return verdict_;
  }

  // Whether slices along the first axis reduce each higher rank to those that are proven. That two
  // ranks have such axes shows that the definitions treat the next alike.
  bool holds_at_higher_ranks() const {
    constexpr int kLeastRank = 4;
    const int top = verdict_.cover.rank;
    const auto is_batch = [&](int rank) {
      const auto found = first_axis_is_batch_.find(rank);
      return found != first_axis_is_batch_.end() && found->second;
    };
    return top >= kLeastRank && verdict_.bound == 0 && verdict_.cover.open.empty() &&
           is_batch(top) && is_batch(top - 1) && is_free_of_ranks(rule_);
  }

  // nullopt if the attempts for one instance are used up.
  std::optional<Instance> next_instance() {
    return instances_.next(
        static_cast<std::uint64_t>(options_.attempts_per_instance) *
        static_cast<std::uint64_t>(std::max(options_.instances, options_.tensor_checks)));
  }

  // A rule without instances is vacuous only if none can exist.
  Verdict without_instances() {
    if (instances_.walked() > 0)
      return finish(Status::kVacuous, "no instance with elements was found");
    const InstanceSource::None none = solved_.none();
    return finish(none.certain ? Status::kVacuous : Status::kUndecided, none.reason);
  }

  // Instances that passed the tensor tests come first.
  std::optional<Instance> tested_or_next_instance() {
    if (tested_.empty()) return next_instance();
    Instance instance = std::move(tested_.front());
    tested_.pop_front();
    return instance;
  }

  Verdict finish(Status status, std::string reason) {
    verdict_.solver = session_.statistics();
    verdict_.queries = session_.queries();
    const bool disputed = verdict_.solver.disagreed > 0;
    verdict_.status = disputed ? Status::kDisputed : status;
    if (verdict_.status != Status::kBounded) verdict_.bound = 0;
    if (disputed) reason = session_.disagreement();
    verdict_.reason = std::move(reason);
    return verdict_;
  }
  bool fail(std::string reason) {
    finish(Status::kUndecided, std::move(reason));
    return false;
  }

  verifier::Proof prove(const Family& family) {
    return family.obligation->prove(family.conditions,
                                    {.example = family.example, .session = &session_});
  }

  // Instances of a proven family need no further proof.
  bool is_member(const Instance& instance) const {
    return proven_.contain(numbers_of(rule_, instance));
  }

  // Explores all paths of each kind of instances found so far, and proves the families that are new
  // on them. Random instances rarely hit cases that need large or several specific numbers.
  bool cover_kinds() {
    if (options_.cover_paths == 0) return true;
    // By the number of sizes and attributes: most mistakes show in the simplest kinds already.
    std::map<std::pair<std::size_t, std::string>, std::vector<const Choice*>> kinds;
    for (const Choice& choice : opened_) {
      const auto instance = instantiator_.of(choice, random_, kMostImagined);
      if (!instance) continue;
      const Numbers numbers = numbers_of(rule_, *instance);
      kinds[{numbers.integers.size(), numbers.structure}].push_back(&choice);
    }
    for (const auto& [kind, choices] : kinds) {
      if (covered_.insert(kind.second).second && !cover(choices)) return false;
    }
    return true;
  }

  // One kind. What stays open is noted in the verdict.
  bool cover(std::span<const Choice* const> choices) {
    const auto like = instantiator_.of(*choices.front(), random_, kMostImagined);
    BatchSizes batch;
    if (options_.batch_axes) batch = batch_sizes(rule_, *like, instantiator_);
    const std::size_t left =
        options_.cover_paths - std::min(options_.cover_paths, verdict_.cover.paths);
    const std::size_t questions =
        options_.cover_questions - std::min(options_.cover_questions, questions_);
    for (;;) {
      Cover paths(rule_, *like, batch, session_, {.paths = left, .questions = questions});
      std::string open;
      if (!follow(paths, choices, open)) return false;
      if (paths.exception()) {
        batch = batch.without(*paths.exception());
        continue;
      }
      verdict_.cover.paths += paths.tree().leaves();
      questions_ += paths.questions();
      note_kind(like->choice, open.empty() ? paths.open() : std::move(open));
      note_first_axis(like->choice, batch);
      return true;
    }
  }

  // Proves the families of all paths, as far as the limits allow. `open`: why some are not proven.
  bool follow(Cover& paths, std::span<const Choice* const> known, std::string& open) {
    for (const Choice* choice : known) {
      const Choice evened = paths.evened(*choice);
      if (paths.run(evened) && !prove_path_of(evened, open)) return false;
    }
    while (const auto choice = paths.next()) {
      if (base::stop_requested() || !prove_path_of(*choice, open)) return false;
    }
    return true;
  }

  bool prove_path_of(const Choice& choice, std::string& open) {
    if (!is_imaginable(choice)) {
      open = "tensors of more than 2^40 elements";
      return true;
    }
    const auto instance = instantiator_.of(choice, random_, kMostImagined);
    if (!instance) {
      open = "numbers that fit but cannot be instantiated";
      return true;
    }
    if (shows_nothing(*instance) || is_member(*instance)) return true;
    if (covering_ < options_.cover_families) {
      ++covering_;
      return prove_family_of(*instance);
    }
    if (may_run(*instance) && tells_apart(*instance, random_.split(kPathStream))) return false;
    open = "more families than proven";
    return true;
  }

  void note_kind(const Choice& like, std::string open) {
    std::vector<int> ranks;
    for (const auto& [slot, type] : like.variables) ranks.push_back(type.rank());
    for (const int rank : ranks) verdict_.cover.rank = std::max(verdict_.cover.rank, rank);
    ++verdict_.cover.kinds;
    if (open.empty()) {
      ++verdict_.cover.complete;
    } else {
      verdict_.cover.open_ranks.insert(std::move(ranks));
      if (verdict_.cover.open.empty()) verdict_.cover.open = std::move(open);
    }
  }

  // Notes whether the first axes of the variables of the highest rank are one batch axis.
  void note_first_axis(const Choice& like, const BatchSizes& batch) {
    int top = 0;
    for (const auto& [slot, type] : like.variables) top = std::max(top, type.rank());
    std::set<std::string> first;
    for (const auto& [slot, type] : like.variables) {
      if (top > 0 && type.rank() == top) first.insert(size_name(rule_, slot, 0));
    }
    const bool is_batch = std::ranges::any_of(batch.groups, [&](const auto& group) {
      return std::set<std::string>(group.begin(), group.end()) == first;
    });
    bool& all = first_axis_is_batch_.emplace(top, true).first->second;
    all = all && is_batch;
  }

  static bool is_imaginable(const Choice& choice) {
    return std::ranges::all_of(choice.variables, [](const auto& variable) {
      const auto elements = ir::element_count(variable.second.shape());
      return elements && *elements <= kMostImagined;
    });
  }
  // Whether the tensors of an instance fit in memory.
  static bool may_run(const Instance& instance) {
    const auto fits = [](const ir::Graph& graph) {
      return std::ranges::all_of(graph.nodes(), [](const ir::Node& node) {
        const auto elements = ir::element_count(node.type.shape());
        return elements && *elements <= kMostRun;
      });
    };
    return fits(instance.left) && fits(instance.right);
  }

  // Enumerates all small instances as far as the effort allows. With few axes, each is proven. With
  // more axes, each is only run on tensors: every broadcast pattern of several operands would be a
  // family of its own.
  bool hold_small_ones() {
    const std::vector<Choice> examples = opened_;  // opened_ grows
    SmallInstances small(rule_, instantiator_, examples, options_.small_effort);
    const base::Random random = random_.split(kSmallStream);
    std::size_t last = 0;  // effort for one axis fewer
    for (int axes = 0; axes <= kMostAxes; ++axes) {
      const std::size_t left = small.effort_left();
      if (last * kLeastGrowth > left) return true;
      const bool proven = axes <= kProvenAxes;
      if (!proven && options_.tensor_checks == 0) return true;
      bool holds = true;
      const bool all = small.visit_all(axes, [&](const Choice& next) {
        const auto instance = instantiator_.of(next, random_);
        if (instance && !shows_nothing(*instance) && !is_member(*instance)) {
          holds = proven ? prove_family_of(*instance) : !tells_apart(*instance, random);
          if (proven && holds) opened_.push_back(next);
        }
        return holds;
      });
      if (!holds) return false;
      if (!all) return true;
      verdict_.axes = axes;
      last = left - small.effort_left();
    }
    return true;
  }

  // Generalizes an instance to a family and proves it. If that fails: a counterexample, a
  // derivation by lemmas, or a check of all members up to a bound, in this order.
  bool prove_family_of(const Instance& instance) {
    if (base::stop_requested()) return false;
    if (verdict_.families == options_.most_families) return fail("more families than tried");
    if (session_.statistics().queries >= options_.most_queries)
      return fail("more questions to the solver than tried");
    ++verdict_.families;
    base::Result<Family> family = generalize(rule_, instance);
    if (!family.ok()) {
      Family all = unconditional_family(rule_, instance);
      verdict_.proofs.push_back("instances of all numbers\n");
      if (refute(instance, all) || !check_up_to_bound_of(instance, all, family.status().message()))
        return false;
      proven_.add(all);
      return true;
    }
    const verifier::Proof proof = prove(*family);
    if (proof.proven && !family->reals.empty()) {
      // The proof must not depend on the stand-ins. A result computed from a stand-in would; a
      // second proof with other stand-ins detects this.
      base::Result<Family> other = generalize(rule_, instance, {.salt = 1});
      if (!other.ok() || prove(*other).lines != proof.lines)
        return fail("a number is computed from a real attribute");
    }
    keep_proof(*family, proof.lines);
    if (!proof.proven) {
      if (refute(instance, *family)) return false;
      if (!derive(instance, *family) && !check_up_to_bound_of(instance, *family, proof.reason))
        return false;
    }
    proven_.add(*family);
    return true;
  }

  void keep_proof(const Family& family, const std::vector<std::string>& lines) {
    std::string text = "family (" + family.variables + ")\n";
    for (const ir::Guard& condition : family.conditions)
      text += "  where  " + ir::to_string(condition) + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
    verdict_.proofs.push_back(std::move(text));
  }

  // The lemmas: rules other than this one. Unless this rule holds up to rounding, rules that do are
  // excluded.
  const std::vector<Rule>& lemmas() {
    if (!lemmas_) {
      lemmas_.emplace();
      const base::ContentHash own = content_hash(rule_);
      for (const Rule& lemma : options_.lemmas) {
        const bool exact = rule_.has_tag(kRounding) || !lemma.has_tag(kRounding);
        if (exact && !(content_hash(lemma) == own)) lemmas_->push_back(lemma);
      }
    }
    return *lemmas_;
  }

  // Whether lemmas rewrite both sides of the whole family to the same graph. The decisions of the
  // rewritings must follow from the family's conditions. Families with open reals are excluded,
  // because lemmas might test the stand-ins.
  bool derive(const Instance& instance, const Family& family) {
    if (options_.lemmas.empty() || !family.reals.empty()) return false;
    const auto concrete = generalize(rule_, instance, {.integers = false});
    if (!concrete.ok()) return false;
    const auto found = find_rewritings(concrete->sides[0], concrete->sides[1], lemmas());
    if (!found) return false;
    const base::Result<Family> derived = generalize(rule_, instance, {.rewritings = &*found});
    const verifier::ProofOptions how{.example = family.example, .session = &session_};
    if (!derived.ok() || !family.obligation->implies(family.conditions, derived->conditions, how))
      return false;
    std::vector<std::string> lines = found->lines();
    if (!found->right.empty()) {
      const verifier::Proof defined = family.obligation->prove_defined(family.conditions, how);
      if (!defined.proven) return false;
      lines.insert(lines.end(), defined.lines.begin(), defined.lines.end());
    }
    verdict_.proofs.pop_back();
    keep_proof(family, lines);
    ++verdict_.derived;
    return true;
  }

  // Checks all members up to some bound (check_up_to_bound()). The bound of the verdict is the
  // least of all families.
  bool check_up_to_bound_of(const Instance& instance, const Family& family,
                            const std::string& reason) {
    const std::int64_t most =
        std::min(options_.bounded_members, options_.bounded_members_in_all - bounded_members_);
    if (most <= 0) return fail(reason);
    const BoundedCheck check =
        check_up_to_bound(rule_, instance, family, most, instantiator_, session_);
    if (check.bound == 0) return fail(reason + "; member by member: " + check.reason);
    bounded_members_ += check.members;
    if (unproven_.empty()) unproven_ = reason;
    verdict_.bound = verdict_.bound == 0 ? check.bound : std::min(verdict_.bound, check.bound);
    verdict_.proofs.back() += "  not proven for all sizes: " + reason + "\n  all " +
                              std::to_string(check.members) + " members with numbers up to " +
                              std::to_string(check.bound) + " hold\n";
    return true;
  }

  // Searches for tensors that distinguish the sides: on an instance whose family could not be
  // proven, on instances that a walk reaches from it, and on other members of the family.
  bool refute(const Instance& instance, const Family& family) {
    constexpr std::uint64_t kDraws = 20;
    constexpr std::uint64_t kSteps = 300;
    if (options_.tensor_checks == 0 || !may_run(instance)) return false;
    const base::Random random(base::hash_combine(options_.seed, content_hash(rule_).low));
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      if (tells_apart(instance, random.split(draw))) return true;
    }
    InstanceWalk walk(instantiator_, instance.choice);
    for (std::uint64_t i = 0; i < kSteps && !base::stop_requested(); ++i) {
      const base::Random own = random.split(kDraws + i);
      const auto next = walk.step(own);
      if (next && tells_apart(*next, own.split(1))) return true;
    }
    return refute_member(instance, family, random.split(kDraws + kSteps));
  }

  // Random instances have small sizes and steps, for which results often agree by chance: two
  // different strides may give equally many windows of four elements but not of seven.
  bool refute_member(const Instance& instance, const Family& family, const base::Random& random) {
    constexpr std::uint64_t kMembers = 200;
    constexpr std::int64_t kBound = 7;
    const MemberSearch search(family);
    for (std::uint64_t i = 0; i < kMembers && !base::stop_requested(); ++i) {
      const base::Random own = random.split(i);
      const auto numbers = search.draw_up_to(kBound, own);
      if (!numbers) continue;
      if (member_tells_apart(instance, *numbers, own)) return true;
    }
    return refute_near(instance, family, random.split(kMembers));
  }

  // Members near the family's example, some of whose numbers may have to be large. On the example
  // itself both sides may agree by chance: axes of size 1, windows that see only padding.
  bool refute_near(const Instance& instance, const Family& family, const base::Random& random) {
    constexpr std::uint64_t kMembers = 100;
    constexpr std::int64_t kMostChanges = 4;
    constexpr std::int64_t kFarthest = 3;
    if (family.example.empty()) return false;
    for (std::uint64_t i = 0; i < kMembers && !base::stop_requested(); ++i) {
      base::Random own = random.split(i);
      ir::SymbolValues numbers = family.example;
      for (std::int64_t left = own.between(1, kMostChanges); left > 0; --left) {
        const auto place = static_cast<std::ptrdiff_t>(own.below(numbers.size()));
        std::next(numbers.begin(), place)->second += own.between(1, kFarthest);
      }
      const auto fitting = solve_near(family.conditions, std::move(numbers), own.split(1));
      if (fitting && member_tells_apart(instance, *fitting, own.split(2))) return true;
    }
    return false;
  }

  bool member_tells_apart(const Instance& like, const ir::SymbolValues& numbers,
                          const base::Random& random) {
    const auto member =
        instantiator_.of(with_integers(rule_, like.choice, numbers), random.split(1), kMostRun);
    return member && tells_apart(*member, random.split(2));
  }
  bool tells_apart(const Instance& instance, const base::Random& random) {
    const Comparison comparison = compare(rule_, instance, random, known_);
    if (comparison.outcome != Comparison::Outcome::kDifferent) return false;
    refute_by(instance, comparison, random);
    return true;
  }
  void refute_by(const Instance& instance, const Comparison& found, const base::Random& random) {
    finish(Status::kRefuted,
           shrunk(instance, found, instantiator_, random, known_, kMostRun).counterexample);
  }

  const Rule& rule_;
  const VerifyOptions& options_;
  KnownOperators& known_;
  base::Random random_{options_.seed};
  std::deque<Instance> tested_;
  Instantiator instantiator_;
  verifier::SolverSession session_;
  InstanceSearch solved_;
  InstanceStream instances_;
  Verdict verdict_;
  std::optional<Instance> like_;             // the first member
  std::vector<Choice> opened_;               // of the random instances that were in no family yet
  std::set<std::string> covered_;            // kinds that were explored
  std::size_t questions_ = 0;                // to Z3, of their covers
  std::map<int, bool> first_axis_is_batch_;  // of all kinds, by their highest rank
  int covering_ = 0;  // families proven for paths that no random instance took
  std::int64_t bounded_members_ = 0;
  std::string unproven_;  // why a family is only bounded
  ProvenFamilies proven_;
  std::optional<std::vector<Rule>> lemmas_;
};

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kProven: return "proven";
    case Status::kBounded: return "bounded";
    case Status::kRefuted: return "refuted";
    case Status::kUndecided: return "undecided";
    case Status::kVacuous: return "vacuous";
    case Status::kTrivial: return "trivial";
    case Status::kDisputed: return "disputed";
  }
  return "";
}

namespace {

// The verdict on the rule for tensors of rank 0, if it holds at any rank.
std::optional<Verdict> proof_on_scalars(const Rule& rule, const VerifyOptions& options,
                                        KnownOperators& known) {
  if (!options.scalars_first) return std::nullopt;
  const auto scalars = on_scalars(rule, known);
  if (!scalars) return std::nullopt;
  VerifyOptions alone = options;
  alone.lemmas = {};
  alone.bounded_members = 0;
  Verification verification(*scalars, alone, known);
  Verdict verdict = verification.run();
  if (verdict.status != Status::kProven || !verification.is_elementwise()) return std::nullopt;
  return verdict;
}

}  // namespace

Verdict verify(const Rule& rule, const VerifyOptions& options, KnownOperators& known) {
  const auto scalars = proof_on_scalars(rule, options, known);
  Verdict verdict = Verification(rule, options, known).run(scalars ? &*scalars : nullptr);
  if (base::stop_requested()) {
    verdict.status = Status::kUndecided;  // parts were not examined
    verdict.reason = "stopped";
    return verdict;
  }
  const bool open = verdict.status == Status::kUndecided || verdict.status == Status::kBounded;
  if (!open || options.tensor_checks == 0) return verdict;
  // A longer test on tensors: a rule that could not be proven may be wrong on rare instances.
  TestOptions testing;
  testing.attempts_per_check = options.attempts_per_instance;
  testing.checks = options.longer_search * options.tensor_checks;
  testing.seed = options.seed;
  TestReport again = test_rule(rule, testing, known);
  if (again.verdict == TestReport::Verdict::kRefuted) {
    verdict.status = Status::kRefuted;
    verdict.reason = std::move(again.counterexample);
  }
  return verdict;
}

bool has_second_solver() { return verifier::make_cvc5() != nullptr; }

}  // namespace egret::rules
