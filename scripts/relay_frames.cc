// SPDX-License-Identifier: Apache-2.0
// A slow and late link between a host and a switch: two TAP devices, and a process between them.
//
//     relay_frames SECONDS BITS_PER_SECOND HOST PORT
//
// makes both devices and returns; the process goes on until they are deleted. Each direction
// carries so many bits a second. What the host sends reaches the switch after so many seconds more,
// in order, as soon as its first bit could (the switch passes it on meanwhile); what the switch
// sends reaches the host with its last bit. Needs root. An end may also be an open file of frames,
// as fd:NUMBER; then the process stays in front, and a closed end ends it.
//
// The rate is kept here and not by tbf: a token bucket of two frames loses what it could have sent
// while its timer waits for a core, and a message of 128 KiB took up to twice its time. Here each
// frame has its time before it waits. The process takes part of the cores that the hosts compute
// with, so it wakes once for all frames at hand.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestFrame = 1 << 16;
constexpr std::string_view kFile = "fd:";

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "relay_frames: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

bool is_file(std::string_view name) { return name.starts_with(kFile); }

int open_end(const std::string& name) {
  if (is_file(name)) {
    const int file = std::atoi(name.c_str() + kFile.size());
    if (fcntl(file, F_SETFL, O_NONBLOCK) != 0) give_up(name);
    return file;
  }
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) give_up("/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(device, TUNSETIFF, &request) != 0) give_up(name);
  return device;
}

// A device that is down, or whose queue is full, loses the frame, as links do.
void send(int end, const char* frame, std::size_t size) {
  if (write(end, frame, size) >= 0) return;
  if (errno != EIO && errno != EAGAIN && errno != ENOBUFS && errno != EPIPE) give_up("sending");
}

// The bytes of the next frame; 0: there is none now. Ends the process where the end is closed.
std::size_t receive(int end, std::array<char, kLongestFrame>& frame) {
  const ssize_t size = read(end, frame.data(), frame.size());
  if (size > 0) return static_cast<std::size_t>(size);
  if (size == 0 || errno == EBADFD) std::exit(0);  // EBADFD: the devices are deleted
  if (errno != EAGAIN && errno != EIO && errno != EINTR) give_up("receiving");
  return 0;
}

enum class Arrives : unsigned char { kWithItsFirstBit, kWithItsLastBit };

// One direction.
class Queue {
 public:
  Queue(int to, double bits_per_second, Clock::duration delay, Arrives arrives)
      : to_(to), seconds_per_byte_(8 / bits_per_second), delay_(delay), arrives_(arrives) {}

  // Above the limit, the frame is lost.
  void put(const char* frame, std::size_t size, Clock::time_point now) {
    if (bytes_ + size > kMostBytes) return;
    const std::chrono::duration<double> takes(seconds_per_byte_ * static_cast<double>(size));
    const Clock::time_point first = std::max(free_, now);
    free_ = first + std::chrono::duration_cast<Clock::duration>(takes);
    const Clock::time_point arrival = arrives_ == Arrives::kWithItsFirstBit ? first : free_;
    due_.push_back({arrival + delay_, {frame, frame + size}});
    bytes_ += size;
  }

  void send_due() {
    for (; !due_.empty() && due_.front().when <= Clock::now(); due_.pop_front()) {
      send(to_, due_.front().frame.data(), due_.front().frame.size());
      bytes_ -= due_.front().frame.size();
    }
  }

  Clock::time_point next() const {
    return due_.empty() ? Clock::time_point::max() : due_.front().when;
  }

 private:
  static constexpr std::size_t kMostBytes = 64 << 20;
  struct Due {
    Clock::time_point when;
    std::vector<char> frame;
  };

  const int to_;
  const double seconds_per_byte_;
  const Clock::duration delay_;
  const Arrives arrives_;
  Clock::time_point free_;  // when the link has sent all frames
  std::deque<Due> due_;     // in order
  std::size_t bytes_ = 0;
};

timespec until(Clock::time_point when) {
  const auto left = std::max(Clock::duration::zero(), when - Clock::now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
}

[[noreturn]] void relay(int host, int port, double bits_per_second, Clock::duration delay) {
  Queue to_port(port, bits_per_second, delay, Arrives::kWithItsFirstBit);
  Queue to_host(host, bits_per_second, {}, Arrives::kWithItsLastBit);
  std::array<char, kLongestFrame> frame;
  std::array<pollfd, 2> ends = {pollfd{host, POLLIN, 0}, pollfd{port, POLLIN, 0}};
  while (true) {
    const Clock::time_point next = std::min(to_port.next(), to_host.next());
    const bool waits = next != Clock::time_point::max();
    const timespec wait = waits ? until(next) : timespec{};
    if (ppoll(ends.data(), ends.size(), waits ? &wait : nullptr, nullptr) < 0 && errno != EINTR)
      give_up("waiting");
    const Clock::time_point now = Clock::now();
    if (ends[0].revents != 0) {
      while (const std::size_t size = receive(host, frame)) to_port.put(frame.data(), size, now);
    }
    if (ends[1].revents != 0) {
      while (const std::size_t size = receive(port, frame)) to_host.put(frame.data(), size, now);
    }
    to_port.send_due();
    to_host.send_due();
  }
}

// The caller goes on; the process that is left holds none of its files.
void leave_the_caller() {
  const pid_t child = fork();
  if (child < 0) give_up("fork");
  if (child > 0) std::exit(0);
  setsid();
  const int nowhere = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nowhere, stream);
}

}  // namespace

int main(int count, char** words) {
  char *seconds_end = nullptr, *rate_end = nullptr;
  const double seconds = count == 5 ? std::strtod(words[1], &seconds_end) : -1;
  const double bits_per_second = count == 5 ? std::strtod(words[2], &rate_end) : 0;
  if (!(seconds >= 0) || seconds > 3600 || *seconds_end != '\0' || !(bits_per_second >= 1) ||
      *rate_end != '\0') {
    std::fprintf(stderr, "usage: relay_frames SECONDS BITS_PER_SECOND HOST PORT\n");
    return 2;
  }
  const std::chrono::duration<double> delay(seconds);
  const int host = open_end(words[3]);
  const int port = open_end(words[4]);
  if (!is_file(words[3])) {
    leave_the_caller();
    // Not to wait for a processor behind those who compute.
    const sched_param first{.sched_priority = 1};
    sched_setscheduler(0, SCHED_RR, &first);
  }
  relay(host, port, bits_per_second, std::chrono::duration_cast<Clock::duration>(delay));
}
