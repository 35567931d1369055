// SPDX-License-Identifier: Apache-2.0
#include "base/lack_of_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <system_error>

#include "tests/address_space.h"

namespace egret::base {
namespace {

TEST(LackOfMemory, IsKnownByWhatIsThrown) {
  const auto of = [](std::errc code) { return std::system_error(std::make_error_code(code)); };
  EXPECT_TRUE(is_lack_of_memory(std::bad_alloc()));
  EXPECT_TRUE(is_lack_of_memory(std::bad_array_new_length()));
  EXPECT_TRUE(is_lack_of_memory(of(std::errc::resource_unavailable_try_again)));
  EXPECT_TRUE(is_lack_of_memory(of(std::errc::not_enough_memory)));
  EXPECT_FALSE(is_lack_of_memory(of(std::errc::io_error)));
  EXPECT_FALSE(is_lack_of_memory(std::runtime_error("memory")));
}

#ifdef EGRET_LIMITS_ADDRESS_SPACE

TEST(LackOfMemory, RoomIsWhatTheSystemWouldMap) {
  const auto scenario = [] {
    limit_address_space(std::size_t{16} << 20);
    ::_exit(has_room(std::size_t{8} << 20) && !has_room(std::size_t{32} << 20) ? 0 : 1);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace egret::base
