// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/term_table.h"

#include <algorithm>

#include "base/hash.h"
#include "base/random.h"

namespace egret::rules::generator {

using base::Result;

Renaming Renaming::identity() {
  Renaming renaming;
  for (std::size_t i = 0; i < renaming.to.size(); ++i)
    renaming.to[i] = static_cast<std::uint8_t>(i);
  return renaming;
}

std::size_t TermTable::RowHash::operator()(const Row& row) const {
  const Word first = (Word{row.choice} << 32) | row.operands[0];
  return base::hash_combine(first, (Word{row.operands[1]} << 32) | row.operands[2]);
}

std::size_t TermTable::TypedHash::operator()(const TypedKey& key) const {
  return base::hash_combine((Word{key[0]} << 32) | key[1], (Word{key[2]} << 32) | key[3]);
}

Result<std::unique_ptr<TermTable>> TermTable::create(const Space& space) {
  if (space.starts.empty() || space.starts.size() > 64)
    return base::usage_error("a space has 1 to 64 start tensors");
  for (const OperatorChoice& choice : space.choices) {
    if (choice.arity > kMostOperands)
      return base::unsupported(choice.name + " has more than 3 operands");
  }
  std::unique_ptr<TermTable> table(new TermTable(space));
  for (std::size_t i = 0; i < space.starts.size(); ++i) {
    const TypeId type = table->intern(space.starts[i].types);
    table->add({kStart, {static_cast<TermId>(i), kNoTerm, kNoTerm}}, type, Variables{1} << i);
    table->starts_of_[type].push_back(static_cast<std::uint8_t>(i));
  }
  return table;
}

TypeId TermTable::intern(const std::vector<ir::TensorType>& types) {
  std::string text;
  for (const ir::TensorType& type : types) text += to_string(type) + " ";
  const auto [found, is_new] = type_ids_.emplace(text, static_cast<TypeId>(joint_types_.size()));
  if (is_new) {
    joint_types_.push_back(types);
    starts_of_.emplace_back();
  }
  return found->second;
}

TermId TermTable::add(const Row& row, TypeId type, Variables variables) {
  const auto id = static_cast<TermId>(rows_.size());
  rows_.push_back(row);
  types_of_.push_back(type);
  variables_.push_back(variables);
  known_.emplace(row, id);
  return id;
}

const TermTable::Typed& TermTable::typed(std::size_t choice, std::span<const TypeId> operands) {
  TypedKey key;
  key.fill(kNoTerm);
  key[0] = static_cast<std::uint32_t>(choice);
  std::ranges::copy(operands, key.begin() + 1);
  auto& slot = typed_[key];
  if (slot != nullptr) return *slot;
  auto made = std::make_unique<Typed>();
  std::vector<ir::TensorType> results;
  for (World world = 0; world < space_.worlds(); ++world) {
    std::vector<ir::TensorType> types;
    for (const TypeId operand : operands) types.push_back(joint_types_[operand][world]);
    auto program = Program::record(space_.choices[choice], world, types);
    if (!program.ok()) break;
    results.push_back(program->type());
    made->programs.push_back(*std::move(program));
  }
  made->fits = results.size() == space_.worlds();
  if (made->fits) made->type = intern(results);
  slot = std::move(made);
  return *slot;
}

std::optional<TypeId> TermTable::type_of(std::size_t choice, std::span<const TypeId> operands) {
  const Typed& found = typed(choice, operands);
  return found.fits ? std::optional(found.type) : std::nullopt;
}

std::optional<TermId> TermTable::apply(std::size_t choice, std::span<const TermId> operands) {
  if (operands.size() == 2) {
    const std::array<TermId, 2> turned{operands[1], operands[0]};
    const auto order = [&](TermId term) { return std::pair(types_of_[term], term); };
    if (order(turned[0]) < order(turned[1]) &&
        is_symmetric(choice, types_of_[operands[0]], types_of_[operands[1]]))
      return apply_as_given(choice, turned);
  }
  return apply_as_given(choice, operands);
}

std::optional<TermId> TermTable::apply_as_given(std::size_t choice,
                                                std::span<const TermId> operands) {
  Row row{static_cast<std::uint16_t>(choice), {kNoTerm, kNoTerm, kNoTerm}};
  std::ranges::copy(operands, row.operands.begin());
  const auto found = known_.find(row);
  if (found != known_.end()) return found->second;
  base::SmallVector<TypeId, 3> types;
  Variables variables = 0;
  for (const TermId operand : operands) {
    types.push_back(types_of_[operand]);
    variables |= variables_[operand];
  }
  const Typed& result = typed(choice, {types.data(), types.size()});
  if (!result.fits) return std::nullopt;
  return add(row, result.type, variables);
}

std::span<const TermId> TermTable::operands(TermId term) const {
  const Row& row = rows_[term];
  if (row.choice == kStart) return {};
  return {row.operands.data(), space_.choices[row.choice].arity};
}

TermId TermTable::renamed(TermId term, const Renaming& renaming) {
  const Row row = rows_[term];
  if (row.choice == kStart) return renaming.to[row.operands[0]];
  std::array<TermId, kMostOperands> made{kNoTerm, kNoTerm, kNoTerm};
  const std::size_t arity = space_.choices[row.choice].arity;
  for (std::size_t i = 0; i < arity; ++i) made[i] = renamed(row.operands[i], renaming);
  if (made == row.operands || arity == 0) return term;
  return *apply(row.choice, {made.data(), arity});
}

std::vector<TermId> TermTable::applications(TermId term) const {
  std::vector<TermId> found;
  std::vector<TermId> pending{term};
  while (!pending.empty()) {
    const TermId next = pending.back();
    pending.pop_back();
    if (is_start(next) || std::ranges::find(found, next) != found.end()) continue;
    found.push_back(next);
    for (const TermId operand : operands(next)) pending.push_back(operand);
  }
  std::ranges::sort(found);
  return found;
}

bool TermTable::is_symmetric(std::size_t choice, TypeId a, TypeId b) {
  if (space_.choices[choice].arity != 2) return false;
  const TypedKey key{static_cast<std::uint32_t>(choice), a, b, kNoTerm};
  const auto found = symmetric_.find(key);
  if (found != symmetric_.end()) return found->second;
  const std::array<TypeId, 2> there{a, b};
  const std::array<TypeId, 2> back{b, a};
  const std::optional<TypeId> type = type_of(choice, there);
  bool same = type && type == type_of(choice, back);
  for (World world = 0; same && world < space_.worlds(); ++world) {
    base::Random random(base::hash_combine(choice, world));
    const auto draw = [&](TypeId of) {
      return random_elements(types(of)[world], Residues::kMersenne, random);
    };
    const std::vector<Word> x = draw(a);
    const std::vector<Word> y = draw(b);
    const Word* xy[] = {x.data(), y.data()};
    const Word* yx[] = {y.data(), x.data()};
    std::vector<Word> left(elements(*type, world));
    std::vector<Word> right(left.size());
    Residues field;
    program(choice, there, world).run(field, xy, left.data());
    program(choice, back, world).run(field, yx, right.data());
    same = left == right;
  }
  symmetric_.emplace(key, same);
  return same;
}

const Program& TermTable::program(std::size_t choice, std::span<const TypeId> operands,
                                  World world) {
  const Typed& found = typed(choice, operands);
  EGRET_CHECK(found.fits, "an ill-typed term has no program");
  return found.programs[world];
}

const Program& TermTable::program(TermId term, World world) {
  base::SmallVector<TypeId, 3> types;
  for (const TermId operand : operands(term)) types.push_back(types_of_[operand]);
  return program(rows_[term].choice, {types.data(), types.size()}, world);
}

std::string TermTable::text(TermId term) const {
  if (is_start(term)) return space_.starts[start_number(term)].name;
  std::string text = space_.choices[choice(term)].name + "(";
  bool first = true;
  for (const TermId operand : operands(term)) {
    text += (first ? "" : ", ") + this->text(operand);
    first = false;
  }
  return text + ")";
}

std::size_t TermTable::bytes() const {
  return rows_.capacity() * sizeof(Row) + types_of_.capacity() * sizeof(TypeId) +
         variables_.capacity() * sizeof(Variables) + known_.size() * 24;
}

}  // namespace egret::rules::generator
