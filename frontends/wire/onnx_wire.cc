// SPDX-License-Identifier: Apache-2.0
#include "frontends/wire/onnx_wire.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace egret::frontends {
namespace {

// Messages of onnx.proto by what they contain. kLeaf: fields that are no messages.
enum class Message : std::uint8_t {
  kModel,
  kGraph,
  kFunction,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kLeaf,
};

struct Part {
  Message in;
  std::uint32_t field;
  Message is;
};

constexpr std::array kParts = {
    Part{Message::kModel, 7, Message::kGraph},
    Part{Message::kModel, 8, Message::kLeaf},
    Part{Message::kModel, 14, Message::kLeaf},
    Part{Message::kModel, 25, Message::kFunction},
    Part{Message::kGraph, 1, Message::kNode},
    Part{Message::kGraph, 5, Message::kTensor},
    Part{Message::kGraph, 11, Message::kValueInfo},
    Part{Message::kGraph, 12, Message::kValueInfo},
    Part{Message::kGraph, 13, Message::kValueInfo},
    Part{Message::kGraph, 15, Message::kSparse},
    Part{Message::kGraph, 16, Message::kLeaf},
    Part{Message::kFunction, 7, Message::kNode},
    Part{Message::kFunction, 9, Message::kLeaf},
    Part{Message::kFunction, 11, Message::kAttribute},
    Part{Message::kNode, 5, Message::kAttribute},
    Part{Message::kNode, 9, Message::kLeaf},
    Part{Message::kAttribute, 5, Message::kTensor},
    Part{Message::kAttribute, 6, Message::kGraph},
    Part{Message::kAttribute, 10, Message::kTensor},
    Part{Message::kAttribute, 11, Message::kGraph},
    Part{Message::kAttribute, 22, Message::kSparse},
    Part{Message::kSparse, 1, Message::kTensor},
    Part{Message::kSparse, 2, Message::kTensor},
    Part{Message::kTensor, 13, Message::kLeaf},
    Part{Message::kValueInfo, 2, Message::kType},
    Part{Message::kType, 1, Message::kTensorType},
    Part{Message::kTensorType, 2, Message::kShape},
    Part{Message::kShape, 1, Message::kLeaf},
};

const Part* find_part(Message in, std::uint64_t field) {
  for (const Part& part : kParts) {
    if (part.in == in && part.field == field) return &part;
  }
  return nullptr;
}

constexpr std::size_t kMaxDepth = 100;  // the parser's own limit
// What parsing may take beside the bytes themselves, and what one message and one short field take.
constexpr std::uint64_t kFreeMemory = std::uint64_t{64} << 20;
constexpr std::uint64_t kMemoryPerByte = 8;
constexpr std::uint64_t kMessageMemory = 160;
constexpr std::uint64_t kFieldMemory = 40;

// Walks the nested messages without parsing them. `at_` only grows, and the end of an open message
// never lies behind the end of the message around it, so one pass over the headers is enough. The
// contents of leaf fields (tensor data in particular) are skipped and never read. The walk also
// adds up what the parser would allocate: a message of two bytes costs over a hundred bytes once
// parsed, so that a small file could otherwise exhaust the memory.
class WireWalk {
 public:
  WireWalk(std::size_t size, WireReader read) : size_(size), read_(read) {}

  base::Status run() {
    open_.push_back({size_, Message::kModel});
    while (!open_.empty()) {
      if (at_ == open_.back().end) {
        open_.pop_back();
        continue;
      }
      EGRET_RETURN_IF_ERROR(field());
      if (memory_ > kFreeMemory + kMemoryPerByte * size_) {
        return base::bad_input("has too many small fields for its size (" + std::to_string(size_) +
                               " bytes)");
      }
    }
    return base::ok();
  }

 private:
  struct Open {
    std::size_t end;
    Message message;
  };

  base::Status broken(const std::string& what) const {
    return base::bad_input("is not an ONNX model: " + what + " at byte " + std::to_string(at_) +
                           " of " + std::to_string(size_));
  }

  // Behind the bytes that were read last, or in skipped ones.
  base::Status read_on() {
    EGRET_ASSIGN_OR_RETURN(window_, read_(static_cast<std::int64_t>(at_)));
    window_at_ = at_;
    return window_.empty() ? broken("the file was cut off while it was read") : base::ok();
  }

  base::Status varint(std::uint64_t& value) {
    value = 0;
    const std::size_t end = open_.back().end;
    // Seven bits a byte, lowest first: 64 bits take at most ten bytes.
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end) return broken("a number is cut off");
      // Positions only grow.
      if (at_ - window_at_ >= window_.size()) EGRET_RETURN_IF_ERROR(read_on());
      const auto byte = static_cast<std::uint64_t>(window_[at_++ - window_at_]);
      value |= (byte & 0x7f) << (shift < 64 ? shift : 63);
      if ((byte & 0x80) == 0) return base::ok();
    }
    return broken("a number has more than ten bytes");
  }

  base::Status skip(std::uint64_t length) {
    if (length > open_.back().end - at_) {
      return broken("a field of " + std::to_string(length) + " bytes is cut off");
    }
    at_ += static_cast<std::size_t>(length);
    return base::ok();
  }

  base::Status field() {
    std::uint64_t tag = 0;
    EGRET_RETURN_IF_ERROR(varint(tag));
    if (tag >> 3 == 0 || tag >> 3 >= (1U << 29)) return broken("an impossible field number");
    std::uint64_t value = 0;
    switch (tag & 7) {
      case 0: return varint(value);
      case 1: return skip(8);
      case 5: return skip(4);
      case 2: break;
      case 3:
      case 4: return broken("a group, which the format has none of,");
      default: return broken("an unknown kind of field");
    }
    EGRET_RETURN_IF_ERROR(varint(value));
    const Part* part = find_part(open_.back().message, tag >> 3);
    if (part == nullptr) {
      memory_ += kFieldMemory;
      return skip(value);
    }
    memory_ += kMessageMemory;
    // An inner message must end inside the outer one. The subtraction cannot wrap, because at_ <=
    // end.
    if (value > open_.back().end - at_)
      return broken("a part of " + std::to_string(value) + " bytes is cut off");
    if (open_.size() >= kMaxDepth) return broken("parts nest too deeply");
    open_.push_back({at_ + static_cast<std::size_t>(value), part->is});
    return base::ok();
  }

  std::size_t size_;
  WireReader read_;
  std::span<const std::byte> window_{};  // what lies from window_at_ on
  std::size_t window_at_ = 0;
  std::size_t at_ = 0;
  std::uint64_t memory_ = 0;
  std::vector<Open> open_;
};

}  // namespace

base::Status check_model_wire(std::span<const std::byte> bytes) {
  const auto rest = [&](std::int64_t offset) -> base::Result<std::span<const std::byte>> {
    return bytes.subspan(static_cast<std::size_t>(offset));
  };
  return check_model_wire(static_cast<std::int64_t>(bytes.size()), rest);
}

base::Status check_model_wire(std::int64_t size, WireReader read) {
  return WireWalk(static_cast<std::size_t>(size), read).run();
}

}  // namespace egret::frontends
