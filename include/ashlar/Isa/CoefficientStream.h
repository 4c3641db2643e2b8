// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficient streams of the sparse cluster (docs/CoefficientStream.md): the
// non-zero weights of a run of input channels as bits, in the order in which
// they are applied. Channel-major; within a channel one kernel after another, a
// kernel being the coefficients of one result. Three encodings: lists name
// positions, bitmaps flag them, dense streams hold zeros too.

#ifndef ASHLAR_ISA_COEFFICIENTSTREAM_H
#define ASHLAR_ISA_COEFFICIENTSTREAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace ashlar::isa {

/// One coefficient: the integer mantissa << shift at tap (ky, kx), for result
/// z. For weights aligned to (m', s) under a range D the shift is D - s.
struct Coefficient {
  uint32_t z =
      0; ///< Region: (channel's group) * kernels + kernel of the group.
  uint32_t ky = 0, kx = 0;
  int32_t mantissa = 0;
  uint32_t shift = 0;

  int64_t value() const { return static_cast<int64_t>(mantissa) << shift; }
  bool operator==(const Coefficient &) const = default;
};

enum class StreamEncoding : uint8_t { List = 0, Bitmap = 1, Dense = 2 };

/// What all coefficients of a stream have in common. Groups are those of a
/// grouped convolution: `channelsPerGroup` channels share `kernels` results,
/// the next ones have the next results. One group: channelsPerGroup = channels;
/// depthwise: both 1.
struct StreamShape {
  uint32_t channels = 1;         ///< 1 to 65535.
  uint32_t kernels = 1;          ///< Results of a group, 1 to 65535.
  uint32_t channelsPerGroup = 1; ///< 1 to 65535.
  uint32_t firstInGroup = 0;     ///< Channels of the first group before it.
  uint32_t kH = 1, kW = 1;       ///< 1 to 255.
  uint32_t mantissaBits = 8;     ///< Two's complement, 1 to 17.
  uint32_t shiftBits = 0;        ///< 0 to 4.
  /// Order of the taps of a kernel: row by row, in each from left to right, or
  /// with turn > 0 from right to left in the rows ky with an odd ky / turn. The
  /// rows that meet one phase of a stride are `turn` apart.
  uint32_t turn = 0; ///< 0 to 15.

  uint32_t taps() const { return kH * kW; }
  uint32_t valueBits() const { return mantissaBits + shiftBits; }
  /// First region of the group of a channel.
  uint32_t firstRegion(uint32_t channel) const {
    return (firstInGroup + channel) / channelsPerGroup * kernels;
  }
  /// The tap, ky * kW + kx, that comes as number \p place in the order of a
  /// kernel; and the place of a tap, which is the same function.
  uint32_t tapAt(uint32_t place) const {
    if (turn == 0 || place / kW / turn % 2 == 0)
      return place;
    return place / kW * kW + (kW - 1 - place % kW);
  }
  /// All regions that the stream may name.
  uint32_t regions() const { return firstRegion(channels - 1) + kernels; }
  bool operator==(const StreamShape &) const = default;
};

/// Bytes of the header before the first channel.
inline constexpr uint64_t streamHeaderBytes = 16;

/// Bytes of a stream with \p entries coefficients that are not zero, in
/// \p kernels kernels that have any (counted over all channels).
uint64_t streamBytes(const StreamShape &shape, StreamEncoding encoding,
                     uint64_t kernels, uint64_t entries);

/// The encoding of fewest bytes; at equal size the one that is simpler to
/// decode: dense, then bitmap, then list.
StreamEncoding smallestEncoding(const StreamShape &shape, uint64_t kernels,
                                uint64_t entries);

/// Encodes one list of coefficients per channel. Zeros are omitted (a dense
/// stream holds them anyway). Lists keep the order given, so kernels may
/// alternate; the others are ordered by z and the place of the tap. Errors
/// (Internal): coefficients outside the shape, two at one place where the
/// encoding has one, or a list that with `turn` has taps out of order.
llvm::Expected<std::vector<uint8_t>>
encodeStream(const StreamShape &shape,
             llvm::ArrayRef<std::vector<Coefficient>> channels,
             StreamEncoding encoding);

/// A checked header.
struct StreamHeader {
  StreamShape shape;
  StreamEncoding encoding = StreamEncoding::List;
};

/// Reads the header of a stream. Malformed: anything outside the limits above.
llvm::Expected<StreamHeader> readStreamHeader(llvm::ArrayRef<uint8_t> bytes);

/// Receives a stream in order.
class StreamVisitor {
public:
  virtual ~StreamVisitor() = default;
  /// Zeros come from dense streams only.
  virtual void coefficient(uint32_t channel, const Coefficient &entry) = 0;
  virtual void endChannel(uint32_t) {}
};

/// Decodes a stream; gives the bytes that it takes. Malformed: a bad header, a
/// stream longer than \p bytes, a kernel or position that the shape does not
/// have, a zero in an encoding that leaves zeros out, a list with taps in
/// another order than `turn` says. Hostile bytes never do worse.
llvm::Expected<uint64_t> decodeStream(llvm::ArrayRef<uint8_t> bytes,
                                      StreamVisitor &visitor);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_COEFFICIENTSTREAM_H
