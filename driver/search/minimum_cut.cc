// SPDX-License-Identifier: Apache-2.0
#include "driver/search/minimum_cut.h"

// GCC 12 takes an iterator of this library for one that is read before it is set.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace egret::driver {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<
        boost::vertex_color_t, boost::default_color_type,
        boost::property<boost::vertex_distance_t, std::int64_t,
                        boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>,
    boost::property<
        boost::edge_capacity_t, std::int64_t,
        boost::property<boost::edge_residual_capacity_t, std::int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

}  // namespace

std::vector<char> FlowNetwork::source_side(std::size_t source, std::size_t sink) const {
  Network network(vertices_);
  for (const Edge& edge : edges_) {
    const auto there = boost::add_edge(edge.from, edge.to, network).first;
    const auto back = boost::add_edge(edge.to, edge.from, network).first;
    boost::put(boost::edge_capacity, network, there, edge.capacity);
    boost::put(boost::edge_capacity, network, back, 0);
    boost::put(boost::edge_reverse, network, there, back);
    boost::put(boost::edge_reverse, network, back, there);
  }
  boost::boykov_kolmogorov_max_flow(network, source, sink);
  // By max-flow min-cut, the vertices that are reached through edges with residual capacity are the
  // source side of a minimum cut, and the smallest such side.
  std::vector<char> reached(vertices_, 0);
  std::vector<std::size_t> stack{source};
  reached[source] = 1;
  while (!stack.empty()) {
    const auto [first, last] = boost::out_edges(stack.back(), network);
    stack.pop_back();
    for (auto edge = first; edge != last; ++edge) {
      const std::size_t to = boost::target(*edge, network);
      if (reached[to] != 0 || boost::get(boost::edge_residual_capacity, network, *edge) == 0)
        continue;
      reached[to] = 1;
      stack.push_back(to);
    }
  }
  return reached;
}

}  // namespace egret::driver

#pragma GCC diagnostic pop
