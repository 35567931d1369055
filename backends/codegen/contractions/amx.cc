// SPDX-License-Identifier: Apache-2.0
#include "backends/codegen/contractions/amx.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace egret::backends::codegen {
namespace {

#if defined(__x86_64__) && defined(__linux__)
AmxSupport asked() {
  constexpr unsigned kFeatures = 7;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) == 0) return {};
  return amx_support(d,
                     [] { return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0; });
}
#else
AmxSupport asked() { return {}; }
#endif

constexpr const char* kPrelude = R"text(
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)
struct alignas(64) TileConfig {
  unsigned char palette, start_row, reserved[14];
  unsigned short row_bytes[16];
  unsigned char rows[16];
};
static const TileConfig egret_tile_config = {
    1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
#define EGRET_TILES_BEGIN() asm volatile("ldtilecfg %0" ::"m"(egret_tile_config))
#define EGRET_TILES_END() asm volatile("tilerelease" ::)
#define EGRET_TILE_ZERO(n) asm volatile("tilezero %%tmm" #n ::)
#define EGRET_TILE_LOAD(n, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #n ::"r"(from), "r"((i64)(stride)) : "memory")
#define EGRET_TILE_STORE(n, to, stride) \
  asm volatile("tilestored %%tmm" #n ", (%0,%1,1)" ::"r"(to), "r"((i64)(stride)) : "memory")
#define EGRET_TILE_MULTIPLY(name, c, a, b) \
  asm volatile(name " %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define EGRET_TILE_BF16(c, a, b) EGRET_TILE_MULTIPLY("tdpbf16ps", c, a, b)
#define EGRET_TILE_S8S8(c, a, b) EGRET_TILE_MULTIPLY("tdpbssd", c, a, b)
#define EGRET_TILE_S8U8(c, a, b) EGRET_TILE_MULTIPLY("tdpbsud", c, a, b)
#define EGRET_TILE_U8S8(c, a, b) EGRET_TILE_MULTIPLY("tdpbusd", c, a, b)
#define EGRET_TILE_U8U8(c, a, b) EGRET_TILE_MULTIPLY("tdpbuud", c, a, b)
#else
// 16 rows of 64 bytes.
struct Tile {
  unsigned words[16][16];
};
static thread_local Tile egret_tiles[8];
#define EGRET_TILES_BEGIN() (void)0
#define EGRET_TILES_END() (void)0
#define EGRET_TILE_ZERO(n) egret_tiles[n] = Tile()
static inline void load_tile(Tile& tile, const void* from, i64 stride) {
  for (int r = 0; r < 16; ++r) std::memcpy(tile.words[r], (const char*)from + r * stride, 64);
}
static inline void store_tile(const Tile& tile, void* to, i64 stride) {
  for (int r = 0; r < 16; ++r) std::memcpy((char*)to + r * stride, tile.words[r], 64);
}
static inline void multiply_bf16_tiles(Tile& c, const Tile& a, const Tile& b) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n)
      for (int k = 0; k < 16; ++k) {
        const unsigned x = a.words[m][k], y = b.words[k][n];
        c.words[m][n] = bits_of(float_of(c.words[m][n]) +
                                real_of_bf16((unsigned short)x) * real_of_bf16((unsigned short)y) +
                                real_of_bf16(x >> 16) * real_of_bf16(y >> 16));
      }
}
template <class A, class B>
static inline void multiply_int8_tiles(Tile& c, const Tile& a, const Tile& b) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n)
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 32; i += 8)
          c.words[m][n] += (unsigned)((A)(a.words[m][k] >> i) * (B)(b.words[k][n] >> i));
}
#define EGRET_TILE_LOAD(n, from, stride) load_tile(egret_tiles[n], from, stride)
#define EGRET_TILE_STORE(n, to, stride) store_tile(egret_tiles[n], to, stride)
#define EGRET_TILE_BF16(c, a, b) multiply_bf16_tiles(egret_tiles[c], egret_tiles[a], egret_tiles[b])
#define EGRET_TILE_INT8(A, B, c, a, b) \
  multiply_int8_tiles<A, B>(egret_tiles[c], egret_tiles[a], egret_tiles[b])
#define EGRET_TILE_S8S8(c, a, b) EGRET_TILE_INT8(signed char, signed char, c, a, b)
#define EGRET_TILE_S8U8(c, a, b) EGRET_TILE_INT8(signed char, unsigned char, c, a, b)
#define EGRET_TILE_U8S8(c, a, b) EGRET_TILE_INT8(unsigned char, signed char, c, a, b)
#define EGRET_TILE_U8U8(c, a, b) EGRET_TILE_INT8(unsigned char, unsigned char, c, a, b)
#endif
)text";

}  // namespace

AmxSupport amx_support(std::uint32_t features, base::FunctionRef<bool()> permits) {
  constexpr std::uint32_t kBF16 = 1U << 22, kTiles = 1U << 24, kInt8 = 1U << 25;
  if ((features & kTiles) == 0 || !permits()) return {};
  return {(features & kBF16) != 0, (features & kInt8) != 0};
}

AmxSupport amx_support() {
  static const AmxSupport support = asked();
  return support;
}

const std::string& amx_prelude() {
  static const std::string text = kPrelude;
  return text;
}

}  // namespace egret::backends::codegen
