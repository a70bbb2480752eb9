// SPDX-License-Identifier: BSD-3-Clause
// FIPS 180-4, section 6.2, by its own names: H is the state, W the message
// schedule. The SHA-NI path exists because a CUDA plugin carries 100 MB of
// kernels and start-up waits for the hash.
#include "core/plugin/sha256.h"

#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace titan::plugin {
namespace {

constexpr std::size_t kBlock = 64;

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;
using Compress = void (*)(State&, const std::byte*, std::size_t num_blocks);

constexpr State kInitial = {0x6a09e667,
                            0xbb67ae85,
                            0x3c6ef372,
                            0xa54ff53a,
                            0x510e527f,
                            0x9b05688c,
                            0x1f83d9ab,
                            0x5be0cd19};

std::uint32_t load_big_endian(const std::byte* bytes) {
  std::uint32_t value;
  std::memcpy(&value, bytes, 4);
  return __builtin_bswap32(value);
}

void compress_block(State& H, const std::byte* block) {
  std::uint32_t W[64];
  for (int t = 0; t < 16; ++t)
    W[t] = load_big_endian(block + std::ptrdiff_t{4} * t);
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t x = W[t - 15], y = W[t - 2];
    const std::uint32_t s0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const std::uint32_t s1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    W[t] = W[t - 16] + s0 + W[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = H;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t S1 =
        std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t T1 = h + S1 + ((e & f) ^ (~e & g)) + kRound[t] + W[t];
    const std::uint32_t S0 =
        std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t T2 = S0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + T1, d = c, c = b, b = a, a = T1 + T2;
  }
  H[0] += a, H[1] += b, H[2] += c, H[3] += d;
  H[4] += e, H[5] += f, H[6] += g, H[7] += h;
}

void compress_portable(State& H,
                       const std::byte* blocks,
                       std::size_t num_blocks) {
  for (; num_blocks > 0; --num_blocks, blocks += kBlock)
    compress_block(H, blocks);
}

#if defined(__x86_64__)

// The instructions keep the state as (A,B,E,F) and (C,D,G,H), and take four
// rounds' W + K at a time (Intel, "SHA Extensions", 2013).
__attribute__((target("sha,ssse3,sse4.1"))) void
compress_sha_ni(State& H, const std::byte* blocks, std::size_t num_blocks) {
  const __m128i swap =
      _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i abcd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&H[0]));
  __m128i efgh = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&H[4]));
  const __m128i cdab = _mm_shuffle_epi32(abcd, 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(efgh, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, cdab, 0xf0);
  for (; num_blocks > 0; --num_blocks, blocks += kBlock) {
    const __m128i abef_start = abef, cdgh_start = cdgh;
    __m128i W[4];
    for (int i = 0; i < 16; ++i) {
      __m128i& w = W[i % 4];
      if (i < 4) {
        w = _mm_loadu_si128(
            reinterpret_cast<const __m128i*>(blocks + std::ptrdiff_t{16} * i));
        w = _mm_shuffle_epi8(w, swap);
      } else {
        const __m128i last = W[(i + 3) % 4];
        const __m128i middle = _mm_alignr_epi8(last, W[(i + 2) % 4], 4);
        w = _mm_add_epi32(_mm_sha256msg1_epu32(w, W[(i + 1) % 4]), middle);
        w = _mm_sha256msg2_epu32(w, last);
      }
      const __m128i K = _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(&kRound[std::size_t{4} * i]));
      const __m128i wk = _mm_add_epi32(w, K);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_start);
    cdgh = _mm_add_epi32(cdgh, cdgh_start);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  abcd = _mm_blend_epi16(feba, dchg, 0xf0);
  efgh = _mm_alignr_epi8(dchg, feba, 8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&H[0]), abcd);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&H[4]), efgh);
}

Compress choose_compress() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
  return has_sha && __builtin_cpu_supports("sse4.1") ? compress_sha_ni
                                                     : compress_portable;
}

#else

Compress choose_compress() {
  return compress_portable;
}

#endif

Sha256 hash(std::span<const std::byte> bytes, Compress compress) {
  State H = kInitial;
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  compress(H, bytes.data(), whole / kBlock);

  // The rest, a one bit, zeros, the length in bits: one block or two.
  std::array<std::byte, 2 * kBlock> tail{};
  const std::size_t rest = bytes.size() - whole;
  if (rest > 0) std::memcpy(tail.data(), bytes.data() + whole, rest);
  tail[rest] = std::byte{0x80};
  const std::size_t tail_size = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  const std::uint64_t bits =
      __builtin_bswap64(static_cast<std::uint64_t>(bytes.size()) * 8);
  std::memcpy(tail.data() + tail_size - 8, &bits, 8);
  compress(H, tail.data(), tail_size / kBlock);

  Sha256 digest;
  for (std::size_t i = 0; i < H.size(); ++i) {
    const std::uint32_t word = __builtin_bswap32(H[i]);
    std::memcpy(digest.data() + 4 * i, &word, 4);
  }
  return digest;
}

}  // namespace

Sha256 sha256(std::span<const std::byte> bytes) {
  static const Compress compress = choose_compress();
  return hash(bytes, compress);
}

Sha256 sha256_portable(std::span<const std::byte> bytes) {
  return hash(bytes, compress_portable);
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : sha256(bytes)) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

}  // namespace titan::plugin
