// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/check.h"
#include "base/formats/json_stream.h"
#include "egraph/formats/serialized_egraph.h"

namespace egret::egraph {

using base::Status;

namespace {

// Collects text and passes it on in large pieces.
class Output {
 public:
  explicit Output(const TextSink& sink) : sink_(sink) {}

  Output& raw(std::string_view text) {
    buffer_ += text;
    return *this;
  }
  Output& text(std::string_view text) {
    base::append_json_string(buffer_, text);
    return *this;
  }
  Output& real(double value) {
    base::append_json_real(buffer_, value);
    return *this;
  }
  // Called between items, where a failure can be returned.
  Status pause() { return buffer_.size() < kPiece ? base::ok() : flush(); }
  Status flush() {
    Status status = buffer_.empty() ? base::ok() : sink_(buffer_);
    buffer_.clear();
    return status;
  }

 private:
  static constexpr std::size_t kPiece = 65536;
  const TextSink& sink_;
  std::string buffer_;
};

// Tracks the separator to write before each member of an object or element of an array.
class Separator {
 public:
  std::string_view next() { return std::exchange(first_, false) ? "\n" : ",\n"; }

 private:
  bool first_ = true;
};

constexpr double kDefaultCost = 1;

void write_roots(Output& out, std::span<const std::string> names) {
  out.raw("\n  },\n  \"root_eclasses\": [");
  Separator comma;
  for (const std::string& name : names) out.raw(comma.next()).raw("    ").text(name);
  out.raw(names.empty() ? "]" : "\n  ]");
}

std::string node_name(ClassId id, std::size_t number) {
  return std::to_string(id.index()).append(".").append(std::to_string(number));
}

}  // namespace

Status write_serialized(const SerializedEGraph& serialized, const TextSink& sink) {
  const EGraphView& view = serialized.view;
  Output out(sink);
  out.raw("{\n  \"nodes\": {");
  Separator comma;
  for (EGraphView::Index node = 0; node < view.node_count(); ++node) {
    out.raw(comma.next()).raw("    ").text(serialized.node_names[node]).raw(": {\"op\": ");
    out.text(serialized.ops.name(view.node_op[node])).raw(", \"children\": [");
    for (std::size_t i = view.child_begin[node]; i < view.child_begin[node + 1]; ++i) {
      if (i > view.child_begin[node]) out.raw(", ");
      out.text(serialized.node_names[serialized.child_nodes[i]]);
    }
    out.raw("], \"eclass\": ").text(serialized.class_names[view.node_class[node]]);
    out.raw(", \"cost\": ").real(serialized.costs[node]);
    if (serialized.subsumed[node]) out.raw(", \"subsumed\": true");
    out.raw("}");
    EGRET_RETURN_IF_ERROR(out.pause());
  }
  std::vector<std::string> roots;
  for (const auto root : view.roots) roots.push_back(serialized.class_names[root]);
  write_roots(out, roots);
  if (!serialized.class_data.empty()) {
    out.raw(",\n  \"class_data\": {");
    Separator between_classes;
    for (const auto& [id, texts] : serialized.class_data) {
      out.raw(between_classes.next()).raw("    ").text(serialized.class_names[id]).raw(": {");
      for (std::size_t i = 0; i < texts.size(); ++i) {
        out.raw(i == 0 ? "" : ", ").text(texts[i].first).raw(": ").text(texts[i].second);
      }
      out.raw("}");
      EGRET_RETURN_IF_ERROR(out.pause());
    }
    out.raw("\n  }");
  }
  out.raw("\n}\n");
  return out.flush();
}

Status write_serialized(const EGraph& egraph, std::span<const ClassId> roots, const TextSink& sink,
                        const std::function<double(NodeId)>& cost) {
  EGRET_CHECK(egraph.clean(), "write_serialized() before rebuild()");
  const auto needed = [&](ClassId id) -> Status {
    if (!egraph.nodes(id).empty()) return base::ok();
    return base::unsupported("class " + std::to_string(id.index()) +
                             " has hidden nodes only, which the format cannot say");
  };
  Output out(sink);
  out.raw("{\n  \"nodes\": {");
  Separator comma;
  for (std::size_t c = 0; c < egraph.id_count(); ++c) {
    const ClassId id(c);
    if (!egraph.is_canonical(id)) continue;
    const auto nodes = egraph.nodes(id);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      out.raw(comma.next()).raw("    ").text(node_name(id, i)).raw(": {\"op\": ");
      out.text(egraph.ops().text(egraph.op(nodes[i]))).raw(", \"children\": [");
      std::string_view before;
      for (const ClassId child : egraph.children(nodes[i])) {
        EGRET_RETURN_IF_ERROR(needed(egraph.find(child)));
        out.raw(std::exchange(before, ", ")).text(node_name(egraph.find(child), 0));
      }
      out.raw("], \"eclass\": ").text(std::to_string(c)).raw(", \"cost\": ");
      out.real(cost ? cost(nodes[i]) : kDefaultCost).raw("}");
      EGRET_RETURN_IF_ERROR(out.pause());
    }
  }
  std::vector<std::string> names;
  for (const ClassId root : roots) {
    EGRET_RETURN_IF_ERROR(needed(egraph.find(root)));
    names.push_back(std::to_string(egraph.find(root).index()));
  }
  write_roots(out, names);
  out.raw("\n}\n");
  return out.flush();
}

base::Result<std::vector<ClassId>> add_serialized(const SerializedEGraph& serialized,
                                                  EGraph& egraph) {
  using Index = EGraphView::Index;
  const EGraphView& view = serialized.view;
  // Nodes are added in topological order (Kahn 1962). A node is ready when all its child classes
  // have an id, and a class has an id as soon as one of its nodes was added. If no node is ready
  // but classes are left, they are all cyclic or empty; the first one is given a placeholder leaf,
  // which makes its parents ready. The placeholders are hidden at the end. O(nodes + children),
  // plus the e-graph's own work.
  OpTable& ops = egraph.ops();
  std::vector<ClassId> ids(view.class_count());
  // For each class, the nodes that wait for it; for each node, the number of children without an
  // id.
  std::vector<std::vector<Index>> waiting(view.class_count());
  std::vector<std::size_t> missing(view.node_count());
  std::vector<Index> ready;
  for (Index node = 0; node < view.node_count(); ++node) {
    missing[node] = view.children_of(node).size();
    for (const Index child : view.children_of(node)) waiting[child].push_back(node);
    if (missing[node] == 0) ready.push_back(node);
  }
  std::vector<OpId> placeholders;
  const auto settle = [&](Index c, ClassId id) -> Status {
    if (ids[c].valid()) return egraph.merge(ids[c], id).status();
    ids[c] = id;
    for (const Index node : std::exchange(waiting[c], {})) {
      if (--missing[node] == 0) ready.push_back(node);
    }
    return base::ok();
  };
  for (std::size_t next = 0, c = 0; next < ready.size() || c < view.class_count();) {
    if (next == ready.size()) {
      // The classes that are left have no finite term or no node: start with a placeholder.
      const auto begun = static_cast<Index>(c++);
      if (ids[begun].valid()) continue;
      constexpr std::uint64_t kPlaceholder = 1;  // no operator of the file has this payload
      placeholders.push_back(ops.op("class " + serialized.class_names[begun], 0, kPlaceholder));
      EGRET_ASSIGN_OR_RETURN(const ClassId id, egraph.add(placeholders.back()));
      EGRET_RETURN_IF_ERROR(settle(begun, id));
      continue;
    }
    const Index node = ready[next++];
    std::vector<ClassId> children;
    for (const Index child : view.children_of(node)) children.push_back(ids[child]);
    const OpId op = ops.op(serialized.ops.name(view.node_op[node]), children.size());
    const auto added = egraph.add(op, children);
    if (!added.ok()) return added.status().at("node '" + serialized.node_names[node] + "'");
    EGRET_RETURN_IF_ERROR(settle(view.node_class[node], *added));
  }
  EGRET_RETURN_IF_ERROR(egraph.rebuild());
  for (const OpId op : placeholders) egraph.hide(egraph.lookup_node(op, {}));
  EGRET_RETURN_IF_ERROR(egraph.rebuild());
  for (ClassId& id : ids) id = egraph.find(id);
  return ids;
}

}  // namespace egret::egraph
