// SPDX-License-Identifier: Apache-2.0
// Files as NumPy writes them.
#include "frontends/wire/numpy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace egret::frontends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::string_literals::operator""s;

constexpr std::int64_t kLimit = 1 << 20;

// Version 1 of the format, its header as long as it is.
std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& data) {
  const std::string header =
      "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string file = "\x93NUMPY\x01\x00"s;
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + data;
}

std::vector<double> values(const base::Result<ir::Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  std::vector<double> all;
  for (std::int64_t i = 0; tensor.ok() && i < tensor->elements(); ++i)
    all.push_back(tensor->f64_at(i));
  return all;
}

// np.savez_compressed(x=[[0, 1, 2], [3, 4, 5]], ids=[3, 1, 2])
const std::string kArchive =
    "\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\x4f\xe9\x00\x2a\x55\x00\x00\x00"
    "\x98\x00\x00\x00\x05\x00\x14\x00\x78\x2e\x6e\x70\x79\x01\x00\x10\x00\x98\x00\x00\x00\x00"
    "\x00\x00\x00\x55\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50"
    "\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2\xae\xa3\xa0\x9e\x96\x5f\x54\x52"
    "\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02"
    "\xf9\x1a\x46\x3a\x0a\xc6\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\x06\x30\x68\xb0\x07\x12\x0e\x40"
    "\x04\xc4\x0d\x40\xbc\xc0\x01\x00\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00"
    "\xdf\xe9\x0c\xb2\x4d\x00\x00\x00\x98\x00\x00\x00\x07\x00\x14\x00\x69\x64\x73\x2e\x6e\x70"
    "\x79\x01\x00\x10\x00\x98\x00\x00\x00\x00\x00\x00\x00\x4d\x00\x00\x00\x00\x00\x00\x00\x9b"
    "\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93"
    "\x69\xa1\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc"
    "\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\xc6\x3a\x9a\x3a\x0a\xb5\x0a\x14\x00\x2e"
    "\x66\x06\x08\x60\x84\xd2\x4c\x50\x1a\x00\x50\x4b\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00"
    "\x00\x00\x21\x00\x4f\xe9\x00\x2a\x55\x00\x00\x00\x98\x00\x00\x00\x05\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x78\x2e\x6e\x70\x79\x50\x4b\x01\x02\x14"
    "\x03\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\xdf\xe9\x0c\xb2\x4d\x00\x00\x00\x98\x00\x00"
    "\x00\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x8c\x00\x00\x00\x69\x64\x73"
    "\x2e\x6e\x70\x79\x50\x4b\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00\x68\x00\x00\x00\x12\x01"
    "\x00\x00\x00\x00"
    ""s;

TEST(NumpyFile, ReadsArraysInEitherOrder) {
  const std::string shorts = "\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00"s;
  const auto rows = read_npy(npy("'<i2'", "False", "(2, 3)", shorts), kLimit);
  EXPECT_EQ(ir::to_string(rows->type()), "i16[2,3]");
  EXPECT_THAT(values(rows), ElementsAre(0, 1, 2, 3, 4, 5));
  // Element (i, j) is at i + 2 j.
  const auto columns = read_npy(npy("'<i2'", "True", "(2, 3)", shorts), kLimit);
  EXPECT_EQ(ir::to_string(columns->type()), "i16[2,3]");
  EXPECT_THAT(values(columns), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(values(read_npy(npy("'>i2'", "False", "(6,)", shorts), kLimit)),
              ElementsAre(0, 256, 512, 768, 1024, 1280));
  const auto scalar = read_npy(npy("'|b1'", "False", "()", "\x07"), kLimit);
  EXPECT_EQ(ir::to_string(scalar->type()), "bool[]");
  EXPECT_THAT(values(scalar), ElementsAre(1));
  EXPECT_EQ(read_npy(npy("'<f8'", "False", "(0, 4)", ""), kLimit)->elements(), 0);
}

TEST(NumpyFile, RefusesWhatIsNoArrayOfNumbers) {
  const auto why = [](const std::string& file) {
    return read_npy(file, kLimit).status().message();
  };
  EXPECT_THAT(why("\x93NUMPY"), HasSubstr("is not a NumPy array"));
  EXPECT_THAT(why(npy("'<f4'", "False", "(2,)", "1234567")), HasSubstr("7 bytes of data"));
  EXPECT_THAT(why(npy("'<f4'", "False", "(-2,)", "")), HasSubstr("impossible shape (-2,)"));
  EXPECT_THAT(why(npy("'<f4'", "False", "(99999999999, 99999999999)", "")), HasSubstr("larger"));
  EXPECT_THAT(why(npy("'<c8'", "False", "(1,)", "12345678")), HasSubstr("type 'c8'"));
  EXPECT_THAT(why(npy("[('a', '<f4')]", "False", "(1,)", "1234")), HasSubstr("structure"));
  EXPECT_THAT(why(npy("'<f4'", "False", "2", "12345678")), HasSubstr("no shape"));
}

TEST(NumpyFile, ArchivesGiveTheMemberOfAName) {
  EXPECT_THAT(values(read_npz(kArchive, "x", kLimit)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values(read_npz(kArchive, "ids", kLimit)), ElementsAre(3, 1, 2));
  EXPECT_THAT(read_npz(kArchive, "y", kLimit).status().message(),
              HasSubstr("no array 'y'; its arrays are 'x', 'ids'"));
}

// Checksums tell of every change of the contents; a change beside them may stay unnoticed.
TEST(NumpyFile, DamagedArchivesGiveTheArrayOrAnError) {
  for (std::size_t size = 0; size < kArchive.size(); ++size)
    EXPECT_FALSE(read_npz(kArchive.substr(0, size), "x", kLimit).ok()) << size;
  for (std::size_t bit = 0; bit < 8 * kArchive.size(); ++bit) {
    std::string damaged = kArchive;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto read = read_npz(damaged, "x", kLimit);
    if (!read.ok()) continue;
    EXPECT_THAT(values(read), ElementsAre(0, 1, 2, 3, 4, 5)) << bit;
  }
}

}  // namespace
}  // namespace egret::frontends
