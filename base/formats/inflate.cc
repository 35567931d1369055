// SPDX-License-Identifier: Apache-2.0
#include "base/formats/inflate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace egret::base {
namespace {

constexpr int kMaxCodeBits = 15;
constexpr int kLiterals = 288;  // symbols of literals and lengths, with two that mean nothing
constexpr int kDistances = 30;
constexpr int kBlockEnd = 256;

// Bits from the lowest of each byte on. After the end it gives zeros and remembers that.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t bits(int count) {
    while (held_ < count) {
      const bool more = next_ < bytes_.size();
      ended_ = ended_ || !more;
      const std::uint64_t byte = more ? static_cast<unsigned char>(bytes_[next_++]) : 0;
      buffer_ |= byte << held_;
      held_ += 8;
    }
    const auto value = static_cast<std::uint32_t>(buffer_ & ((std::uint64_t{1} << count) - 1));
    buffer_ >>= count;
    held_ -= count;
    return value;
  }
  // Skips the rest of a byte.
  void align() { (void)bits(held_ % 8); }
  bool ended() const { return ended_; }

 private:
  std::string_view bytes_;
  std::size_t next_ = 0;
  std::uint64_t buffer_ = 0;
  int held_ = 0;
  bool ended_ = false;
};

// A prefix code whose words of equal length are consecutive numbers in the order of their symbols.
class PrefixCode {
 public:
  // `lengths`: in bits, by symbol; 0: the symbol has no word. False if there are too many words.
  bool assign(std::span<const std::uint8_t> lengths) {
    count_.fill(0);
    for (const std::uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    std::array<int, kMaxCodeBits + 2> first{};
    int left = 1;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      left = 2 * left - count_[static_cast<std::size_t>(bits)];
      if (left < 0) return false;
      first[static_cast<std::size_t>(bits) + 1] =
          first[static_cast<std::size_t>(bits)] + count_[static_cast<std::size_t>(bits)];
    }
    symbols_.assign(lengths.size(), 0);
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] == 0) continue;
      symbols_[static_cast<std::size_t>(first[lengths[symbol]]++)] = static_cast<int>(symbol);
    }
    return true;
  }

  // -1: no word begins so.
  int read(BitReader& in) const {
    int word = 0;    // of the bits so far
    int least = 0;   // the first word of this length
    int before = 0;  // symbols with shorter words
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      word = 2 * word + static_cast<int>(in.bits(1));
      least *= 2;
      const int count = count_[static_cast<std::size_t>(bits)];
      if (word - least < count) return symbols_[static_cast<std::size_t>(before + word - least)];
      before += count;
      least += count;
    }
    return -1;
  }

 private:
  std::array<int, kMaxCodeBits + 1> count_{};  // of words, by length
  std::vector<int> symbols_;                   // by length, then by symbol
};

// What a symbol of a length or a distance stands for: a number, plus that of further bits.
struct Step {
  int base = 0;
  int bits = 0;
};
Step length_of(int code) {  // from 0 on
  if (code < 8) return {3 + code, 0};
  if (code == 28) return {258, 0};
  const int bits = code / 4 - 1;
  return {3 + ((4 + code % 4) << bits), bits};
}
Step distance_of(int code) {
  if (code < 4) return {1 + code, 0};
  const int bits = code / 2 - 1;
  return {1 + ((2 + code % 2) << bits), bits};
}

struct Codes {
  PrefixCode literals;
  PrefixCode distances;
};

Status damaged(const std::string& what) { return bad_input("damaged compressed data: " + what); }

Codes fixed_codes() {
  std::vector<std::uint8_t> lengths(kLiterals, 8);
  std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
  std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
  Codes codes;
  (void)codes.literals.assign(lengths);
  (void)codes.distances.assign(std::vector<std::uint8_t>(kDistances, 5));
  return codes;
}

// The codes at the head of a block; their lengths are written in a code of their own.
Result<Codes> read_codes(BitReader& in) {
  static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
  const std::size_t literals = 257 + in.bits(5);
  const std::size_t distances = 1 + in.bits(5);
  const std::size_t given = 4 + in.bits(4);
  std::array<std::uint8_t, kOrder.size()> of_lengths{};
  for (std::size_t i = 0; i < given; ++i)
    of_lengths[kOrder[i]] = static_cast<std::uint8_t>(in.bits(3));
  PrefixCode code;
  if (literals > 286 || distances > kDistances || !code.assign(of_lengths))
    return damaged("impossible code");
  std::vector<std::uint8_t> lengths;
  while (lengths.size() < literals + distances) {
    const int symbol = code.read(in);
    if (symbol < 0 || in.ended() || (symbol == 16 && lengths.empty()))
      return damaged("impossible code");
    if (symbol < 16) {
      lengths.push_back(static_cast<std::uint8_t>(symbol));
      continue;
    }
    const std::uint8_t repeated = symbol == 16 ? lengths.back() : std::uint8_t{0};
    const std::size_t times = symbol == 16   ? 3 + in.bits(2)
                              : symbol == 17 ? 3 + in.bits(3)
                                             : 11 + in.bits(7);
    lengths.insert(lengths.end(), times, repeated);
  }
  if (lengths.size() != literals + distances) return damaged("impossible code");
  Codes codes;
  const std::span<const std::uint8_t> all(lengths);
  if (!codes.literals.assign(all.first(literals)) || !codes.distances.assign(all.subspan(literals)))
    return damaged("impossible code");
  return codes;
}

Status read_stored(BitReader& in, std::size_t limit, std::string& out) {
  in.align();
  const std::uint32_t size = in.bits(16);
  if ((size ^ in.bits(16)) != 0xFFFF) return damaged("wrong length of a block");
  if (size > limit - out.size()) return damaged("more bytes than stated");
  for (std::uint32_t i = 0; i < size && !in.ended(); ++i)
    out.push_back(static_cast<char>(in.bits(8)));
  return ok();
}

Status read_coded(BitReader& in, const Codes& codes, std::size_t limit, std::string& out) {
  while (!in.ended()) {
    const int symbol = codes.literals.read(in);
    if (symbol == kBlockEnd) return ok();
    if (symbol < 0 || symbol > 285) return damaged("unknown symbol");
    if (symbol < kBlockEnd) {
      if (out.size() == limit) return damaged("more bytes than stated");
      out.push_back(static_cast<char>(symbol));
      continue;
    }
    const Step length = length_of(symbol - kBlockEnd - 1);
    const std::size_t count = static_cast<std::size_t>(length.base) + in.bits(length.bits);
    const int code = codes.distances.read(in);
    if (code < 0 || code >= kDistances) return damaged("unknown symbol");
    const Step step = distance_of(code);
    const std::size_t back = static_cast<std::size_t>(step.base) + in.bits(step.bits);
    if (back > out.size()) return damaged("a reference before the beginning");
    if (count > limit - out.size()) return damaged("more bytes than stated");
    // The copy may overlap what it appends.
    for (std::size_t i = 0; i < count; ++i) out.push_back(out[out.size() - back]);
  }
  return ok();
}

}  // namespace

Result<std::string> inflate(std::string_view packed, std::int64_t limit_bytes) {
  const auto limit = static_cast<std::size_t>(limit_bytes);
  BitReader in(packed);
  std::string out;
  bool last = false;
  while (!last) {
    last = in.bits(1) != 0;
    const std::uint32_t kind = in.bits(2);
    if (kind == 0) {
      EGRET_RETURN_IF_ERROR(read_stored(in, limit, out));
    } else if (kind == 1) {
      EGRET_RETURN_IF_ERROR(read_coded(in, fixed_codes(), limit, out));
    } else if (kind == 2) {
      EGRET_ASSIGN_OR_RETURN(const Codes codes, read_codes(in));
      EGRET_RETURN_IF_ERROR(read_coded(in, codes, limit, out));
    } else {
      return damaged("unknown kind of block");
    }
    if (in.ended()) return damaged("it ends too early");
  }
  return out;
}

}  // namespace egret::base
