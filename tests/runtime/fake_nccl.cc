// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/fake_nccl.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "ir/core/dtype.h"

namespace egret::runtime {
namespace nccl {

// One call of one rank.
struct Operation {
  std::string name;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0, reduction = 0;
  struct Part {
    void* at;
    std::size_t bytes;
    int peer;
    bool sends;
  };
  std::vector<Part> parts{};
};

struct Meeting {
  std::map<int, Operation> operations;  // by rank
  int state = kInProgress;
};

struct Group {
  int size = 0;
  std::vector<std::unique_ptr<Meeting>> meetings;
};

struct CommTag {
  std::shared_ptr<Group> group;
  int rank = 0;
  std::size_t calls = 0;
};

}  // namespace nccl

namespace {

using namespace nccl;

constexpr int kInvalidUsage = 5;

struct State {
  FakeNccl shown;
  std::mutex turn;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Group>> groups;  // by id
  std::map<std::pair<int, int>, Letters> letters;        // by sender and receiver
  int ids = 0;
};

State& state() {
  static State* const made = new State;
  return *made;
}

// The turn of this thread.
thread_local std::unique_lock<std::mutex>* my_turn = nullptr;
thread_local std::vector<std::pair<Comm, Operation::Part>>* open_group = nullptr;

void let_others() { state().changed.wait_for(*my_turn, std::chrono::milliseconds(1)); }

double load(int type, const void* data, std::size_t i) {
  switch (type) {
    case kFloat16: return ir::half_to_float(static_cast<const std::uint16_t*>(data)[i]);
    case kBFloat16: return ir::bfloat16_to_float(static_cast<const std::uint16_t*>(data)[i]);
    case kFloat64: return static_cast<const double*>(data)[i];
    case kInt64: return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
    case kInt32: return static_cast<const std::int32_t*>(data)[i];
    default: return static_cast<const float*>(data)[i];
  }
}

void store(int type, void* data, std::size_t i, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case kFloat16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_half(narrow); break;
    case kBFloat16: static_cast<std::uint16_t*>(data)[i] = ir::float_to_bfloat16(narrow); break;
    case kFloat64: static_cast<double*>(data)[i] = value; break;
    case kInt64: static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(value); break;
    case kInt32: static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value); break;
    default: static_cast<float*>(data)[i] = narrow; break;
  }
}

double reduced(const Meeting& meeting, const Operation& like, std::size_t i) {
  double total = load(like.type, meeting.operations.at(0).from, i);
  for (std::size_t rank = 1; rank < meeting.operations.size(); ++rank) {
    const double value = load(like.type, meeting.operations.at(static_cast<int>(rank)).from, i);
    total = like.reduction == kReduceSum ? total + value : std::max(total, value);
    if (like.type == kFloat32) total = static_cast<float>(total);
  }
  return total;
}

void reduce(const Meeting& meeting, bool scatters) {
  const Operation& like = meeting.operations.at(0);
  const std::size_t count = scatters ? like.count * meeting.operations.size() : like.count;
  std::vector<double> totals(count);  // all first: `from` may be `to`
  for (std::size_t i = 0; i < count; ++i) totals[i] = reduced(meeting, like, i);
  for (const auto& [rank, operation] : meeting.operations) {
    const std::size_t first = scatters ? static_cast<std::size_t>(rank) * like.count : 0;
    for (std::size_t i = 0; i < like.count; ++i)
      store(like.type, operation.to, i, totals[first + i]);
  }
}

void gather(const Meeting& meeting) {
  for (const auto& [to_rank, to] : meeting.operations) {
    for (const auto& [rank, operation] : meeting.operations)
      std::memcpy(static_cast<char*>(to.to) + static_cast<std::size_t>(rank) * operation.count,
                  operation.from, operation.count);
  }
}

// Sends meet receives of the same pair in their order.
int transfer(const Meeting& meeting) {
  std::map<std::pair<int, int>, std::vector<const Operation::Part*>> sent, received;
  for (const auto& [rank, operation] : meeting.operations) {
    for (const Operation::Part& part : operation.parts) {
      (part.sends ? sent[{rank, part.peer}] : received[{part.peer, rank}]).push_back(&part);
    }
  }
  for (const auto& [pair, parts] : sent) {
    const auto& others = received[pair];
    if (others.size() != parts.size()) return kInvalidUsage;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]->bytes != others[i]->bytes) return kInvalidUsage;
      std::memcpy(others[i]->at, parts[i]->at, parts[i]->bytes);
    }
  }
  for (const auto& [pair, parts] : received) {
    if (sent[pair].size() != parts.size()) return kInvalidUsage;
  }
  return kOk;
}

int perform(const Meeting& meeting) {
  const Operation& like = meeting.operations.at(0);
  for (const auto& [rank, operation] : meeting.operations) {
    if (operation.name != like.name || operation.count != like.count ||
        operation.type != like.type || operation.reduction != like.reduction)
      return kInvalidUsage;
  }
  if (like.name == "all_reduce") reduce(meeting, false);
  if (like.name == "reduce_scatter") reduce(meeting, true);
  if (like.name == "all_gather") gather(meeting);
  return like.name == "transfers" ? transfer(meeting) : kOk;
}

int meet(Comm comm, Operation operation) {
  state().shown.calls.push_back(operation.name + " " + std::to_string(comm->rank) + "/" +
                                std::to_string(comm->group->size));
  Group& group = *comm->group;
  while (group.meetings.size() <= comm->calls)
    group.meetings.push_back(std::make_unique<Meeting>());
  Meeting& meeting = *group.meetings[comm->calls++];
  meeting.operations[comm->rank] = std::move(operation);
  if (static_cast<int>(meeting.operations.size()) == group.size) {
    meeting.state = perform(meeting);
    state().changed.notify_all();
  }
  return kInProgress;
}

int add_part(const Operation::Part& part, Comm comm) {
  if (open_group == nullptr) return kInvalidUsage;
  open_group->emplace_back(comm, part);
  return kOk;
}

int leave(Comm comm, const char* how) {
  state().shown.calls.push_back(std::string(how) + " " + std::to_string(comm->rank) + "/" +
                                std::to_string(comm->group->size));
  --state().shown.open;
  delete comm;
  return kOk;
}

Functions functions() {
  Functions f;
  f.error_text = [](int status) { return status == kRemoteError ? "remote error" : "an error"; };
  f.version = [](int* version) { return *version = 22809, kOk; };
  f.unique_id = [](UniqueId* id) {
    *id = {};
    std::snprintf(id->bytes, sizeof id->bytes, "group %d", ++state().ids);
    return kOk;
  };
  f.join = [](Comm* comm, int size, UniqueId id, int rank, Config* config) {
    if (config->blocking != 0 || config->magic != 0xcafebeef) return kInvalidUsage;
    std::shared_ptr<Group>& group = state().groups[id.bytes];
    if (group == nullptr) group = std::make_shared<Group>();
    group->size = size;
    *comm = new CommTag{group, rank, 0};
    ++state().shown.open;
    return meet(*comm, {.name = "join"});
  };
  f.async_error = [](Comm comm, int* answer) {
    const auto& meetings = comm->group->meetings;
    *answer = comm->calls == 0 ? kOk : meetings[comm->calls - 1]->state;
    if (*answer == kInProgress && state().shown.reports_lost_rank) *answer = kRemoteError;
    if (*answer == kInProgress) let_others();
    return kOk;
  };
  f.finalize = [](Comm comm) { return meet(comm, {.name = "finalize"}); };
  f.destroy = [](Comm comm) { return leave(comm, "destroy"); };
  f.abort = [](Comm comm) { return leave(comm, "abort"); };
  f.all_reduce = [](const void* from, void* to, std::size_t count, int type, int reduction,
                    Comm comm, backends::cuda::Stream) {
    return meet(comm, {"all_reduce", from, to, count, type, reduction});
  };
  f.reduce_scatter = [](const void* from, void* to, std::size_t count, int type, int reduction,
                        Comm comm, backends::cuda::Stream) {
    return meet(comm, {"reduce_scatter", from, to, count, type, reduction});
  };
  f.all_gather = [](const void* from, void* to, std::size_t count, int type, Comm comm,
                    backends::cuda::Stream) {
    return meet(comm, {"all_gather", from, to, count, type});
  };
  f.send = [](const void* from, std::size_t count, int, int peer, Comm comm,
              backends::cuda::Stream) {
    return add_part({const_cast<void*>(from), count, peer, true}, comm);
  };
  f.receive = [](void* to, std::size_t count, int, int peer, Comm comm, backends::cuda::Stream) {
    return add_part({to, count, peer, false}, comm);
  };
  f.group_begin = [] {
    open_group = new std::vector<std::pair<Comm, Operation::Part>>;
    return kOk;
  };
  f.group_end = [] {
    const std::unique_ptr<std::vector<std::pair<Comm, Operation::Part>>> parts(open_group);
    open_group = nullptr;
    if (parts->empty()) return kOk;
    Operation operation{.name = "transfers"};
    for (const auto& [comm, part] : *parts) operation.parts.push_back(part);
    return meet(parts->front().first, std::move(operation));
  };
  return f;
}

}  // namespace

std::size_t FakeNccl::count(const std::string& call) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(calls, [&](const auto& each) { return each.starts_with(call); }));
}

FakeNccl& fake_nccl() { return state().shown; }

const nccl::Library& fake_nccl_library() {
  static const nccl::Library library{functions(), base::ok(), 22809};
  return library;
}

void on_rank_threads(int ranks, const std::function<void(int rank)>& body) {
  state().letters.clear();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, rank] {
      std::unique_lock lock(state().turn);
      my_turn = &lock;
      body(rank);
      my_turn = nullptr;
      state().changed.notify_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

base::Result<Letters> exchange_letters(int rank, std::span<const std::int64_t> group,
                                       std::span<const std::vector<std::byte>> outgoing) {
  for (std::size_t i = 0; i < group.size(); ++i)
    state().letters[{rank, static_cast<int>(group[i])}].push_back(outgoing[i]);
  state().changed.notify_all();
  Letters incoming;
  for (const std::int64_t from : group) {
    Letters& box = state().letters[{static_cast<int>(from), rank}];
    while (box.empty()) let_others();
    incoming.push_back(box.front());
    box.erase(box.begin());
  }
  return incoming;
}

}  // namespace egret::runtime
