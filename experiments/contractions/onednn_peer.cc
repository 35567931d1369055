// SPDX-License-Identifier: Apache-2.0
// Times single convolutions and matrix products of whichever oneDNN (2.6 and later) it is compiled
// against, in the layouts that the library chooses, without reorders.
//
// Reads lines of integers after a word, and answers each with one line: the least and the tenth
// percentile of the seconds of a run, and the name of the implementation; or "none" and the reason.
//     conv N IC IH IW OC KH KW SH SW TOP LEFT BOTTOM RIGHT DH DW GROUPS BIAS
//     matmul BATCH M K N BIAS       (the right factor has no batch if it is a weight)
//     weights BATCH M K N BIAS
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using Dims = memory::dims;

constexpr auto kF32 = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;

class Peer {
 public:
  explicit Peer(double seconds) : seconds_(seconds) {}

  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::vector<long> n;
    for (long value = 0; words >> value;) n.push_back(value);
    try {
      if (kind == "conv" && n.size() == 17) return convolution(n);
      if ((kind == "matmul" || kind == "weights") && n.size() == 5)
        return product(n, kind == "weights");
      return "none bad line";
    } catch (const dnnl::error& error) {
      return std::string("none ") + error.what();
    }
  }

 private:
  std::string convolution(const std::vector<long>& n) {
    const long groups = n[15];
    const auto out = [](long size, long kernel, long stride, long pads, long dilation) {
      return (size + pads - (kernel - 1) * dilation - 1) / stride + 1;
    };
    const memory::desc image({n[0], n[1], n[2], n[3]}, kF32, kAny);
    const Dims kernel = groups == 1 ? Dims{n[4], n[1], n[5], n[6]}
                                    : Dims{groups, n[4] / groups, n[1] / groups, n[5], n[6]};
    const memory::desc weights(kernel, kF32, kAny);
    const memory::desc bias({n[4]}, kF32, memory::format_tag::a);
    const memory::desc result({n[0], n[4], out(n[2], n[5], n[7], n[9] + n[11], n[13]),
                               out(n[3], n[6], n[8], n[10] + n[12], n[14])},
                              kF32, kAny);
    const Dims strides{n[7], n[8]}, dilations{n[13] - 1, n[14] - 1}, before{n[9], n[10]},
        after{n[11], n[12]};
    const memory::desc no_bias;
    const memory::desc& added = n[16] != 0 ? bias : no_bias;
    const auto kind = dnnl::prop_kind::forward_inference;
    // As Egret's CPU backend asks: Winograd where the library knows that it is faster.
    std::string best;
    double least = 0;
    for (const auto algorithm :
         {dnnl::algorithm::convolution_direct, dnnl::algorithm::convolution_winograd}) {
      try {
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::convolution_forward::primitive_desc described(engine_, kind, algorithm, image,
                                                                  weights, added, result, strides,
                                                                  dilations, before, after);
#else
        const dnnl::convolution_forward::desc desc(kind, algorithm, image, weights, added, result,
                                                   strides, dilations, before, after);
        const dnnl::convolution_forward::primitive_desc described(desc, engine_);
#endif
        const std::string line =
            timed(dnnl::convolution_forward(described),
                  {{DNNL_ARG_SRC, described.src_desc()},
                   {DNNL_ARG_WEIGHTS, described.weights_desc()},
                   {DNNL_ARG_BIAS, n[16] != 0 ? described.bias_desc() : memory::desc()},
                   {DNNL_ARG_DST, described.dst_desc()}},
                  described.impl_info_str());
        if (best.empty() || last_ < least) {
          best = line;
          least = last_;
        }
      } catch (const dnnl::error&) {
        if (algorithm == dnnl::algorithm::convolution_direct) throw;
      }
    }
    return best;
  }

  std::string product(const std::vector<long>& n, bool weights) {
    const bool batched = n[0] > 1 && !weights;
    const long rows = weights ? n[0] * n[1] : n[1];
    const auto shape = [&](long a, long b) { return batched ? Dims{n[0], a, b} : Dims{a, b}; };
    const auto plain = batched ? memory::format_tag::abc : memory::format_tag::ab;
    const memory::desc left(shape(rows, n[2]), kF32, plain);
    const memory::desc right(shape(n[2], n[3]), kF32, weights ? kAny : plain);
    const memory::desc bias(batched ? Dims{1, 1, n[3]} : Dims{1, n[3]}, kF32, plain);
    const memory::desc result(shape(rows, n[3]), kF32, plain);
    const memory::desc no_bias;
    const memory::desc& added = n[4] != 0 ? bias : no_bias;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc described(engine_, left, right, added, result);
#else
    const dnnl::matmul::desc desc = n[4] != 0 ? dnnl::matmul::desc(left, right, added, result)
                                              : dnnl::matmul::desc(left, right, result);
    const dnnl::matmul::primitive_desc described(desc, engine_);
#endif
    return timed(dnnl::matmul(described),
                 {{DNNL_ARG_SRC, described.src_desc()},
                  {DNNL_ARG_WEIGHTS, described.weights_desc()},
                  {DNNL_ARG_BIAS, n[4] != 0 ? bias : memory::desc()},
                  {DNNL_ARG_DST, described.dst_desc()}},
                 described.impl_info_str());
  }

  std::string timed(const dnnl::primitive& primitive,
                    const std::vector<std::pair<int, memory::desc>>& descs, const char* name) {
    std::unordered_map<int, memory> arguments;
    for (const auto& [argument, desc] : descs) {
      if (desc.get_size() == 0) continue;
      memory held(desc, engine_);
      auto* data = held.map_data<float>();
      for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i)
        data[i] = static_cast<float>(i % 251) / 251 - 0.5F;
      held.unmap_data(data);
      arguments.emplace(argument, held);
    }
    dnnl::stream stream(engine_);
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    const auto since = [](Clock::time_point from) {
      return std::chrono::duration<double>(Clock::now() - from).count();
    };
    // Several runs between two looks at the clock, if they are short: a queue of runs hides what
    // it costs to start one.
    long runs = 1;
    const auto begin = Clock::now();
    for (bool first = true; first || since(begin) < seconds_ || times.size() < 5;) {
      const auto from = Clock::now();
      for (long i = 0; i < runs; ++i) primitive.execute(stream, arguments);
      stream.wait();
      const double spent = since(from);
      if (spent < 1e-4 && runs < 1024) {
        runs *= 2;
        continue;
      }
      if (!first) times.push_back(spent / static_cast<double>(runs));
      first = false;
    }
    std::ranges::sort(times);
    last_ = times[times.size() / 10];
    std::ostringstream text;
    text << times.front() << " " << last_ << " " << name;
    return text.str();
  }

  double seconds_;
  double last_ = 0;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

int main(int argc, char** argv) {
  const dnnl_version_t* version = dnnl_version();
  std::cout << version->major << "." << version->minor << "." << version->patch << std::endl;
  Peer peer(argc > 1 ? std::atof(argv[1]) : 0.05);
  for (std::string line; std::getline(std::cin, line);) std::cout << peer.answer(line) << std::endl;
  return 0;
}
