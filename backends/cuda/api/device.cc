// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/device.h"

#include <cstdlib>

namespace egret::backends::cuda {

base::Result<std::shared_ptr<Device>> Device::open(const Libraries& libraries, int ordinal) {
  EGRET_RETURN_IF_ERROR(usable(libraries));
  std::shared_ptr<Device> device(new Device(libraries));
  const DriverFunctions& driver = libraries.driver;
  EGRET_ASSIGN_OR_RETURN(device->turns_, DeviceTurns::open());
  int id = 0;
  EGRET_RETURN_IF_ERROR(device->check(driver.device_get(&id, ordinal), "choosing the GPU"));
  char name[256] = {};
  int major = 0, minor = 0;
  driver.device_name(name, sizeof name - 1, id);
  driver.device_attribute(&major, kAttributeCapabilityMajor, id);
  driver.device_attribute(&minor, kAttributeCapabilityMinor, id);
  DeviceUuid uuid{};
  EGRET_RETURN_IF_ERROR(device->check(driver.device_uuid(&uuid, id), "asking which GPU it is"));
  device->facts_.name = name;
  device->facts_.uuid.assign(uuid.bytes, sizeof uuid.bytes);
  device->facts_.capability = major * 10 + minor;
  DeviceFacts& facts = device->facts_;
  for (const auto& [value, attribute] :
       {std::pair{&facts.multiprocessors, kAttributeMultiprocessors},
        {&facts.clock_kilohertz, kAttributeClockKilohertz},
        {&facts.memory_clock_kilohertz, kAttributeMemoryClockKilohertz},
        {&facts.memory_bus_bits, kAttributeMemoryBusBits}}) {
    driver.device_attribute(value, attribute, id);
  }
  driver.device_memory(&device->facts_.memory_bytes, id);
  EGRET_RETURN_IF_ERROR(
      device->check(driver.context_retain(&device->context_, id), "opening the GPU"));
  EGRET_RETURN_IF_ERROR(device->enter());
  EGRET_ASSIGN_OR_RETURN(device->stream_, device->another_stream());
  return device;
}

// What is given back here and by its members asks for the context.
Device::~Device() {
  if (context_ != nullptr) (void)enter();
}

base::Status Device::check(int status, const char* what) const {
  if (status == kDriverOk) return base::ok();
  const char* text = nullptr;
  driver().error_text(status, &text);
  const std::string message = facts_.name + ": " + what + " failed: " +
                              (text != nullptr ? text : "error " + std::to_string(status));
  return status == kDriverOutOfMemory ? base::limit_hit(message) : base::unavailable(message);
}

base::Status Device::enter() const {
  return check(driver().context_set(context_), "entering its context");
}

base::Result<Owned<DevicePointer>> Device::allocate(std::size_t bytes) const {
  DevicePointer memory = 0;
  const std::string what = "allocating " + std::to_string(bytes) + " bytes";
  EGRET_RETURN_IF_ERROR(check(driver().allocate(&memory, bytes), what.c_str()));
  return Owned<DevicePointer>(memory, driver().free);
}

base::Result<Owned<Module>> Device::load(const std::string& image) const {
  Module module = nullptr;
  EGRET_RETURN_IF_ERROR(check(driver().module_load(&module, image.data()), "loading kernels"));
  return Owned<Module>(module, driver().module_unload);
}

base::Result<Owned<Event>> Device::event(unsigned flags) const {
  Event event = nullptr;
  EGRET_RETURN_IF_ERROR(check(driver().event_create(&event, flags), "making an event"));
  return Owned<Event>(event, driver().event_destroy);
}

// Such a stream does not wait for the default stream, on which libraries may put work of their own.
base::Result<Owned<Stream>> Device::another_stream() const {
  Stream stream = nullptr;
  EGRET_RETURN_IF_ERROR(
      check(driver().stream_create(&stream, kStreamNonBlocking), "making a stream"));
  return Owned<Stream>(stream, driver().stream_destroy);
}

base::Result<bool> Device::is_done(Event event) const {
  const int status = driver().event_query(event);
  if (status == kDriverNotReady) return false;
  EGRET_RETURN_IF_ERROR(check(status, "a kernel"));
  return true;
}

base::Status Device::copy_in(DevicePointer to, const void* from, std::size_t bytes) const {
  return check(driver().copy_in(to, from, bytes, stream()), "copying to it");
}

base::Status Device::copy_out(void* to, DevicePointer from, std::size_t bytes) const {
  return check(driver().copy_out(to, from, bytes, stream()), "copying from it");
}

base::Status Device::wait() const { return check(driver().stream_wait(stream()), "a kernel"); }

// Captures the launches that `enqueue` makes as one CUDA graph; nothing runs meanwhile. The capture
// ends before an error is returned, because a stream that captures serves nothing else.
base::Result<Owned<GraphExec>> Device::record(const std::function<base::Status()>& enqueue) const {
  EGRET_RETURN_IF_ERROR(
      check(driver().capture_begin(stream(), kCaptureThreadLocal), "recording launches"));
  const base::Status enqueued = enqueue();
  Graph graph = nullptr;
  const int ended = driver().capture_end(stream(), &graph);
  const Owned<Graph> owned(graph, driver().graph_destroy);
  EGRET_RETURN_IF_ERROR(enqueued);
  EGRET_RETURN_IF_ERROR(check(ended, "recording launches"));
  GraphExec exec = nullptr;
  EGRET_RETURN_IF_ERROR(
      check(driver().graph_instantiate(&exec, graph, 0), "preparing recorded launches"));
  return Owned<GraphExec>(exec, driver().graph_exec_destroy);
}

int device_count(const Libraries& libraries) {
  int count = 0;
  if (usable(libraries).ok()) libraries.driver.device_count(&count);
  return count;
}

// The GPU that EGRET_CUDA_DEVICE names; otherwise the ranks of one machine take its GPUs in turn.
base::Result<std::shared_ptr<Device>> open_own_device(const Libraries& libraries) {
  EGRET_RETURN_IF_ERROR(usable(libraries));
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? -1 : std::atoi(text);
  };
  const int chosen = number("EGRET_CUDA_DEVICE"), local = number("OMPI_COMM_WORLD_LOCAL_RANK");
  if (chosen >= 0) return Device::open(libraries, chosen);
  return Device::open(libraries, local > 0 ? local % device_count(libraries) : 0);
}

}  // namespace egret::backends::cuda
