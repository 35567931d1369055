// SPDX-License-Identifier: Apache-2.0
// One GPU: its context and a stream, memory, kernels and recorded graphs of launches. Every call
// that the driver refuses is a Status: limit_hit where memory is short, unavailable otherwise, with
// the driver's words.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backends/cuda/api/device_turns.h"
#include "backends/cuda/api/libraries.h"
#include "backends/precision.h"
#include "base/status.h"

namespace egret::backends::cuda {

// Owns a driver handle.
template <typename Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, int (*release)(Handle)) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_{};
  int (*release_)(Handle) = nullptr;
};

struct DeviceFacts {
  std::string name{};
  std::string uuid{};  // 16 bytes, of this GPU alone
  int capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  // 0 where the driver does not say.
  int clock_kilohertz = 0, memory_clock_kilohertz = 0;
  int memory_bus_bits = 0;
};

struct LibraryHandles;

// Its functions are called by one thread at a time. The tables of `libraries` outlive it.
class Device {
 public:
  static base::Result<std::shared_ptr<Device>> open(const Libraries& libraries, int ordinal);
  ~Device();

  const DeviceFacts& facts() const { return facts_; }
  const DriverFunctions& driver() const { return libraries_.driver; }
  const Libraries& libraries() const { return libraries_; }
  Stream stream() const { return stream_.get(); }
  // The libraries' state, shared by all plans of a precision; open_libraries() sets it.
  std::shared_ptr<LibraryHandles>& handles(Precision precision) { return handles_[precision]; }

  // Held during runs that are timed, or that would disturb another process's timing.
  DeviceTurns::Turn take_turn() { return DeviceTurns::Turn(turns_); }

  // Makes the context current on the calling thread; required before any other call on a new
  // thread.
  base::Status enter() const;
  base::Status check(int status, const char* what) const;

  base::Result<Owned<DevicePointer>> allocate(std::size_t bytes) const;
  base::Result<Owned<Module>> load(const std::string& image) const;
  base::Result<Owned<Event>> event(unsigned flags = 0) const;
  base::Result<Owned<Stream>> another_stream() const;
  base::Status copy_in(DevicePointer to, const void* from, std::size_t bytes) const;
  base::Status copy_out(void* to, DevicePointer from, std::size_t bytes) const;
  base::Status wait() const;
  // Whether the work enqueued before the event is done.
  base::Result<bool> is_done(Event event) const;
  // Records the work that `enqueue` puts on the stream as a graph, launched as a whole.
  base::Result<Owned<GraphExec>> record(const std::function<base::Status()>& enqueue) const;

 private:
  explicit Device(const Libraries& libraries) : libraries_(libraries) {}

  const Libraries& libraries_;
  DeviceFacts facts_;
  Context context_ = nullptr;  // the primary one, which lives as long as the process
  Owned<Stream> stream_;
  DeviceTurns turns_;
  std::map<Precision, std::shared_ptr<LibraryHandles>> handles_;
};

// The GPU of this process: $EGRET_CUDA_DEVICE; else, under mpirun, GPUs are assigned round-robin to
// the processes of this machine; else the first.
base::Result<std::shared_ptr<Device>> open_own_device(const Libraries& libraries);
// The number of GPUs that the driver finds; 0 without a driver.
int device_count(const Libraries& libraries);

// Compiles the source for the device: to machine code where NVRTC knows the GPU, else to PTX for
// the newest GPU that it knows. Results are kept in the kernel cache (codegen/kernel_cache.h).
// Errors: internal_error with the compiler's message.
base::Result<std::string> compile_for_device(const NvrtcFunctions& nvrtc, int nvrtc_version,
                                             const std::string& source, int capability);

}  // namespace egret::backends::cuda
