// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_snapshot.h"

#include <bit>
#include <cstring>

#include "egraph/formats/egraph_snapshot.h"
#include "egraph/formats/snapshot_items.h"

namespace egret::rules {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::ItemReader;
using egraph::ItemWriter;
using egraph::OpId;

namespace {

constexpr std::string_view kAttrs = "tensor.attrs";
constexpr std::string_view kLeaves = "tensor.leaves";
constexpr std::string_view kData = "tensor.data.";  // and the constant's number
constexpr std::string_view kTypes = "tensor.types";
constexpr std::string_view kFacts = "tensor.facts";
constexpr std::string_view kProgram = "tensor.program";
constexpr std::string_view kOrigins = "tensor.origins";

std::string number(std::uint64_t n) { return std::to_string(n); }

void save_type(const ir::TensorType& type, ItemWriter& items) {
  items.number(static_cast<std::uint64_t>(type.dtype));
  items.number(type.dims.size());
  for (const std::int64_t size : type.shape()) items.number(static_cast<std::uint64_t>(size));
}

ir::TensorType load_type(ItemReader& items) {
  ir::TensorType type;
  type.dtype = static_cast<ir::DType>(items.number(ir::kDTypeCount));
  ir::Shape shape;
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left)
    shape.push_back(static_cast<std::int64_t>(items.number()));
  constexpr std::int64_t kMost = std::int64_t{1} << 58;  // so that bytes can be counted
  const auto elements = ir::element_count({shape.data(), shape.size()});
  if (!elements || *elements > kMost) items.fail("a tensor has a size that cannot be");
  type.dims.assign(shape.begin(), shape.end());
  return type;
}

}  // namespace

// Reads and writes the tables of a TensorEGraph, its language and its analysis.
class TensorSnapshot {
 public:
  static void save(const TensorEGraph& tensors, egraph::SnapshotWriter& writer);
  static void save(const TensorAnalysis& analysis, egraph::SnapshotWriter& writer);
  static Status load(const egraph::SnapshotFile& file, TensorAnalysis& analysis);

  explicit TensorSnapshot(const egraph::SnapshotFile& file) : file_(file) {}
  Result<std::unique_ptr<TensorEGraph>> load();

 private:
  static void save_leaves(const TensorLanguage& language, egraph::SnapshotWriter& writer);
  static void save_program(const TensorEGraph& tensors, egraph::SnapshotWriter& writer);

  Status load_attrs();
  Status load_leaves();
  Result<ir::Tensor> load_data(std::size_t constant, const ir::TensorType& type) const;
  Status check_operators() const;
  Status check_types();
  Status load_program();
  Status load_origins();
  void load_named(ItemReader& items, std::vector<TensorEGraph::Named>& named) const;

  const egraph::SnapshotFile& file_;
  std::unique_ptr<TensorEGraph> tensors_{new TensorEGraph()};
  TensorLanguage& language_ = tensors_->language_;
};

void TensorSnapshot::save(const TensorEGraph& tensors, egraph::SnapshotWriter& writer) {
  ItemWriter attrs;
  attrs.number(tensors.language_.attrs_.size());
  for (const auto& tuple : tensors.language_.attrs_) {
    attrs.number(tuple->entries().size());
    for (const ir::Attrs::Entry& entry : tuple->entries()) {
      attrs.text(entry.name);
      attrs.text(ir::to_string(entry.value));
    }
  }
  writer.add_copy(kAttrs, attrs.bytes());
  save_leaves(tensors.language_, writer);
  egraph::save(tensors.egraph(), writer);
  save_program(tensors, writer);
}

void TensorSnapshot::save_leaves(const TensorLanguage& language, egraph::SnapshotWriter& writer) {
  ItemWriter leaves;
  leaves.number(language.constants_.size());
  for (std::size_t i = 0; i < language.constants_.size(); ++i) {
    const TensorLanguage::Constant& constant = language.constants_[i];
    leaves.text(constant.name);
    save_type(constant.data.type(), leaves);
    writer.add_view(std::string(kData).append(number(i)), constant.data.data());
  }
  leaves.number(language.inputs_.size());
  for (const TensorLanguage::Input& input : language.inputs_) {
    leaves.text(input.name);
    save_type(input.type, leaves);
  }
  writer.add_copy(kLeaves, leaves.bytes());
}

void TensorSnapshot::save_program(const TensorEGraph& tensors, egraph::SnapshotWriter& writer) {
  ItemWriter program;
  program.text(tensors.name_);
  program.number(tensors.metadata_.size());
  for (const auto& [key, value] : tensors.metadata_) {
    program.text(key);
    program.text(value);
  }
  program.number(tensors.inputs_.size());
  for (const OpId op : tensors.inputs_) program.number(op.index());
  for (const auto* named : {&tensors.outputs_, &tensors.values_}) {
    program.number(named->size());
    for (const TensorEGraph::Named& value : *named) {
      program.number(value.id.index());
      program.text(value.name);
    }
  }
  program.number(tensors.program_ids_);
  writer.add_copy(kProgram, program.bytes());

  ItemWriter origins;
  origins.number(tensors.credited_);
  origins.number(tensors.credits_.size());
  for (const TensorEGraph::Credit& credit : tensors.credits_) {
    origins.number(credit.begin);
    origins.number(credit.rule);
  }
  origins.number(tensors.eliminations_credited_);
  origins.number(tensors.eliminations_.size());
  for (const TensorEGraph::Elimination& elimination : tensors.eliminations_) {
    origins.number(elimination.id.index());
    origins.number(elimination.rule);
  }
  writer.add_copy(kOrigins, origins.bytes());
}

void TensorSnapshot::save(const TensorAnalysis& analysis, egraph::SnapshotWriter& writer) {
  ItemWriter types;
  types.number(analysis.types_.size());
  for (const ir::TensorType& type : analysis.types_) save_type(type, types);
  writer.add_copy(kTypes, types.bytes());
  ItemWriter facts;
  facts.number(analysis.keys_.size());
  for (const TensorAnalysis::FactsKey& key : analysis.keys_) {
    facts.number(key.type);
    facts.number((key.constant ? 1U : 0U) + (key.has_splat ? 2U : 0U));
    facts.number(key.splat_bits);
  }
  writer.add_copy(kFacts, facts.bytes());
}

Status TensorSnapshot::load(const egraph::SnapshotFile& file, TensorAnalysis& analysis) {
  ItemReader types(file, kTypes);
  for (std::size_t i = 0, count = types.count(); i < count && types.ok(); ++i) {
    if (analysis.intern(load_type(types)) != i) types.fail("type " + number(i) + " is there twice");
  }
  EGRET_RETURN_IF_ERROR(types.finish());
  ItemReader facts(file, kFacts);
  for (std::size_t i = 0, count = facts.count(); i < count && facts.ok(); ++i) {
    const auto type = static_cast<TensorAnalysis::TypeId>(facts.number(analysis.types_.size()));
    const std::uint64_t flags = facts.number(4);
    const std::uint64_t splat = facts.number();
    if (!facts.ok()) break;
    const bool has_splat = (flags & 2) != 0;
    if (!has_splat && splat != 0) facts.fail("item " + number(i) + " is unclear");
    const auto value = has_splat ? std::optional(std::bit_cast<double>(splat)) : std::nullopt;
    if (analysis.intern(type, (flags & 1) != 0, value) != i)
      facts.fail("item " + number(i) + " is there twice");
  }
  return facts.finish();
}

Result<std::unique_ptr<TensorEGraph>> TensorSnapshot::load() {
  EGRET_RETURN_IF_ERROR(load_attrs());
  EGRET_RETURN_IF_ERROR(load_leaves());
  EGRET_ASSIGN_OR_RETURN(tensors_->egraph_,
                         egraph::load(file_, language_.table(), &tensors_->analysis_));
  EGRET_RETURN_IF_ERROR(check_operators());
  EGRET_RETURN_IF_ERROR(check_types());
  EGRET_RETURN_IF_ERROR(load_program());
  EGRET_RETURN_IF_ERROR(load_origins());
  return std::move(tensors_);
}

Status TensorSnapshot::load_attrs() {
  ItemReader items(file_, kAttrs);
  for (std::size_t i = 0, count = items.count(); i < count && items.ok(); ++i) {
    auto tuple = std::make_unique<ir::Attrs>();
    for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
      const std::string name = items.text();
      const auto value = ir::parse_attr_value(items.text());
      if (!value.ok() || tuple->find(name) != nullptr) {
        items.fail("attribute '" + name + "' cannot be read");
        break;
      }
      tuple->set(name, *value);
    }
    if (!language_.attrs_index_.emplace(*tuple, i).second)
      items.fail("item " + number(i) + " is there twice");
    language_.attrs_.push_back(std::move(tuple));
  }
  return items.finish();
}

Result<ir::Tensor> TensorSnapshot::load_data(std::size_t constant,
                                             const ir::TensorType& type) const {
  const std::string section = std::string(kData).append(number(constant));
  EGRET_ASSIGN_OR_RETURN(const auto bytes, file_.bytes(section));
  if (bytes.size() != static_cast<std::size_t>(type.bytes()))
    return file_.corrupt(section, "its size is not that of a tensor " + to_string(type));
  ir::Tensor data(type);
  if (!bytes.empty()) std::memcpy(data.mutable_data().data(), bytes.data(), bytes.size());
  return data;
}

Status TensorSnapshot::load_leaves() {
  ItemReader items(file_, kLeaves);
  for (std::size_t i = 0, count = items.count(); i < count && items.ok(); ++i) {
    std::string name = items.text();
    const ir::TensorType type = load_type(items);
    if (!items.ok()) break;
    EGRET_ASSIGN_OR_RETURN(ir::Tensor data, load_data(i, type));
    if (!language_.constant_index_.emplace(data.content_hash(), i).second)
      items.fail("constant " + number(i) + " is there twice");
    language_.constants_.push_back({std::move(data), std::move(name)});
  }
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    std::string name = items.text();
    for (const TensorLanguage::Input& known : language_.inputs_) {
      if (known.name == name) items.fail("input '" + name + "' is there twice");
    }
    language_.inputs_.push_back({std::move(name), load_type(items)});
  }
  return items.finish();
}

// Checks that each operator of the engine's table exists and has a valid payload, and registers it.
Status TensorSnapshot::check_operators() const {
  const egraph::OpTable& table = language_.table();
  for (std::size_t i = 0; i < table.op_count(); ++i) {
    const OpId id(i);
    const std::string_view name = table.name(id);
    const std::uint64_t payload = table.payload(id);
    std::size_t end = language_.attrs_.size();
    if (language_.is_constant(id)) end = language_.constants_.size();
    if (language_.is_input(id)) end = language_.inputs_.size();
    const bool is_leaf = language_.is_constant(id) || language_.is_input(id);
    const ir::Operator* const op = is_leaf ? nullptr : ir::find_operator(name);
    const auto fits = [&] {
      if (payload >= end) return false;
      if (is_leaf) return table.arity(id) == 0;
      if (op == nullptr || !ir::check_arity(*op, table.arity(id)).ok()) return false;
      const ir::Attrs& attrs = *language_.attrs_[payload];
      const auto canonical = ir::canonical_attrs(op->attrs(), attrs);
      return canonical.ok() && *canonical == attrs;
    };
    if (!fits())
      return file_.corrupt("egraph.ops", "operator " + number(i) + " ('" + std::string(name) +
                                             "') is none of tensors");
    if (is_leaf) continue;
    const std::size_t base = table.base_of(id).index();
    if (language_.operators_.size() <= base) language_.operators_.resize(base + 1, nullptr);
    language_.operators_[base] = op;
  }
  return base::ok();
}

// Checks that every node has its class's type.
Status TensorSnapshot::check_types() {
  const egraph::EGraph& egraph = tensors_->egraph();
  TensorAnalysis& analysis = tensors_->analysis_;
  for (egraph::NodeId node(0); node < egraph.next_node(); node = egraph.node_after(node)) {
    if (!egraph.visible(node)) continue;
    const auto made = analysis.make(egraph, egraph.op(node), egraph.children(node));
    const TensorAnalysis::Data known = egraph.data(egraph.class_of(node));
    if (!made.ok() || analysis.keys_[*made].type != analysis.keys_[known].type)
      return file_.corrupt(kTypes, "node " + number(node.index()) + " has not its class's type");
  }
  return base::ok();
}

void TensorSnapshot::load_named(ItemReader& items, std::vector<TensorEGraph::Named>& named) const {
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    const ClassId id(items.number(tensors_->egraph().id_count()));
    named.push_back({id, items.text()});
  }
}

Status TensorSnapshot::load_program() {
  TensorEGraph& tensors = *tensors_;
  ItemReader items(file_, kProgram);
  tensors.name_ = items.text();
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    const std::string key = items.text();
    tensors.metadata_[key] = items.text();
  }
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    const OpId op(items.number(language_.table().op_count()));
    if (!items.ok()) break;
    if (!language_.is_input(op) || !tensors.egraph().lookup(op).valid())
      items.fail("an input of the program is none of the e-graph");
    tensors.inputs_.push_back(op);
  }
  load_named(items, tensors.outputs_);
  load_named(items, tensors.values_);
  tensors.program_ids_ = items.number(tensors.egraph().id_count() + std::uint64_t{1});
  return items.finish();
}

Status TensorSnapshot::load_origins() {
  TensorEGraph& tensors = *tensors_;
  const std::uint64_t words = tensors.egraph().next_node().index();
  ItemReader items(file_, kOrigins);
  tensors.credited_ = items.number(words + 1);
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    const auto begin = static_cast<std::uint32_t>(items.number(words + 1));
    const auto rule = static_cast<std::uint32_t>(items.number(std::uint64_t{1} << 32));
    const bool follows =
        tensors.credits_.empty() ? begin == 0 : begin > tensors.credits_.back().begin;
    if (!follows) items.fail("what rules made is not in order");
    tensors.credits_.push_back({begin, rule});
  }
  if (tensors.credited_ > 0 && tensors.credits_.empty()) items.fail("has no first item");
  tensors.eliminations_credited_ = items.number();
  for (std::size_t left = items.count(); left > 0 && items.ok(); --left) {
    const ClassId id(items.number(tensors.egraph().id_count()));
    const auto rule = static_cast<std::uint32_t>(items.number(std::uint64_t{1} << 32));
    tensors.eliminations_.push_back({id, rule});
  }
  if (tensors.eliminations_credited_ > tensors.eliminations_.size())
    items.fail("more was eliminated than is there");
  return items.finish();
}

void TensorAnalysis::save(egraph::SnapshotWriter& writer) const {
  TensorSnapshot::save(*this, writer);
}
Status TensorAnalysis::load(const egraph::SnapshotFile& file, const egraph::EGraph&) {
  return TensorSnapshot::load(file, *this);
}

void save(const TensorEGraph& tensors, egraph::SnapshotWriter& writer) {
  TensorSnapshot::save(tensors, writer);
}

Result<std::unique_ptr<TensorEGraph>> load(const egraph::SnapshotFile& file) {
  return TensorSnapshot(file).load();
}

}  // namespace egret::rules
