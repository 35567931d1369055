// SPDX-License-Identifier: Apache-2.0
// A state machine over JSON events. Its state is the position in the format and the member being
// read.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/formats/json_stream.h"
#include "base/system/file.h"
#include "egraph/formats/serialized_egraph.h"

namespace egret::egraph {

using base::Result;
using base::Status;
using Index = EGraphView::Index;

namespace {

constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxName = std::size_t{1} << 24;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 36;

std::string in_quotes(std::string_view name) {
  return std::string("'").append(name.substr(0, 100)).append("'");
}

// Maps names to dense numbers, in order of first occurrence. Never iterated in the map's order.
class NameTable {
 public:
  Index intern(std::string_view name) {
    const auto [entry, fresh] = index_.try_emplace(std::string(name), static_cast<Index>(size()));
    if (fresh) names_.push_back(&entry->first);
    return entry->second;
  }
  // Returns kNone if the name has not occurred.
  Index find(const std::string& name) const {
    const auto entry = index_.find(name);
    return entry == index_.end() ? kNone : entry->second;
  }
  std::size_t size() const { return names_.size(); }
  const std::string& name(Index i) const { return *names_[i]; }

 private:
  std::unordered_map<std::string, Index> index_;
  std::vector<const std::string*> names_;
};

enum class Kind : unsigned char { kObject, kArray, kString, kNumber, kBoolean, kNull };
constexpr std::array<std::string_view, 6> kKindNames = {"an object", "an array",  "a string",
                                                        "a number",  "a boolean", "null"};

Status require(std::string_view what, Kind wanted, Kind found) {
  if (wanted == found) return base::ok();
  return base::bad_input(std::string(what)
                             .append(" must be ")
                             .append(kKindNames[static_cast<std::size_t>(wanted)])
                             .append(", found ")
                             .append(kKindNames[static_cast<std::size_t>(found)]));
}

}  // namespace

class SerializedReader::Handler : public base::JsonHandler {
 public:
  explicit Handler(const SerializedOptions& options) : options_(options) {}

  Status begin_object() override { return value({Kind::kObject}); }
  Status begin_array() override { return value({Kind::kArray}); }
  Status end_object() override { return end(); }
  Status end_array() override { return end(); }
  Status string(std::string_view text) override { return value({Kind::kString, text}); }
  Status integer(std::int64_t n) override { return real(static_cast<double>(n)); }
  Status large_integer(std::uint64_t n) override { return real(static_cast<double>(n)); }
  Status real(double number) override { return value({Kind::kNumber, {}, number}); }
  Status boolean(bool flag) override { return value({Kind::kBoolean, {}, 0, flag}); }
  Status null() override { return value({Kind::kNull}); }
  Status key(std::string_view text) override;

  Result<SerializedEGraph> finish();

 private:
  enum class Where : unsigned char {
    kStart,
    kTop,
    kNodes,
    kNode,
    kChildren,
    kRoots,
    kClassData,
    kClassEntry,
    kEnd
  };
  enum class Member : unsigned char {
    kOther,
    kNodes,
    kRoots,
    kClassData,
    kOp,
    kChildren,
    kClass,
    kCost,
    kSubsumed
  };
  struct MemberRow {
    std::string_view name;
    Where where;
    Member member;
  };
  static constexpr std::array<MemberRow, 8> kMembers = {{
      {"nodes", Where::kTop, Member::kNodes},
      {"root_eclasses", Where::kTop, Member::kRoots},
      {"class_data", Where::kTop, Member::kClassData},
      {"op", Where::kNode, Member::kOp},
      {"children", Where::kNode, Member::kChildren},
      {"eclass", Where::kNode, Member::kClass},
      {"cost", Where::kNode, Member::kCost},
      {"subsumed", Where::kNode, Member::kSubsumed},
  }};
  struct Value {
    Kind kind;
    std::string_view text = {};
    double number = 0;
    bool flag = false;

    bool composite() const { return kind == Kind::kObject || kind == Kind::kArray; }
  };
  struct Node {
    OpId op;
    Index in_class = kNone;  // kNone: mentioned, but not defined yet
    std::size_t first_child = 0;
    double cost = 1;
    bool subsumed = false;
  };

  Status value(const Value& v);
  Status top_member(const Value& v);
  Status node_member(const Value& v);
  Status end();
  Status begin_node(std::string_view name);
  Status end_node();
  Status member_key(std::string_view text);
  // Enters a composite value that is not part of the format, to skip it up to its end.
  Status skip(const Value& v) {
    skipped_ += v.composite() ? 1U : 0U;
    return base::ok();
  }
  Node& current() { return nodes_[current_]; }

  Status check_children() const;
  Status resolve_roots(SerializedEGraph& result) const;
  Status resolve_class_data(SerializedEGraph& result) const;
  void fill_view(SerializedEGraph& result) const;

  const SerializedOptions options_;
  Where where_ = Where::kStart;
  Member member_ = Member::kOther;
  std::size_t skipped_ = 0;  // nesting depth inside a value that is not part of the format
  std::uint32_t seen_ = 0;   // one bit per Member, of the top level and of the current node

  OpTable ops_;
  NameTable node_names_;
  NameTable class_names_;
  std::vector<Node> nodes_;   // by number of the name
  std::vector<Index> order_;  // the nodes in order of definition
  std::vector<Index> children_;
  std::vector<std::string> roots_;
  std::vector<std::pair<std::string, SerializedEGraph::Texts>> class_data_;

  Index current_ = kNone;
  std::string op_;
  std::string entry_key_;
};

Status SerializedReader::Handler::key(std::string_view text) {
  if (skipped_ > 0) return base::ok();
  switch (where_) {
    case Where::kNodes: return begin_node(text);
    case Where::kClassData: class_data_.push_back({std::string(text), {}}); return base::ok();
    case Where::kClassEntry: entry_key_ = text; return base::ok();
    default: return member_key(text);
  }
}

// Unknown members are skipped. A known one may occur once, so that no value silently replaces
// another.
Status SerializedReader::Handler::member_key(std::string_view text) {
  member_ = Member::kOther;
  for (const MemberRow& row : kMembers) {
    if (row.where == where_ && row.name == text) member_ = row.member;
  }
  if (member_ == Member::kOther) return base::ok();
  const std::uint32_t bit = 1U << static_cast<unsigned>(member_);
  if ((seen_ & bit) != 0) return base::bad_input("a second " + in_quotes(text));
  seen_ |= bit;
  return base::ok();
}

Status SerializedReader::Handler::value(const Value& v) {
  if (skipped_ > 0) return skip(v);
  switch (where_) {
    case Where::kStart: where_ = Where::kTop; return require("the document", Kind::kObject, v.kind);
    case Where::kTop: return top_member(v);
    case Where::kNodes: where_ = Where::kNode; return require("a node", Kind::kObject, v.kind);
    case Where::kNode: return node_member(v);
    case Where::kChildren: {
      EGRET_RETURN_IF_ERROR(require("a child", Kind::kString, v.kind));
      children_.push_back(node_names_.intern(v.text));
      if (nodes_.size() < node_names_.size()) nodes_.emplace_back();
      return base::ok();
    }
    case Where::kRoots:
      EGRET_RETURN_IF_ERROR(require("a root", Kind::kString, v.kind));
      roots_.emplace_back(v.text);
      return base::ok();
    case Where::kClassData:
      where_ = Where::kClassEntry;
      return require("the data of a class", Kind::kObject, v.kind);
    case Where::kClassEntry:
      if (v.kind != Kind::kString) return skip(v);
      class_data_.back().second.emplace_back(entry_key_, v.text);
      return base::ok();
    case Where::kEnd: break;
  }
  return base::internal_error("a value after the document's end");
}

Status SerializedReader::Handler::top_member(const Value& v) {
  switch (member_) {
    case Member::kNodes: where_ = Where::kNodes; return require("nodes", Kind::kObject, v.kind);
    case Member::kRoots:
      where_ = Where::kRoots;
      return require("root_eclasses", Kind::kArray, v.kind);
    case Member::kClassData:
      where_ = Where::kClassData;
      return require("class_data", Kind::kObject, v.kind);
    default: return skip(v);
  }
}

Status SerializedReader::Handler::node_member(const Value& v) {
  switch (member_) {
    case Member::kOp: op_ = v.text; return require("op", Kind::kString, v.kind);
    case Member::kChildren:
      where_ = Where::kChildren;
      return require("children", Kind::kArray, v.kind);
    case Member::kClass:
      EGRET_RETURN_IF_ERROR(require("eclass", Kind::kString, v.kind));
      current().in_class = class_names_.intern(v.text);
      return base::ok();
    case Member::kCost: current().cost = v.number; return require("cost", Kind::kNumber, v.kind);
    case Member::kSubsumed:
      current().subsumed = v.flag;
      return require("subsumed", Kind::kBoolean, v.kind);
    default: return skip(v);
  }
}

// The position after a value follows from the position inside it, because the format nests in one
// way only. The handler thus needs no stack.
Status SerializedReader::Handler::end() {
  if (skipped_ > 0) {
    --skipped_;
    return base::ok();
  }
  switch (where_) {
    case Where::kNode: where_ = Where::kNodes; return end_node();
    case Where::kChildren: where_ = Where::kNode; return base::ok();
    case Where::kClassEntry: where_ = Where::kClassData; return base::ok();
    case Where::kTop: where_ = Where::kEnd; return base::ok();
    default: where_ = Where::kTop; return base::ok();
  }
}

Status SerializedReader::Handler::begin_node(std::string_view name) {
  if (order_.size() >= options_.max_nodes) {
    return base::limit_hit("more than " + std::to_string(options_.max_nodes) + " nodes");
  }
  // A child may be mentioned before its node is defined. The name then has an entry already.
  current_ = node_names_.intern(name);
  if (nodes_.size() < node_names_.size()) nodes_.emplace_back();
  if (current().in_class != kNone)
    return base::bad_input("node " + in_quotes(name) + " occurs twice");
  current().first_child = children_.size();
  // The members of the top level have the lowest bits. Those of the node before are cleared.
  constexpr std::uint32_t kTopMembers = (1U << static_cast<unsigned>(Member::kOp)) - 1;
  seen_ &= kTopMembers;
  return base::ok();
}

Status SerializedReader::Handler::end_node() {
  for (const Member needed : {Member::kOp, Member::kClass}) {
    if ((seen_ & (1U << static_cast<unsigned>(needed))) != 0) continue;
    return base::bad_input("node " + in_quotes(node_names_.name(current_)) + " has no " +
                           (needed == Member::kOp ? "op" : "eclass"));
  }
  const std::size_t arity = children_.size() - current().first_child;
  if (ops_.op_count() >= OpTable::kMaxOps - 1 || children_.size() >= kNone) {
    return base::limit_hit("more operators or children than 32-bit indices can number");
  }
  current().op = ops_.op(op_, arity);
  order_.push_back(current_);
  return base::ok();
}

Result<SerializedEGraph> SerializedReader::Handler::finish() {
  if ((seen_ & (1U << static_cast<unsigned>(Member::kNodes))) == 0) {
    return base::bad_input("the document has no 'nodes'; is it an e-graph?");
  }
  EGRET_RETURN_IF_ERROR(check_children());
  SerializedEGraph result;
  EGRET_RETURN_IF_ERROR(resolve_roots(result));
  EGRET_RETURN_IF_ERROR(resolve_class_data(result));
  fill_view(result);
  result.ops = std::move(ops_);
  return result;
}

// A name that is only mentioned as a child has an entry in nodes_ but not in order_. Equal sizes
// thus show that every child is defined. Otherwise the search for the culprit may be slow.
Status SerializedReader::Handler::check_children() const {
  if (order_.size() == nodes_.size()) return base::ok();
  for (const Index node : order_) {
    const std::size_t begin = nodes_[node].first_child;
    for (std::size_t i = begin; i < begin + ops_.arity(nodes_[node].op); ++i) {
      if (nodes_[children_[i]].in_class != kNone) continue;
      return base::bad_input("node " + in_quotes(node_names_.name(node)) + " has the child " +
                             in_quotes(node_names_.name(children_[i])) + ", which is not a node");
    }
  }
  return base::internal_error("a name without a node");
}

Status SerializedReader::Handler::resolve_roots(SerializedEGraph& result) const {
  for (const std::string& root : roots_) {
    const Index c = class_names_.find(root);
    if (c != kNone) {
      result.view.roots.push_back(c);
    } else if (options_.ignore_missing_roots) {
      result.missing_roots.push_back(root);
    } else {
      return base::bad_input("root " + in_quotes(root) + " is a class without nodes");
    }
  }
  return base::ok();
}

Status SerializedReader::Handler::resolve_class_data(SerializedEGraph& result) const {
  for (const auto& [name, texts] : class_data_) {
    const Index c = class_names_.find(name);
    if (c == kNone) {
      return base::bad_input("class_data: " + in_quotes(name) + " is a class without nodes");
    }
    result.class_data.emplace_back(c, texts);
    auto& sorted = result.class_data.back().second;
    std::sort(sorted.begin(), sorted.end());
  }
  auto& all = result.class_data;
  std::sort(all.begin(), all.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (const auto twice = std::adjacent_find(all.begin(), all.end(), same); twice != all.end()) {
    return base::bad_input("class_data: class " + in_quotes(class_names_.name(twice->first)) +
                           " occurs twice");
  }
  return base::ok();
}

// Fills the view by a counting sort of the nodes by class, stable in the file's order.
void SerializedReader::Handler::fill_view(SerializedEGraph& result) const {
  EGraphView& view = result.view;
  const std::size_t classes = class_names_.size();
  view.class_begin.assign(classes + 1, 0);
  for (const Index node : order_) ++view.class_begin[nodes_[node].in_class + 1];
  for (std::size_t c = 0; c < classes; ++c) {
    view.class_begin[c + 1] += view.class_begin[c];
    view.class_id.emplace_back(c);
    result.class_names.push_back(class_names_.name(static_cast<Index>(c)));
  }
  std::vector<Index> place(nodes_.size());  // the position of each node in the view
  std::vector<Index> at(order_.size());     // the node at each position
  std::vector<Index> next(view.class_begin.begin(), view.class_begin.end() - 1);
  for (const Index node : order_) {
    place[node] = next[nodes_[node].in_class]++;
    at[place[node]] = node;
  }
  for (const Index number : at) {
    const Node& node = nodes_[number];
    view.node_class.push_back(node.in_class);
    view.node_op.push_back(node.op);
    for (std::size_t i = 0; i < ops_.arity(node.op); ++i) {
      const Index child = children_[node.first_child + i];
      view.children.push_back(nodes_[child].in_class);
      result.child_nodes.push_back(place[child]);
    }
    view.child_begin.push_back(static_cast<Index>(view.children.size()));
    result.costs.push_back(node.cost);
    result.subsumed.push_back(node.subsumed);
    result.node_names.push_back(node_names_.name(number));
  }
}

struct SerializedReader::State {
  explicit State(const SerializedOptions& options)
      : handler(options), reader(handler, kMaxDepth, kMaxName) {}

  Handler handler;
  base::JsonStreamReader reader;
};

SerializedReader::SerializedReader(const SerializedOptions& options)
    : state_(std::make_unique<State>(options)) {}

SerializedReader::~SerializedReader() = default;

Status SerializedReader::feed(std::string_view piece) { return state_->reader.feed(piece); }

Result<SerializedEGraph> SerializedReader::finish() {
  EGRET_RETURN_IF_ERROR(state_->reader.finish());
  return state_->handler.finish();
}

Result<SerializedEGraph> read_serialized(const std::string& path,
                                         const SerializedOptions& options) {
  SerializedReader reader(options);
  EGRET_RETURN_IF_ERROR(base::read_in_pieces(
      path, kMaxBytes, [&](std::string_view piece) { return reader.feed(piece); }));
  Result<SerializedEGraph> result = reader.finish();
  if (!result.ok()) return result.status().at(path == "-" ? "standard input" : path);
  return result;
}

}  // namespace egret::egraph
