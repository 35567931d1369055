// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/link_profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/median.h"
#include "base/stop.h"
#include "base/timer.h"

namespace egret::runtime {
namespace {

using base::Result;
using base::Status;
using parallel::AxisPlacement;
using Bytes = std::vector<std::byte>;

// Through the exchange of the hosts.
class HostTransport final : public LinkTransport {
 public:
  HostTransport(std::int64_t rank, const parallel::Mesh& mesh, Exchange exchange)
      : rank_(rank), mesh_(mesh), exchange_(std::move(exchange)) {}

  Result<Run> collective(const parallel::Collective& collective,
                         const ir::TensorType& local) override {
    return Run([this, collective, part = ir::Tensor::filled(local, 1)] {
      return run_collective(collective, mesh_, rank_, part, exchange_).status();
    });
  }

  Result<Run> message(int axis, std::int64_t bytes) override {
    const std::vector<std::int64_t> group = mesh_.group(rank_, axis);
    std::vector<Bytes> outgoing(group.size());
    const auto next = static_cast<std::size_t>(mesh_.coordinate(rank_, axis) + 1) % group.size();
    outgoing[next] = Bytes(static_cast<std::size_t>(bytes));
    return Run([this, group, outgoing] { return exchange_(group, outgoing).status(); });
  }

 private:
  const std::int64_t rank_;
  const parallel::Mesh mesh_;
  const Exchange exchange_;
};

class Profiler {
 public:
  Profiler(const RankPlace& place, const parallel::Mesh& mesh, LinkTransport& transport)
      : mesh_(mesh),
        transport_(transport),
        exchange_(place.exchange),
        all_(static_cast<std::size_t>(place.size)) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  // Samples of all collectives along an axis whose tensor has about so many bytes.
  Status measure(int axis, double bytes, std::vector<CollectiveSample>& samples) {
    const std::int64_t p = mesh_.size(axis);
    const auto unit = static_cast<double>(p * p) * 4;
    const std::int64_t columns = std::max<std::int64_t>(1, std::llround(bytes / unit));
    const ir::TensorType whole(ir::DType::kF32, {p, p * columns});
    const ir::TensorType row(ir::DType::kF32, {1, p * columns});
    const AxisPlacement sum = AxisPlacement::sum(), copy = AxisPlacement::copy();
    const AxisPlacement rows = AxisPlacement::split(0), cut = AxisPlacement::split(1);
    struct Case {
      parallel::Collective collective;
      const ir::TensorType &from, &to;
      double steps;
    };
    const Case cases[] = {{{axis, sum, copy}, whole, whole, 2},
                          {{axis, rows, copy}, row, whole, 1},
                          {{axis, sum, rows}, whole, row, 1},
                          {{axis, rows, cut}, row, row, 1}};
    const auto size = static_cast<double>(whole.bytes());
    for (const Case& each : cases) {
      EGRET_ASSIGN_OR_RETURN(const LinkTransport::Run run,
                             transport_.collective(each.collective, each.from));
      EGRET_ASSIGN_OR_RETURN(const double seconds, seconds_of(size, run));
      const double sent = bytes_sent(each.collective, p, static_cast<double>(each.from.bytes()),
                                     static_cast<double>(each.to.bytes()));
      samples.push_back({mesh_.axis(axis).name, std::string(name_of(each.collective)), size,
                         each.steps, sent, seconds});
    }
    EGRET_ASSIGN_OR_RETURN(const LinkTransport::Run run, transport_.message(axis, whole.bytes()));
    EGRET_ASSIGN_OR_RETURN(const double seconds, seconds_of(size, run));
    samples.push_back({mesh_.axis(axis).name, "send_receive", size, 1, size, seconds});
    return base::ok();
  }

 private:
  // The number of runs depends on the size alone, so that all ranks take part in each.
  Result<double> seconds_of(double size, const std::function<Status()>& run) {
    constexpr double kBytesOfAllRuns = 1 << 27;
    const int runs = static_cast<int>(std::clamp(kBytesOfAllRuns / size, 5.0, 40.0));
    std::vector<double> seconds;
    for (int i = 0; i <= runs; ++i) {
      const std::vector<Bytes> nothing(all_.size());
      EGRET_RETURN_IF_ERROR(exchange_(all_, nothing).status());
      const base::Stopwatch watch;
      EGRET_RETURN_IF_ERROR(run());
      if (i > 0) seconds.push_back(watch.seconds());  // the first one also makes connections
    }
    Bytes own(seconds.size() * sizeof(double));
    std::memcpy(own.data(), seconds.data(), own.size());
    EGRET_ASSIGN_OR_RETURN(const auto others,
                           exchange_(all_, std::vector<Bytes>(all_.size(), own)));
    for (const Bytes& bytes : others) {
      if (bytes.size() != own.size()) return base::internal_error("ranks differ in their runs");
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        double other = 0;
        std::memcpy(&other, bytes.data() + i * sizeof other, sizeof other);
        seconds[i] = std::max(seconds[i], other);
      }
    }
    return base::median(std::move(seconds));
  }

  const parallel::Mesh& mesh_;
  LinkTransport& transport_;
  const Exchange exchange_;
  std::vector<std::int64_t> all_;
};

}  // namespace

// Gauss-Newton steps on the logarithms of latency and time for a byte, which keep both positive,
// damped as by Levenberg and Marquardt.
Result<LinkFit> fit_link(std::span<const CollectiveSample> samples) {
  constexpr int kSteps = 200;
  const auto ratio = [](const CollectiveSample& sample) {
    return sample.sent_bytes / sample.steps;
  };
  const auto [few, many] = std::ranges::minmax(samples, {}, ratio);
  if (samples.size() < 2 || ratio(few) == ratio(many))
    return base::bad_input("a latency and a bandwidth need messages of two sizes");
  double latency = std::log(few.seconds / few.steps);
  double per_byte = std::log(many.seconds / many.sent_bytes);
  const auto predicted = [](const CollectiveSample& sample, double a, double b) {
    return sample.steps * std::exp(a) + sample.sent_bytes * std::exp(b);
  };
  const auto squares = [&](double a, double b) {
    double sum = 0;
    for (const CollectiveSample& sample : samples)
      sum += std::pow(std::log(predicted(sample, a, b) / sample.seconds), 2);
    return sum;
  };
  // Where times do not grow with the size, they say no more of the bandwidth.
  constexpr double kMostOverFastest = 1000;
  double least_per_byte = per_byte;
  for (const CollectiveSample& sample : samples)
    least_per_byte = std::min(least_per_byte, std::log(sample.seconds / sample.sent_bytes));
  least_per_byte -= std::log(kMostOverFastest);
  double damping = 1e-3;
  for (int step = 0; step < kSteps; ++step) {
    double aa = 0, ab = 0, bb = 0, ar = 0, br = 0;  // of the normal equations
    for (const CollectiveSample& sample : samples) {
      const double all = predicted(sample, latency, per_byte);
      const double a = sample.steps * std::exp(latency) / all, b = 1 - a;
      const double residual = std::log(all / sample.seconds);
      aa += a * a;
      ab += a * b;
      bb += b * b;
      ar += a * residual;
      br += b * residual;
    }
    aa += damping;
    bb += damping;
    const double determinant = aa * bb - ab * ab;
    const double a = latency - (ar * bb - br * ab) / determinant;
    const double b = std::max(per_byte - (br * aa - ar * ab) / determinant, least_per_byte);
    const bool is_better = squares(a, b) < squares(latency, per_byte);
    damping *= is_better ? 0.3 : 10;
    if (!is_better) continue;
    latency = a;
    per_byte = b;
  }
  LinkFit fit;
  fit.tier = samples.front().tier;
  fit.link = {std::exp(latency), std::exp(-per_byte), true};
  for (const CollectiveSample& sample : samples) {
    const double error =
        std::abs(predicted(sample, latency, per_byte) - sample.seconds) / sample.seconds;
    fit.mean_error += error / static_cast<double>(samples.size());
    fit.worst_error = std::max(fit.worst_error, error);
  }
  return fit;
}

Result<LinkProfile> profile_links(const RankPlace& place, const LinkProfileOptions& options,
                                  const MakeTransport& make_transport) {
  const std::int64_t here = options.ranks_per_host > 0 ? options.ranks_per_host : place.on_host;
  if (place.size < 2)
    return base::usage_error("collectives need at least two ranks: mpirun -n 2 egret ...");
  if (place.size % here != 0) return base::usage_error("all hosts must have equally many ranks");
  EGRET_ASSIGN_OR_RETURN(const parallel::Mesh mesh,
                         parallel::Mesh::of({{"hosts", place.size / here}, {"ranks", here}}));
  EGRET_ASSIGN_OR_RETURN(const std::unique_ptr<LinkTransport> transport, make_transport(mesh));
  Profiler profiler(place, mesh, *transport);
  LinkProfile profile;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) < 2) continue;
    const std::size_t first = profile.samples.size();
    for (double bytes = options.least_bytes; bytes <= options.most_bytes; bytes *= 4) {
      if (base::stop_requested()) return base::limit_hit("stopped");
      EGRET_RETURN_IF_ERROR(profiler.measure(axis, bytes, profile.samples));
    }
    EGRET_ASSIGN_OR_RETURN(LinkFit fit, fit_link(std::span(profile.samples).subspan(first)));
    fit.ranks = mesh.size(axis);
    profile.tiers.push_back(fit);
  }
  return profile;
}

RankPlace place_of(const Ranks& ranks) {
  return {ranks.rank(), ranks.size(), ranks.size_of_host(), ranks.exchange()};
}

Result<LinkProfile> profile_links(const Ranks& ranks, const LinkProfileOptions& options) {
  const RankPlace place = place_of(ranks);
  return profile_links(place, options,
                       [&](const parallel::Mesh& mesh) -> Result<std::unique_ptr<LinkTransport>> {
                         return std::unique_ptr<LinkTransport>(
                             std::make_unique<HostTransport>(place.rank, mesh, place.exchange));
                       });
}

}  // namespace egret::runtime
