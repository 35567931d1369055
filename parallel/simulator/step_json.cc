// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_json.h"

#include "parallel/transformer/experts.h"

namespace egret::parallel {
namespace {

base::Json to_json(const SecondsByUse& seconds) {
  base::Json json = base::Json::object();
  for (std::size_t use = 0; use < seconds.size(); ++use) json.set(kTimeUseNames[use], seconds[use]);
  return json;
}

// Not an overload: MemoryByKind may be the same array type as another.
base::Json memory_json(const MemoryByKind& bytes) {
  base::Json json = base::Json::object();
  for (std::size_t kind = 0; kind < bytes.size(); ++kind)
    json.set(kMemoryKindNames[kind], bytes[kind]);
  return json;
}

base::Json to_json(const Distribution& distribution) {
  return base::Json::object()
      .set("trials", distribution.trials)
      .set("mean", distribution.mean)
      .set("deviation", distribution.deviation)
      .set("p50", distribution.p50)
      .set("p95", distribution.p95)
      .set("most", distribution.most);
}

}  // namespace

base::Json to_json(const StepSimulation& simulation, const StepReport& report) {
  const TrainingSetup& setup = simulation.setup();
  base::Json json = base::versioned_json();
  json.set("system", simulation.system_name())
      .set("devices", setup.devices())
      .set("parameters", setup.model_parameters())
      .set("active_parameters", setup.active_parameters())
      .set("seconds", report.seconds)
      .set("model_flops", report.model_flops)
      .set("mfu", report.mfu)
      .set("time", to_json(report.seconds_by_use))
      .set("events", simulation.simulator().timeline().events);
  if (setup.experts > 0) {
    const ExpertLoads loads = expert_loads(setup);
    json.set("experts", base::Json::object()
                            .set("layers", setup.expert_layers())
                            .set("on_a_device", setup.experts / setup.expert_parallel)
                            .set("fullest_rank", loads.fullest())
                            .set("dropped", loads.dropped)
                            .set("exchange_bytes", expert_exchange_bytes(setup)));
  }
  base::Json devices = base::Json::array();
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const DeviceReport& device = report.devices[i];
    const StepDevice& place = simulation.program().devices[i];
    base::Json parts = base::Json::object();
    for (std::size_t part = 0; part < device.part_s.size(); ++part)
      parts.set(kStepPartNames[part], device.part_s[part]);
    devices.push(base::Json::object()
                     .set("replica", place.replica)
                     .set("pipeline_rank", place.rank)
                     .set("parameters", place.parameters)
                     .set("expert_parameters", place.expert_parameters)
                     .set("time", to_json(device.seconds))
                     .set("parts", std::move(parts))
                     .set("peak_bytes", device.peak_total_bytes)
                     .set("peak_time", device.peak_time_s)
                     .set("host_peak_bytes", device.host_peak_bytes)
                     .set("peak_memory", memory_json(device.peak_bytes)));
  }
  json.set("pipeline", std::move(devices));
  if (report.distribution.trials > 0) json.set("distribution", to_json(report.distribution));
  return json;
}

}  // namespace egret::parallel
