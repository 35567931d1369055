// SPDX-License-Identifier: Apache-2.0
// Compressed data as zlib writes it, whole and damaged.
#include "base/formats/inflate.h"

#include <gtest/gtest.h>

#include <string>

namespace egret::base {
namespace {

using std::string_literals::operator""s;

constexpr std::int64_t kLimit = 1 << 20;

// Letters of uneven frequency, so that zlib writes codes of its own for them.
std::string letters() {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = (state * 1103515245U + 12345U) % (1U << 31);
    const std::uint32_t k = (state >> 16) % 36;
    text += static_cast<char>('a' + k * k / 200);
  }
  return text;
}

const std::string kStored =
    "\x01\x0e\x00\xf1\xff\x61\x20\x73\x74\x6f\x72\x65\x64\x20\x62\x6c\x6f\x63\x6b"
    ""s;
const std::string kFixed =
    "\x4b\x4d\x2f\x4a\x2d\x51\x48\x1d\x25\x69\x4c\x66\xa4\x16\xe5\xe7\x01\x00"
    ""s;
const std::string kDynamic =
    "\x2d\x90\x89\x01\x80\x30\x08\x03\x67\x85\xf0\xec\xbf\x81\x17\x6a\xb5\xca\x9b\x04\x6a\x26"
    "\x33\x38\x19\xf2\x6f\xce\x89\xac\xb6\x33\x5d\x43\xbc\x42\x1a\x97\x70\x7a\x14\x1b\x4a\x7b"
    "\xdd\xcf\x90\xe4\x6e\x47\xb6\x7f\xb0\xe6\xc1\xaa\x52\x25\xfd\x0e\x17\x71\xda\x27\x69\x9a"
    "\x28\x41\xbc\x0e\x0b\x48\x54\x4c\x24\x2d\x1d\xa7\xa7\xa2\xcb\xe0\x9b\x80\x43\x63\xfa\x5a"
    "\x67\x44\x8f\x66\xb7\xe6\x71\x1d\x1d\xf5\x90\xdf\x4d\x68\x6b\x0c\x34\xcc\x66\x0d\x94\xba"
    "\x4a\x77\x97\x5f\xe7\x6f\x20\xc3\xe3\x99\x9b\x2f\x4a\x49\x95\x9e\x02\x8a\xfa\xc7\x86\x1f"
    "\xed\xbc\xa0\x83\x6c\x4f\x59\x78\x64\x93\x25\xb1\xa5\x64\xd0\x9e\x3d\x18\x6c\x56\x92\xce"
    "\x83\x8e\x04\x8f\x02\x9e\xba\x8f\x60\xf7\x00\xbd\x9c\xbc\x7d\x93\xf7\x86\x39\xfd\x01"
    ""s;

TEST(Inflate, ReadsBlocksOfAllKinds) {
  EXPECT_EQ(inflate(kStored, kLimit).value(), "a stored block");
  std::string birds;
  for (int i = 0; i < 60; ++i) birds += "egret ";
  EXPECT_EQ(inflate(kFixed, kLimit).value(), birds + "heron");
  EXPECT_EQ(inflate(kDynamic, kLimit).value(), letters());
}

TEST(Inflate, GivesNoMoreThanItsLimit) {
  EXPECT_TRUE(inflate(kFixed, 365).ok());
  EXPECT_EQ(inflate(kFixed, 364).status().code(), StatusCode::kBadInput);
  EXPECT_EQ(inflate(kStored, 13).status().code(), StatusCode::kBadInput);
}

TEST(Inflate, RefusesDamagedData) {
  for (const std::string& whole : {kStored, kFixed, kDynamic}) {
    for (std::size_t size = 0; size + 1 < whole.size(); ++size)
      EXPECT_FALSE(inflate(whole.substr(0, size), kLimit).ok()) << size;
    // A flipped bit may give other data, but never more than the limit.
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      EXPECT_LE(inflate(damaged, 1000).value_or("").size(), 1000U);
    }
  }
}

}  // namespace
}  // namespace egret::base
