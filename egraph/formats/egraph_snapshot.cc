// SPDX-License-Identifier: Apache-2.0
#include "egraph/formats/egraph_snapshot.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "egraph/core/node_hash.h"

namespace egret::egraph {

using base::Result;
using base::Status;

namespace {

constexpr std::string_view kMeta = "egraph.meta";
constexpr std::string_view kNames = "egraph.names";
constexpr std::string_view kOps = "egraph.ops";
constexpr std::string_view kNodes = "egraph.nodes";
constexpr std::string_view kClasses = "egraph.classes";
constexpr std::string_view kEpochs = "egraph.epochs";
constexpr std::string_view kParents = "egraph.parents";
constexpr std::string_view kData = "egraph.data";
constexpr std::string_view kMarks = "egraph.marks";
constexpr std::string_view kMoved = "egraph.moved";

struct Meta {
  std::uint64_t has_analysis = 0;
  std::uint64_t has_proofs = 0;
  std::uint64_t epoch = 0;
  std::uint64_t ticks = 0;
  std::uint64_t keys_inserted = 0;
  std::uint64_t merges = 0;
};
struct OpEntry {
  std::uint32_t base = 0;
  std::uint32_t arity = 0;
  std::uint64_t payload = 0;
};
struct MarkEntry {
  std::uint32_t epoch = 0;
  std::uint32_t next_node = 0;
  std::uint64_t moved = 0;
};

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

// Reads and writes the tables of an EGraph.
class EGraphSnapshot {
 public:
  static void save(const EGraph& egraph, SnapshotWriter& writer);

  EGraphSnapshot(const SnapshotFile& file, OpTable& ops, Analysis* analysis)
      : file_(file), ops_(ops), analysis_(analysis) {}
  Result<std::unique_ptr<EGraph>> load();

 private:
  static void save_ops(const OpTable& ops, SnapshotWriter& writer);

  Status load_ops();
  Status load_classes();
  Status load_nodes();
  Status check_node(NodeId node) const;
  Status list_node(NodeId node);
  Status load_parents();
  Status load_chain(ClassId id, std::vector<bool>& visited);
  Status load_data();
  Status load_changes();
  Status load_moved(std::uint64_t begin, std::uint64_t end);

  const SnapshotFile& file_;
  OpTable& ops_;
  Analysis* analysis_;
  std::unique_ptr<EGraph> egraph_;
  Meta meta_;
  std::vector<bool> begins_node_;  // true at the first word of a node record
};

// Records refer to operators by number, so the table is written in order of numbers. load_ops()
// interns in the same order and requires the same numbers.
void EGraphSnapshot::save_ops(const OpTable& ops, SnapshotWriter& writer) {
  std::string names;
  for (std::size_t i = 0; i < ops.base_count(); ++i) {
    const std::string_view name = ops.name(BaseId(i));
    const auto size = static_cast<std::uint32_t>(name.size());
    names.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(name);
  }
  std::vector<OpEntry> entries;
  for (std::size_t i = 0; i < ops.op_count(); ++i) {
    const OpId op(i);
    entries.push_back(
        {ops.base_of(op).index(), static_cast<std::uint32_t>(ops.arity(op)), ops.payload(op)});
  }
  writer.add_copy(kNames, std::as_bytes(std::span(names)));
  writer.add_copy(kOps, bytes_of(entries));
}

// Saves only what cannot be derived: the node records, the final classes, the parent chains with
// their order, and the record of changes. The hash-cons, the lists and the masks are rebuilt from
// the records, which costs less than reading and checking them.
void EGraphSnapshot::save(const EGraph& egraph, SnapshotWriter& writer) {
  EGRET_CHECK(egraph.clean(), "a snapshot before rebuild()");
  const Meta meta{egraph.analysis_ != nullptr ? 1U : 0U,
                  egraph.proofs_ != nullptr ? 1U : 0U,
                  egraph.epoch_,
                  egraph.counts_.ticks,
                  egraph.counts_.keys_inserted,
                  egraph.counts_.merges};
  writer.add_copy(kMeta, std::as_bytes(std::span(&meta, 1)));
  save_ops(egraph.ops_, writer);
  writer.add_view(kNodes, std::as_bytes(egraph.words_.span()));
  std::vector<std::uint32_t> roots;
  std::vector<std::uint32_t> epochs;
  std::vector<std::uint32_t> parents;
  std::vector<Analysis::Data> data;
  for (std::size_t i = 0; i < egraph.id_count(); ++i) {
    const ClassId root = egraph.find(ClassId(i));
    const EGraph::Row row = root == ClassId(i) ? egraph.row(root) : EGraph::Row();
    roots.push_back(root.index());
    epochs.push_back(row.epoch);
    parents.push_back(row.parents);
    if (egraph.analysis_ != nullptr) data.push_back(egraph.data(root));
  }
  writer.add_copy(kClasses, bytes_of(roots));
  writer.add_copy(kEpochs, bytes_of(epochs));
  writer.add_copy(kParents, bytes_of(parents));
  writer.add_copy(kData, bytes_of(data));
  std::vector<MarkEntry> marks;
  for (const EGraph::EpochMark& mark : egraph.epoch_marks_) {
    marks.push_back({mark.epoch, mark.next_node.index(), mark.moved});
  }
  writer.add_copy(kMarks, bytes_of(marks));
  writer.add_view(kMoved, std::as_bytes(egraph.moved_.span()));
  if (egraph.analysis_ != nullptr) egraph.analysis_->save(writer);
  if (egraph.proofs_ != nullptr) egraph.proofs_->save(writer);
}

// A file may be damaged or made by hand. Each table is checked before a later step uses it as an
// index, so no content of a file leads to an access out of range.
Result<std::unique_ptr<EGraph>> EGraphSnapshot::load() {
  EGRET_ASSIGN_OR_RETURN(const auto meta, file_.values<Meta>(kMeta));
  if (meta.size() != 1) return file_.corrupt(kMeta, "its size is wrong");
  meta_ = meta[0];
  if ((meta_.has_analysis != 0) != (analysis_ != nullptr)) {
    return file_.corrupt(kMeta, meta_.has_analysis != 0 ? "the e-graph needs its analysis"
                                                        : "the e-graph has no analysis");
  }
  if (meta_.epoch == 0 || meta_.epoch > 0xffffffffU) return file_.corrupt(kMeta, "no such epoch");
  EGRET_RETURN_IF_ERROR(load_ops());
  egraph_ = std::make_unique<EGraph>(ops_, analysis_);
  EGRET_RETURN_IF_ERROR(load_classes());
  EGRET_RETURN_IF_ERROR(load_nodes());
  EGRET_RETURN_IF_ERROR(load_parents());
  EGRET_RETURN_IF_ERROR(load_data());
  EGRET_RETURN_IF_ERROR(load_changes());
  if (meta_.has_proofs > 1) return file_.corrupt(kMeta, "is unclear about proofs");
  if (meta_.has_proofs == 1) {
    EGRET_ASSIGN_OR_RETURN(egraph_->proofs_, ProofLog::load(file_, ops_, egraph_->classes_));
  }
  egraph_->counts_.ticks = meta_.ticks;
  egraph_->counts_.keys_inserted = meta_.keys_inserted;
  egraph_->counts_.merges = meta_.merges;
  return std::move(egraph_);
}

// Interns the operators of the file. Their numbers agree only if the table here is empty or has a
// prefix of the same operators.
Status EGraphSnapshot::load_ops() {
  EGRET_ASSIGN_OR_RETURN(auto names, file_.bytes(kNames));
  EGRET_ASSIGN_OR_RETURN(const auto entries, file_.values<OpEntry>(kOps));
  std::uint64_t bases = 0;
  for (; !names.empty(); ++bases) {
    std::uint32_t size = 0;
    if (names.size() < sizeof(size)) return file_.corrupt(kNames, "a length is cut short");
    std::memcpy(&size, names.data(), sizeof(size));
    names = names.subspan(sizeof(size));
    if (size > names.size()) return file_.corrupt(kNames, "name " + number(bases) + " is too long");
    const std::string name(reinterpret_cast<const char*>(names.data()), size);
    names = names.subspan(size);
    if (ops_.base(name) == BaseId(bases)) continue;
    return file_.corrupt(kNames,
                         "operator '" + name + "' has another number here than in the file");
  }
  if (entries.size() > OpTable::kMaxOps) return file_.corrupt(kOps, "too many operators");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const OpEntry& entry = entries[i];
    if (entry.base >= bases) {
      return file_.corrupt(kOps, "operator " + number(i) + " has a base that does not exist");
    }
    if (ops_.op(BaseId(entry.base), entry.arity, entry.payload) == OpId(i)) continue;
    return file_.corrupt(kOps,
                         "operator " + number(i) + " has another number here than in the file");
  }
  if (ops_.op_count() > entries.size() || ops_.base_count() > bases) {
    return file_.corrupt(kOps, "there are operators here already that the file does not know");
  }
  return base::ok();
}

// Ids point to their roots directly, so one step decides whether a root is one.
Status EGraphSnapshot::load_classes() {
  EGRET_ASSIGN_OR_RETURN(const auto roots, file_.values<std::uint32_t>(kClasses));
  EGRET_ASSIGN_OR_RETURN(const auto epochs, file_.values<std::uint32_t>(kEpochs));
  if (roots.size() >= 0xffffffffU) return file_.corrupt(kClasses, "too many classes");
  if (roots.size() != epochs.size()) return file_.corrupt(kEpochs, "is not one for each class");
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] >= roots.size() || roots[roots[i]] != roots[i]) {
      return file_.corrupt(kClasses, "class " + number(i) + " was merged into none");
    }
    if (epochs[i] > meta_.epoch) {
      return file_.corrupt(kEpochs, "class " + number(i) + " has a later epoch than the present");
    }
    if (roots[i] == i) {
      egraph_->classes_.make(egraph_->take_row({{}, 0, 0, 0, epochs[i]}, 0));
      ++egraph_->counts_.classes;
    } else {
      egraph_->classes_.make_in(ClassId(roots[i]));
    }
  }
  return base::ok();
}

Status EGraphSnapshot::load_nodes() {
  EGRET_ASSIGN_OR_RETURN(const auto words, file_.values<ClassId>(kNodes));
  if (words.size() >= 0xffffffffU) return file_.corrupt(kNodes, "too long");
  EGraph& egraph = *egraph_;
  // Two passes over the node records. The first checks each record and counts the live ones, so
  // that the hash-cons is allocated once. The second inserts the live nodes into the tables.
  egraph.words_.append(words);
  egraph.words_.shrink_to_fit();
  egraph.by_op_.resize(ops_.op_count());
  begins_node_.resize(words.size() + 1);
  std::size_t live = 0;
  for (std::size_t word = 0; word < words.size(); word = egraph.node_after(NodeId(word)).index()) {
    begins_node_[word] = true;
    EGRET_RETURN_IF_ERROR(check_node(NodeId(word)));
    if (!egraph.dead(NodeId(word))) {
      ++live;
    } else {
      egraph.counts_.dead_words += EGraph::record_size(ops_.arity(egraph.op(NodeId(word))));
    }
  }
  begins_node_[words.size()] = true;
  egraph.hash_cons_.reset(live);
  for (std::size_t word = 0; word < words.size(); word = egraph.node_after(NodeId(word)).index()) {
    if (!egraph.dead(NodeId(word))) EGRET_RETURN_IF_ERROR(list_node(NodeId(word)));
  }
  egraph.unlisted_ = egraph.next_node();
  for (const ClassId id : egraph.classes()) egraph.refresh_nodes(id);
  for (const auto& list : egraph.by_op_) egraph.by_op_bytes_ += list.bytes();
  egraph.compact_lists();
  return base::ok();
}

// The header and the length come first: all further reads of the record rely on them.
Status EGraphSnapshot::check_node(NodeId node) const {
  const auto at = [&](const std::string& what) {
    return file_.corrupt(kNodes, "node " + number(node.index()) + ": " + what);
  };
  const EGraph& egraph = *egraph_;
  if ((egraph.words_[node.index()].index() & EGraph::kHead) == 0) return at("does not begin");
  const OpId op = egraph.op(node);
  const std::size_t left = egraph.words_.size() - node.index();
  if (op.index() >= ops_.op_count())
    return at("operator " + number(op.index()) + " does not exist");
  if (left < EGraph::record_size(ops_.arity(op))) return at("is cut short");
  const ClassId id = egraph.words_[node.index() + 1];
  if (id.index() >= egraph.id_count()) return at("its class does not exist");
  if (egraph.visible(node) && !egraph.is_canonical(id)) return at("its class was merged away");
  for (const ClassId child : egraph.children(node)) {
    if (child.index() >= egraph.id_count()) return at("a child does not exist");
    if (!egraph.dead(node) && !egraph.is_canonical(child)) return at("a child was merged away");
  }
  return base::ok();
}

// Inserts a live node into the hash-cons and, if it is visible, into all lists. The caller proceeds
// in order of ids, so the lists by operator are sorted.
Status EGraphSnapshot::list_node(NodeId node) {
  EGraph& egraph = *egraph_;
  const OpId op = egraph.op(node);
  const auto children = egraph.children(node);
  const std::uint32_t hash = node_hash(op, children);
  if (egraph.find_node(hash, op, children).valid()) {
    return file_.corrupt(kNodes, "node " + number(node.index()) + " is there twice");
  }
  egraph.hash_cons_.insert(hash, node);
  if (!egraph.visible(node)) return base::ok();
  egraph.lists_.append(egraph.row(egraph.words_[node.index() + 1]).nodes, node);
  egraph.by_op_[op.index()].push_back(node);
  ++egraph.counts_.visible;
  return base::ok();
}

// The chains of parents are loaded as they were saved, so they are checked completely. Each chain
// visits only child slots of its own class, no slot is visited twice, and at the end every child
// slot of every live node was visited.
Status EGraphSnapshot::load_parents() {
  EGRET_ASSIGN_OR_RETURN(const auto parents, file_.values<std::uint32_t>(kParents));
  EGraph& egraph = *egraph_;
  if (parents.size() != egraph.id_count()) {
    return file_.corrupt(kParents, "is not one for each class");
  }
  std::vector<bool> visited(egraph.words_.size());
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const ClassId id(i);
    if (egraph.is_canonical(id)) {
      egraph.row(id).parents = parents[i];
      EGRET_RETURN_IF_ERROR(load_chain(id, visited));
    } else if (parents[i] != 0) {
      return file_.corrupt(kParents, "class " + number(i) + " was merged away and has parents");
    }
  }
  for (NodeId node(0); node < egraph.next_node(); node = egraph.node_after(node)) {
    const auto begin = visited.begin() + node.index() + EGraph::kHeader;
    const auto end = begin + static_cast<std::ptrdiff_t>(ops_.arity(egraph.op(node)));
    if (egraph.dead(node) || std::find(begin, end, false) == end) continue;
    return file_.corrupt(kParents, "node " + number(node.index()) + " is in no chain");
  }
  return base::ok();
}

// Walks the chain of parents of a class, checks each link and counts the links.
Status EGraphSnapshot::load_chain(ClassId id, std::vector<bool>& visited) {
  EGraph& egraph = *egraph_;
  EGraph::Row& row = egraph.row(id);
  for (EGraph::Slot slot = row.parents; slot != 0; ++row.links) {
    const auto at = [&](const std::string& what) {
      return file_.corrupt(
          kParents, "class " + number(id.index()) + ": " + what + " at word " + number(slot));
    };
    if (slot >= visited.size() || visited[slot]) return at("no parent, or one twice,");
    visited[slot] = true;
    std::uint32_t begin = slot;
    while (!begins_node_[begin]) --begin;
    const NodeId node(begin);
    const std::size_t place = slot - begin;
    const std::size_t arity = ops_.arity(egraph.op(node));
    if (place < EGraph::kHeader || place >= EGraph::kHeader + arity) return at("no child");
    if (egraph.find(egraph.words_[slot]) != id) return at("another class's parent");
    if (egraph.dead(node)) EGraph::add_dead_links(row, 1);
    slot = egraph.next_slot(slot, node);
  }
  return base::ok();
}

Status EGraphSnapshot::load_data() {
  EGRET_ASSIGN_OR_RETURN(const auto data, file_.values<Analysis::Data>(kData));
  if (data.size() != (analysis_ == nullptr ? 0 : egraph_->id_count())) {
    return file_.corrupt(kData, "is not one word for each class");
  }
  if (analysis_ == nullptr) return base::ok();
  const std::size_t ops = ops_.op_count();
  EGRET_RETURN_IF_ERROR(analysis_->load(file_, *egraph_));
  if (ops_.op_count() != ops)
    return file_.corrupt(kOps, "the analysis needs an operator that is not there");
  for (std::size_t i = 0; i < data.size(); ++i) {
    const ClassId id(i);
    if (!egraph_->is_canonical(id)) continue;
    if (!analysis_->is_data(data[i])) {
      return file_.corrupt(kData, "the analysis does not know the word of class " + number(i));
    }
    egraph_->data_[egraph_->row_of(id)] = data[i];
  }
  return base::ok();
}

// A search after loading continues from these marks. Marks that are not consecutive, or point into
// a record, would let it miss matches.
Status EGraphSnapshot::load_changes() {
  EGRET_ASSIGN_OR_RETURN(const auto marks, file_.values<MarkEntry>(kMarks));
  if (marks.empty() || marks.back().epoch != meta_.epoch) {
    return file_.corrupt(kMarks, "does not end with the present");
  }
  egraph_->epoch_ = static_cast<Epoch>(meta_.epoch);
  egraph_->epoch_marks_.clear();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const MarkEntry& mark = marks[i];
    const bool follows =
        i == 0 || (mark.epoch == marks[i - 1].epoch + 1 &&
                   mark.next_node >= marks[i - 1].next_node && mark.moved >= marks[i - 1].moved);
    if (!follows || mark.next_node >= begins_node_.size() || !begins_node_[mark.next_node]) {
      return file_.corrupt(kMarks, "mark " + number(i) + " cannot be");
    }
    egraph_->epoch_marks_.push_back({mark.epoch, NodeId(mark.next_node), mark.moved});
  }
  return load_moved(marks.front().moved, marks.back().moved);
}

Status EGraphSnapshot::load_moved(std::uint64_t begin, std::uint64_t end) {
  EGRET_ASSIGN_OR_RETURN(const auto moved, file_.values<NodeId>(kMoved));
  if (moved.size() != end - begin)
    return file_.corrupt(kMoved, "its size is not that of the marks");
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i].index() + std::size_t{1} >= begins_node_.size() ||
        !begins_node_[moved[i].index()]) {
      return file_.corrupt(kMoved, "item " + number(i) + " is no node");
    }
  }
  egraph_->moved_.append(moved);
  return base::ok();
}

void save(const EGraph& egraph, SnapshotWriter& writer) { EGraphSnapshot::save(egraph, writer); }

Result<std::unique_ptr<EGraph>> load(const SnapshotFile& file, OpTable& ops, Analysis* analysis) {
  return EGraphSnapshot(file, ops, analysis).load();
}

}  // namespace egret::egraph
