// SPDX-License-Identifier: Apache-2.0
#include "tools/console/kernel_report.h"

#include "base/formats/text_table.h"
#include "base/formats/units.h"

namespace egret::tools {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

double bytes_of(const ir::Work& work) { return work.bytes_read + work.bytes_written; }
double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

// Empty where there is nothing to speak of: a reorder's arithmetic, a copy's.
std::string giga(double per_second) {
  return per_second > 0 ? base::format_short(per_second / 1e9) : "";
}

// Winograd's 4x4 tiles multiply a quarter as often as a convolution's definition; nothing saves
// more.
constexpr double kMostSaved = 4;
// No processor's caches are so many times as fast as its memory.
constexpr double kMostFromCaches = 100;

// Whether a kernel does what no machine of these rates can.
bool beats_the_machine(const backends::PlanReport& report, const std::vector<ir::Work>& works,
                       const cost::Rates& rates) {
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const double seconds = report.kernels[i].seconds;
    if (rate(works[i].flops, seconds) > kMostSaved * rates.flops_per_second ||
        rate(bytes_of(works[i]), seconds) > kMostFromCaches * rates.bytes_per_second) {
      return true;
    }
  }
  return false;
}

base::Json described(const backends::PlanReport::Kernel& kernel) {
  return base::Json::object()
      .set("kernel", kernel.name)
      .set("implementation", kernel.implementation)
      .set("layout", kernel.layout)
      .set("nodes", joined(kernel.nodes));
}

}  // namespace

std::string kernel_table(const backends::PlanReport& report, const std::vector<ir::Work>& works,
                         const cost::Rates& rates) {
  base::TextTable table({{"kernel"},
                         {"time", base::Align::kRight},
                         {"GFLOP/s", base::Align::kRight},
                         {"GB/s", base::Align::kRight},
                         {"roofline", base::Align::kRight},
                         {"implementation"},
                         {"layout"},
                         {"nodes"}});
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const auto& kernel = report.kernels[i];
    const double share = rate(cost::roofline_seconds(works[i], rates), kernel.seconds);
    table.row({kernel.name, base::format_seconds(kernel.seconds),
               giga(rate(works[i].flops, kernel.seconds)),
               giga(rate(bytes_of(works[i]), kernel.seconds)),
               share > 0 ? base::format_percent(share) : "", kernel.implementation, kernel.layout,
               joined(kernel.nodes)});
  }
  const std::string slices =
      report.slices == 1 ? ""
                         : "the batch runs sample by sample: each kernel runs " +
                               std::to_string(report.slices) + " times; the time is the sum\n";
  const std::string doubt = beats_the_machine(report, works, rates)
                                ? "a kernel exceeds these rates, which may have been measured on a "
                                  "busy machine; measure them again with `egret costs calibrate`\n"
                                : "";
  return table.render() + slices +
         "peak rates of this machine: " + base::format_short(rates.flops_per_second / 1e9) +
         " GFLOP/s and " + base::format_short(rates.bytes_per_second / 1e9) + " GB/s (measured)\n" +
         doubt;
}

base::Json kernel_list(const backends::PlanReport& report, const std::vector<ir::Work>& works,
                       const cost::Rates& rates) {
  base::Json list = base::Json::array();
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const double seconds = report.kernels[i].seconds;
    list.push(described(report.kernels[i])
                  .set("seconds", seconds)
                  .set("flops", works[i].flops)
                  .set("bytes", bytes_of(works[i]))
                  .set("roofline_share", rate(cost::roofline_seconds(works[i], rates), seconds)));
  }
  return list;
}

base::Json chrome_trace(const backends::PlanReport& report, const std::vector<ir::Work>& works) {
  constexpr double kMicrosecond = 1e-6;
  base::Json events = base::Json::array();
  // Of a plan that runs in slices, the last one.
  const auto slices = static_cast<double>(report.slices);
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const auto& kernel = report.kernels[i];
    const double flops = works[i].flops / slices;
    const double bytes = bytes_of(works[i]) / slices;
    base::Json arguments = described(kernel)
                               .set("flops", flops)
                               .set("bytes", bytes)
                               .set("flops_per_s", rate(flops, kernel.last_s))
                               .set("bytes_per_s", rate(bytes, kernel.last_s));
    events.push(base::Json::object()
                    .set("name", kernel.nodes.empty() ? kernel.name
                                                      : kernel.name + " " + kernel.nodes.front())
                    .set("cat", kernel.name)
                    .set("ph", "X")
                    .set("ts", kernel.last_start_s / kMicrosecond)
                    .set("dur", kernel.last_s / kMicrosecond)
                    .set("pid", 1)
                    .set("tid", 1)
                    .set("args", std::move(arguments)));
  }
  return base::Json::object().set("traceEvents", std::move(events)).set("displayTimeUnit", "ns");
}

}  // namespace egret::tools
