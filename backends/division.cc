// SPDX-License-Identifier: Apache-2.0
#include "backends/division.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/formats/json.h"

namespace egret::backends {
namespace {

bool is_operator(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kOperator;
}

// The parts that each node of the given graph belongs to.
std::vector<std::vector<std::size_t>> parts_by_node(const PreparedGraph& prepared,
                                                    const Division& division) {
  std::vector<std::vector<std::size_t>> parts;
  for (const ir::NodeId origin : prepared.origin) {
    if (origin.valid()) parts.resize(std::max<std::size_t>(parts.size(), origin.index() + 1));
  }
  for (std::size_t part = 0; part < division.size(); ++part) {
    for (const ir::NodeId id : division[part]) {
      if (id.index() < parts.size()) parts[id.index()].push_back(part);
    }
  }
  return parts;
}

// A constant, or a value that another kernel makes.
ir::Node read_from_outside(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.kind == ir::NodeKind::kConstant) return node;
  return {
      .kind = ir::NodeKind::kInput, .type = node.type, .name = "v" + std::to_string(id.index())};
}

// Every value that is read outside of the parts that contain it must be the last of one part, or
// be stored by a part with several values.
class StoredValues {
 public:
  StoredValues(const ir::Graph& graph, std::span<PreparedPart> parts)
      : graph_(graph), parts_(parts), stored_(graph.size(), false), first_(graph.size(), kNone) {}

  base::Status settle(const StoresTogether& together) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const ir::NodeId last = parts_[part].nodes.back();
      if (stored_[last.index()])
        return base::bad_input("two kernels of the division store " + node_label(graph_, last));
      stored_[last.index()] = true;
      for (const ir::NodeId id : parts_[part].nodes)
        first_[id.index()] = std::min(first_[id.index()], part);
    }
    for (const PreparedPart& part : parts_) {
      for (const ir::NodeId id : part.nodes) {
        for (const ir::NodeId input : graph_.node(id).inputs) {
          if (!std::ranges::binary_search(part.nodes, input)) store(input);
        }
      }
    }
    for (const auto& output : graph_.outputs()) store(output.node);
    for (PreparedPart& part : parts_) {
      if (part.stored.empty()) continue;
      std::ranges::sort(part.stored);
      if (!together || !together(graph_of(graph_, part))) return unstored(part.stored.front());
    }
    return base::ok();
  }

 private:
  static constexpr auto kNone = static_cast<std::size_t>(-1);

  void store(ir::NodeId read) {
    if (!is_operator(graph_, read) || stored_[read.index()]) return;
    stored_[read.index()] = true;
    parts_[first_[read.index()]].stored.push_back(read);
  }

  // With what it stores as outputs.
  static ir::Graph graph_of(const ir::Graph& graph, const PreparedPart& part) {
    ir::Graph result;
    std::map<ir::NodeId, ir::NodeId> places;
    for (const ir::NodeId id : part.nodes) {
      ir::Node node = graph.node(id);
      for (ir::NodeId& input : node.inputs) {
        if (!places.contains(input))
          places.emplace(input, result.append(read_from_outside(graph, input)));
        input = places.at(input);
      }
      places.insert_or_assign(id, result.append(std::move(node)));
    }
    result.add_output("y", places.at(part.nodes.back()));
    for (const ir::NodeId id : part.stored)
      result.add_output("y" + std::to_string(id.index()), places.at(id));
    return result;
  }

  base::Status unstored(ir::NodeId id) const {
    return base::bad_input("the division into kernels stores no value of " +
                           node_label(graph_, id) + ", which another kernel reads");
  }

  const ir::Graph& graph_;
  std::span<PreparedPart> parts_;
  std::vector<bool> stored_;
  std::vector<std::size_t> first_;  // the first part with each node
};

std::vector<ir::NodeId> given_nodes(const PreparedGraph& prepared,
                                    std::span<const ir::NodeId> nodes) {
  std::vector<ir::NodeId> given;
  for (const ir::NodeId id : nodes) {
    const ir::NodeId origin = prepared.origin[id.index()];
    if (origin.valid()) given.push_back(origin);
  }
  std::ranges::sort(given);
  const auto repeated = std::ranges::unique(given);
  given.erase(repeated.begin(), repeated.end());
  return given;
}

// The prepared nodes of each given node that is in kernels, by kernel.
using Shares = std::map<ir::NodeId, std::map<std::size_t, std::set<ir::NodeId>>>;

Shares shares_of(const PreparedGraph& prepared, const Division& kernels) {
  Shares shares;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    for (const ir::NodeId id : kernels[kernel]) {
      const ir::NodeId origin = prepared.origin[id.index()];
      if (origin.valid()) shares[origin][kernel].insert(id);
    }
  }
  return shares;
}

// The kernels, of those with nodes of one given node, that do not have all of them.
std::vector<std::size_t> partial(const Shares::mapped_type& kernels) {
  std::set<ir::NodeId> all;
  for (const auto& [kernel, nodes] : kernels) all.insert(nodes.begin(), nodes.end());
  std::vector<std::size_t> partial;
  for (const auto& [kernel, nodes] : kernels) {
    if (nodes.size() < all.size()) partial.push_back(kernel);
  }
  return partial;
}

// Kernels that compute a given node together become one: of what passes between them, the given
// graph has no name.
Division joined(const PreparedGraph& prepared, Division kernels) {
  std::vector<std::size_t> into(kernels.size());
  std::iota(into.begin(), into.end(), std::size_t{0});
  const auto last = [&](std::size_t kernel) {
    while (into[kernel] != kernel) kernel = into[kernel] = into[into[kernel]];
    return kernel;
  };
  for (const auto& [origin, shares] : shares_of(prepared, kernels)) {
    const std::vector<std::size_t> together = partial(shares);
    for (const std::size_t kernel : together) into[last(together.front())] = last(kernel);
  }
  Division joined;
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    std::vector<ir::NodeId>& target = kernels[last(kernel)];
    if (last(kernel) != kernel)
      target.insert(target.end(), kernels[kernel].begin(), kernels[kernel].end());
  }
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    if (last(kernel) == kernel) joined.push_back(std::move(kernels[kernel]));
  }
  return joined;
}

// The nodes, ascending, as a graph; `nodes` becomes the prepared node of each of its nodes.
PreparedGraph graph_of(const PreparedGraph& prepared, std::vector<ir::NodeId>& nodes) {
  PreparedGraph part;
  std::vector<ir::NodeId> sources;
  std::map<ir::NodeId, ir::NodeId> places;
  const auto append = [&](ir::NodeId id, ir::Node node) {
    places.emplace(id, part.graph.append(std::move(node)));
    part.origin.push_back(prepared.origin[id.index()]);
    if (!prepared.lowerings.empty()) part.lowerings.push_back(prepared.lowerings[id.index()]);
    sources.push_back(id);
  };
  for (const ir::NodeId id : nodes) {
    ir::Node node = prepared.graph.node(id);
    for (ir::NodeId& input : node.inputs) {
      if (!places.contains(input)) append(input, read_from_outside(prepared.graph, input));
      input = places.at(input);
    }
    append(id, std::move(node));
  }
  part.graph.add_output("y", places.at(nodes.back()));
  nodes = std::move(sources);
  return part;
}

// By their last nodes, save that a part with several values comes before those that read any of
// them. Errors: bad_input where parts need each other's values.
base::Result<std::vector<PreparedPart>> in_order(const ir::Graph& graph,
                                                 std::vector<PreparedPart> parts) {
  std::ranges::stable_sort(parts, {}, [](const PreparedPart& part) { return part.nodes.back(); });
  std::map<ir::NodeId, std::size_t> maker;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    maker[parts[part].nodes.back()] = part;
    for (const ir::NodeId id : parts[part].stored) maker[id] = part;
  }
  std::vector<std::set<std::size_t>> readers(parts.size());
  std::vector<std::size_t> missing(parts.size(), 0);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const ir::NodeId id : parts[part].nodes) {
      for (const ir::NodeId input : graph.node(id).inputs) {
        if (std::ranges::binary_search(parts[part].nodes, input)) continue;
        const auto found = maker.find(input);
        if (found != maker.end() && readers[found->second].insert(part).second) ++missing[part];
      }
    }
  }
  std::set<std::size_t> ready;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (missing[part] == 0) ready.insert(part);
  }
  std::vector<PreparedPart> ordered;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    for (const std::size_t reader : readers[next]) {
      if (--missing[reader] == 0) ready.insert(reader);
    }
    ordered.push_back(std::move(parts[next]));
  }
  if (ordered.size() < parts.size())
    return base::bad_input("two kernels of the division need each other's values");
  return ordered;
}

// A part with a node that the backend computes by several kernels is as many parts.
base::Result<std::vector<PreparedPart>> with_own_kernels(const PreparedGraph& prepared,
                                                         std::vector<PreparedPart> parts,
                                                         const DividePrepared& own) {
  std::vector<PreparedPart> result;
  for (PreparedPart& part : parts) {
    if (!part.stored.empty()) {  // it was found to be one kernel
      result.push_back(std::move(part));
      continue;
    }
    std::set<ir::NodeId> given;
    for (const ir::NodeId id : part.nodes) given.insert(prepared.origin[id.index()]);
    Division kernels;
    if (given.size() < part.nodes.size()) {
      std::vector<ir::NodeId> sources = part.nodes;
      kernels = own(graph_of(prepared, sources));
      for (std::vector<ir::NodeId>& kernel : kernels) {
        for (ir::NodeId& id : kernel) id = sources[id.index()];
      }
    }
    const Shares shares = shares_of(prepared, kernels);
    const bool apart =
        std::ranges::any_of(shares, [](const auto& one) { return !partial(one.second).empty(); });
    if (!apart) {
      result.push_back(std::move(part));
      continue;
    }
    for (std::vector<ir::NodeId>& kernel : kernels)
      result.push_back({.nodes = std::move(kernel), .part = part.part});
  }
  return in_order(prepared.graph, std::move(result));
}

// The names of operators' values; an output has the name under which it leaves the graph.
std::vector<std::string> names_of(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes())
    names.push_back(node.kind == ir::NodeKind::kOperator ? node.name : "");
  for (const auto& output : graph.outputs()) {
    if (is_operator(graph, output.node)) names[output.node.index()] = output.name;
  }
  return names;
}

// Kernels by the names of their nodes; nothing for text that is no such list for the backend.
std::optional<std::vector<std::vector<std::string>>> kernels_in(std::string_view text,
                                                                std::string_view backend) {
  const auto parsed = base::Json::parse(text);
  if (!parsed.ok()) return std::nullopt;
  const base::Json* const named = parsed->find("backend");
  const base::Json* const list = parsed->find("kernels");
  if (named == nullptr || named->scalar_text() != backend || list == nullptr || !list->is_array())
    return std::nullopt;
  std::vector<std::vector<std::string>> kernels;
  for (const base::Json& kernel : list->items()) {
    if (!kernel.is_array()) return std::nullopt;
    std::vector<std::string>& names = kernels.emplace_back();
    for (const base::Json& name : kernel.items()) names.push_back(name.scalar_text());
  }
  return kernels;
}

// Nodes without a name join the one kernel that reads them. Readers come first, since they have
// higher numbers.
void adopt_unnamed(const ir::Graph& graph, const std::vector<std::string>& names,
                   Division& division) {
  std::vector<std::set<std::size_t>> kernels_of(graph.size());
  for (std::size_t kernel = 0; kernel < division.size(); ++kernel) {
    for (const ir::NodeId id : division[kernel]) kernels_of[id.index()].insert(kernel);
  }
  std::vector<std::set<std::size_t>> readers(graph.size());
  std::vector<bool> read_apart(graph.size(), false);  // by a kernel of one operator
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!is_operator(graph, ir::NodeId(i))) continue;
    const bool alone = names[i].empty() && !read_apart[i] && readers[i].size() == 1;
    if (alone) {
      kernels_of[i] = readers[i];
      division[*readers[i].begin()].emplace_back(i);
    }
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) {
      readers[input.index()].insert(kernels_of[i].begin(), kernels_of[i].end());
      if (kernels_of[i].empty()) read_apart[input.index()] = true;
    }
  }
}

void set_layouts(const DivisionLayouts& layouts, std::span<PreparedPart> parts) {
  for (PreparedPart& part : parts) {
    const auto number = static_cast<std::size_t>(part.part);
    if (part.part >= 0 && number < layouts.kernels.size()) part.layouts = layouts.kernels[number];
  }
}

}  // namespace

void store_division(ir::Graph& graph, const Division& division, std::string_view backend,
                    const DivisionLayouts& layouts) {
  std::set<std::string> taken;
  for (const ir::Node& node : graph.nodes()) taken.insert(node.name);
  for (const auto& output : graph.outputs()) taken.insert(output.name);
  std::vector<std::string> names = names_of(graph);
  const auto name_of = [&](ir::NodeId id) -> const std::string& {
    std::string& name = names[id.index()];
    for (int number = 0; name.empty(); ++number) {
      const std::string free = graph.node(id).op->name() + "_" + std::to_string(id.index()) +
                               (number > 0 ? "_" + std::to_string(number) : "");
      if (taken.insert(free).second) name = free;
    }
    if (graph.node(id).name.empty()) graph.rename(id, name);
    return name;
  };
  base::Json kernels = base::Json::array(), forms = base::Json::array();
  for (std::size_t part = 0; part < division.size(); ++part) {
    if (!layouts.empty() && layouts.kernels[part] != KernelLayouts()) {
      forms.push(base::Json::array()
                     .push(name_of(division[part].back()))
                     .push(to_string(layouts.kernels[part].reads))
                     .push(to_string(layouts.kernels[part].writes)));
    }
    if (division[part].size() < 2) continue;
    base::Json members = base::Json::array();
    for (const ir::NodeId id : division[part]) members.push(name_of(id));
    kernels.push(std::move(members));
  }
  base::Json stored =
      base::Json::object().set("backend", backend).set("kernels", std::move(kernels));
  if (!layouts.empty()) stored.set("layouts", std::move(forms));
  graph.metadata[std::string(kKernelsKey)] = stored.dump();
}

DivisionLayouts stored_layouts(const ir::Graph& graph, const Division& division,
                               std::string_view backend) {
  DivisionLayouts layouts;
  const auto text = graph.metadata.find(std::string(kKernelsKey));
  if (text == graph.metadata.end()) return layouts;
  const auto parsed = base::Json::parse(text->second);
  if (!parsed.ok()) return layouts;
  const base::Json* const named = parsed->find("backend");
  const base::Json* const list = parsed->find("layouts");
  if (named == nullptr || named->scalar_text() != backend || list == nullptr || !list->is_array())
    return layouts;
  std::map<std::string, KernelLayouts> by_name;
  for (const base::Json& kernel : list->items()) {
    if (!kernel.is_array() || kernel.items().size() != 3) return layouts;
    const auto reads = layout_form_named(kernel.items()[1].scalar_text());
    const auto writes = layout_form_named(kernel.items()[2].scalar_text());
    if (!reads || !writes) return layouts;
    by_name[kernel.items()[0].scalar_text()] = {*reads, *writes};
  }
  const std::vector<std::string> names = names_of(graph);
  for (const std::vector<ir::NodeId>& kernel : division) {
    const auto found = by_name.find(names[kernel.back().index()]);
    layouts.kernels.push_back(found != by_name.end() ? found->second : KernelLayouts());
  }
  return layouts;
}

Division stored_division(const ir::Graph& graph, std::string_view backend) {
  const auto text = graph.metadata.find(std::string(kKernelsKey));
  if (text == graph.metadata.end()) return {};
  const auto kernels = kernels_in(text->second, backend);
  if (!kernels) return {};
  const std::vector<std::string> names = names_of(graph);
  std::map<std::string, ir::NodeId> nodes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) nodes.emplace(names[i], i);
  }
  Division division;
  for (const std::vector<std::string>& kernel : *kernels) {
    std::vector<ir::NodeId>& members = division.emplace_back();
    for (const std::string& name : kernel) {
      if (const auto found = nodes.find(name); found != nodes.end())
        members.push_back(found->second);
    }
  }
  adopt_unnamed(graph, names, division);
  std::vector<bool> covered(graph.size(), false);
  for (std::vector<ir::NodeId>& kernel : division) {
    std::ranges::sort(kernel);
    for (const ir::NodeId id : kernel) covered[id.index()] = true;
  }
  std::erase_if(division, [](const auto& kernel) { return kernel.empty(); });
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (!covered[i] && is_operator(graph, ir::NodeId(i))) division.push_back({ir::NodeId(i)});
  }
  return division;
}

base::Result<std::vector<PreparedPart>> prepared_parts(const PreparedGraph& prepared,
                                                       const Division& division,
                                                       const StoresTogether& together) {
  const auto parts_of = parts_by_node(prepared, division);
  std::vector<PreparedPart> parts(division.size());
  for (std::size_t i = 0; i < prepared.graph.size(); ++i) {
    const ir::NodeId id(i);
    if (!is_operator(prepared.graph, id)) continue;
    const ir::NodeId origin = prepared.origin[i];
    if (!origin.valid() || parts_of[origin.index()].empty()) {
      parts.push_back({.nodes = {id}});
      continue;
    }
    for (const std::size_t part : parts_of[origin.index()]) {
      parts[part].nodes.push_back(id);
      parts[part].part = static_cast<int>(part);
    }
  }
  std::erase_if(parts, [](const PreparedPart& part) { return part.nodes.empty(); });
  std::ranges::stable_sort(parts, {}, [](const PreparedPart& part) { return part.nodes.back(); });
  EGRET_RETURN_IF_ERROR(StoredValues(prepared.graph, parts).settle(together));
  return in_order(prepared.graph, std::move(parts));
}

std::vector<bool> computed_once(const ir::Graph& graph) {
  std::vector<bool> once(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    once[i] =
        node.kind == ir::NodeKind::kConstant ||
        (node.kind == ir::NodeKind::kOperator &&
         std::ranges::all_of(node.inputs, [&](ir::NodeId input) { return once[input.index()]; }));
  }
  return once;
}

base::Result<std::vector<PreparedPart>> parts_for(
    const ir::Graph& graph, const PreparedGraph& prepared, const CompileOptions& options,
    std::string_view backend, const DividePrepared& own, const StoresTogether& together) {
  if (!options.division.empty()) {
    EGRET_ASSIGN_OR_RETURN(auto parts, prepared_parts(prepared, options.division, together));
    set_layouts(options.layouts, parts);
    return with_own_kernels(prepared, std::move(parts), own);
  }
  if (!options.fuse) return std::vector<PreparedPart>();
  const Division division = stored_division(graph, backend);
  if (division.empty()) return std::vector<PreparedPart>();
  auto parts = prepared_parts(prepared, division, together);
  // A model's metadata may be about what the model once was.
  if (parts.ok()) {
    set_layouts(stored_layouts(graph, division, backend), *parts);
    parts = with_own_kernels(prepared, *std::move(parts), own);
  }
  return parts.ok() ? *std::move(parts) : std::vector<PreparedPart>();
}

void number_parts(PlanReport& report, const Division& division) {
  std::map<ir::NodeId, int> parts;
  for (std::size_t part = 0; part < division.size(); ++part) {
    for (const ir::NodeId id : division[part]) parts.emplace(id, static_cast<int>(part));
  }
  for (PlanReport::Kernel& kernel : report.kernels) {
    const auto found = kernel.ids.empty() ? parts.end() : parts.find(kernel.ids.back());
    if (found != parts.end()) kernel.part = found->second;
  }
}

base::Result<Division> parts_apart(std::span<const PreparedPart> parts) {
  Division division;
  std::set<ir::NodeId> seen;
  for (const PreparedPart& part : parts) {
    for (const ir::NodeId id : part.nodes) {
      if (!seen.insert(id).second)
        return base::unsupported("a division with a value in several kernels");
    }
    division.push_back(part.nodes);
  }
  return division;
}

Division given_division(const PreparedGraph& prepared, const Division& kernels) {
  const std::vector<bool> once = computed_once(prepared.graph);
  Division division;
  for (const std::vector<ir::NodeId>& kernel : kernels) {
    if (!once[kernel.back().index()]) division.push_back(kernel);
  }
  division = joined(prepared, std::move(division));
  for (std::vector<ir::NodeId>& kernel : division) kernel = given_nodes(prepared, kernel);
  return division;
}

}  // namespace egret::backends
