// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of fault with its exact message.

#include "TestSupport.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::Fault;
using emulator::FaultKind;

static void expectFault(const std::string &text, FaultKind kind,
                        uint32_t instruction, const std::string &message) {
  Fault fault = faultOf(".machine name=a1-tiny\n.memory dram=4096\n" + text);
  EXPECT_EQ(fault.kind, kind);
  EXPECT_EQ(fault.instruction, instruction);
  EXPECT_EQ(fault.message, message);
}

TEST(Fault, NamesNodeAndAddress) {
  Fault fault = faultOf(".machine name=a1-tiny\n"
                        ".memory dram=64\n"
                        ".node name=Conv_3 op=Conv\n"
                        ".for node=0\n"
                        "dma.fill dstMem=dram dstBase=60 n4=8 dstStride4=1\n");
  EXPECT_EQ(emulator::describe(fault),
            "out of range fault at instruction 0 (node 'Conv_3'), dram address "
            "60: writes dram[0..1)[60..68) but dram ends at [1)[64) in "
            "'dma.fill dstBase=60 n4=8 dstStride4=1'");
}

TEST(Fault, OutOfRange) {
  expectFault("pe.load rows=9 type=bfp mantissa=8", FaultKind::OutOfRange, 0,
              "9 rows, the array has 8");
  expectFault("xr.set xr=63\n"
              "vec.map op=copy channels=8 dstOffset=65533",
              FaultKind::OutOfRange, 1,
              "writes sb[0..8)[65533..65537) but sb ends at [8)[65536)");
}

TEST(Fault, RowGroups) {
  // Row 2 of the last group would be partition 8.
  expectFault("pe.matmul rows=2 part=3 type=i8 mode=int groups=2 validW=2 "
              "hi0=1 hi1=1 hi2=2",
              FaultKind::OutOfRange, 0,
              "row groups of 2 rows, 4 partitions apart, from partition 3");
  expectFault("pe.matmul type=i8 mode=int skip=1 hi0=1 hi1=1 hi2=1",
              FaultKind::BadField, 0,
              "shift 0, 0 valid results and 1 pixels left out without row "
              "groups");
}

TEST(Fault, RegistersAsMemory) {
  expectFault("dma.fill dstMem=xr", FaultKind::BadField, 0,
              "elements of 1 bytes in xr, expected 2");
  expectFault("dma.fill elemBytes=2 dstMem=xr dstBase=3", FaultKind::BadField,
              0, "destination address 3 in xr is odd");
  expectFault("dma.copy elemBytes=2 srcMem=xr n4=2 srcStride4=1 dstMem=dram "
              "dstStride4=2",
              FaultKind::BadField, 0, "source stride 1 in xr is odd");
  expectFault("dma.copy elemBytes=2 srcMem=xr dstMem=xm", FaultKind::BadField,
              0, "from xr to xm: xr exchanges with dram and sb only");
  expectFault("dma.fill elemBytes=2 dstMem=xr dstBase=126 n4=2 dstStride4=2",
              FaultKind::OutOfRange, 0,
              "writes xr[0..1)[63..65) but xr ends at [1)[64)");
}

TEST(Fault, Unpack) {
  expectFault("dma.unpack mantissa=9", FaultKind::BadField, 0,
              "codes of 9 bits in elements of 1 bytes, expected 3 to 8");
  expectFault("dma.unpack mantissa=2", FaultKind::BadField, 0,
              "codes of 2 bits in elements of 1 bytes, expected 3 to 8");
  expectFault(
      "dma.unpack mantissa=8 unit=1", FaultKind::BadField, 0,
      "unit 1, 0 stored codes and zero 0 of a dense stream, expected 0");
  expectFault("dma.unpack mantissa=5 form=runs", FaultKind::BadField, 0,
              "runs counted in 0 bits, expected 1 to 16");
  expectFault("dma.unpack mantissa=5 form=runs unit=4 zero=16",
              FaultKind::BadField, 0,
              "a left-out code 16 that 5 bits do not hold");
  expectFault(
      "dma.unpack mantissa=5 form=bitmap unit=3 n4=7 dstStride4=1",
      FaultKind::BadField, 0,
      "flags for 3 codes each of 7 codes, 0 of them stored: the numbers "
      "are no multiples");
  expectFault("dma.unpack mantissa=6 form=exponents", FaultKind::BadField, 0,
              "codes of 6 bits in elements of 1 bytes, expected 1 to 5");
  expectFault("dma.unpack mantissa=5 form=exponents unit=3",
              FaultKind::BadField, 0,
              "unit 3 and 0 stored codes of exponents, expected 0 to 2, and 0");
  expectFault("dma.unpack mantissa=5 form=exponents stored=1",
              FaultKind::BadField, 0,
              "unit 0 and 1 stored codes of exponents, expected 0 to 2, and 0");
  expectFault("dma.unpack mantissa=5 form=exponents zero=-98",
              FaultKind::BadField, 0,
              "exponents of -128 to -98, cells hold -127 to 127");
  expectFault("dma.unpack mantissa=1 form=exponents zero=128",
              FaultKind::BadField, 0,
              "exponents of 128 to 128, cells hold -127 to 127");
  expectFault("dma.unpack mantissa=3 form=exponents unit=1 n3=2 n4=1000 "
              "dstStride3=1000 dstStride4=1",
              FaultKind::BadField, 0,
              "rows of 1000 exponents are repeated, the queues hold 4, one for "
              "each column of the array");
  expectFault("dma.unpack mantissa=5 form=exponents srcBase=4088 n4=13 "
              "dstStride4=1",
              FaultKind::OutOfRange, 0,
              "reads dram[0..1)[4088..4097) but dram ends at [1)[4096)");
  // 13 codes of 5 bits are 9 bytes, one more than there is.
  expectFault("dma.unpack mantissa=5 srcBase=4088 n4=13 dstStride4=1",
              FaultKind::OutOfRange, 0,
              "reads dram[0..1)[4088..4097) but dram ends at [1)[4096)");
  expectFault("dma.unpack mantissa=3 n0=1048575 n1=1048575 n2=1048575 "
              "n3=1048575 n4=1048575 dstStride0=1",
              FaultKind::BadField, 0,
              "the strides of the destination let its elements overlap");
}

TEST(Fault, BadEncoding) {
  container::Program program =
      assembleText(".machine name=a1-tiny\npe.swap\n", false);
  program.code[0] = 0x01000000000000ff;
  Fault fault;
  auto loaded = emulator::load(program, {}, &fault);
  ASSERT_FALSE(bool(loaded));
  llvm::consumeError(loaded.takeError());
  EXPECT_EQ(fault.kind, FaultKind::BadEncoding);
  EXPECT_TRUE(llvm::StringRef(emulator::describe(fault))
                  .starts_with("bad encoding fault at instruction 0: "));
}

TEST(Fault, BadField) {
  expectFault("pe.load type=i32 mode=int", FaultKind::BadField, 0,
              "mode int with elements of type i32, expected integers of 8 or "
              "16 bits");
  expectFault("pe.load type=i16 mode=int zero=3", FaultKind::BadField, 0,
              "zero point 3 of elements of type i16 in mode int, expected i8 "
              "or u8 in mode int");
  expectFault("pe.load type=u8 mode=int zero=-1", FaultKind::BadField, 0,
              "zero point -1 of elements of type u8, expected 0 to 255");
  expectFault("pe.matmul type=i8 mode=int zero=128", FaultKind::BadField, 0,
              "zero point 128 of elements of type i8, expected -128 to 127");
  expectFault("pe.load type=bfp mantissa=8 zero=1", FaultKind::BadField, 0,
              "zero point 1 of elements of type bfp in mode bfp, expected i8 "
              "or u8 in mode int");
  expectFault("vec.map op=add", FaultKind::BadField, 0,
              "function add needs a second operand");
  expectFault("dma.fill n4=4 dstStride4=0 dstMem=sb", FaultKind::BadField, 0,
              "the strides of the destination let its elements overlap");
  expectFault("dma.fill n4=4 dstStride4=1 dstMem=sb\n"
              "dma.copy srcMem=sb dstMem=sb dstBase=1 n4=2 srcStride4=1 "
              "dstStride4=1",
              FaultKind::BadField, 1,
              "source and destination overlap: reads sb[0..1)[0..2), writes "
              "sb[0..1)[1..3)");
}

TEST(Fault, Semaphores) {
  expectFault(".semaphores count=1\n"
              "sem.signal queue=pe sem=1",
              FaultKind::Semaphore, 0, "semaphore 1, the program declares 1");
  expectFault(".semaphores count=1\n"
              "sem.signal queue=pe sem=0\n"
              "sem.signal queue=act sem=0",
              FaultKind::Semaphore, 1,
              "semaphore 0 has two signalling queues, pe and act");
  expectFault(".semaphores count=1\n"
              "sem.signal queue=pe sem=0\n"
              "sem.wait queue=act sem=0\n"
              "sem.wait queue=act sem=0\n"
              "sem.signal queue=pe sem=0",
              FaultKind::Deadlock, 2,
              "queue act waits for semaphore 0, which nothing before has "
              "signalled");
}

static const char *const fill = "dma.fill elemBytes=4 dstMem=sb n4=4 "
                                "dstStride4=4\n";

TEST(Fault, Race) {
  expectFault(std::string(fill) +
                  "vec.map op=relu n2=4 aStride2=4 dstOffset=64 dstStride2=4",
              FaultKind::Race, 1,
              "vec reads sb[0..1)[0..16) while instruction 0 of queue dma0 "
              "writes sb[0..1)[0..16): no semaphore orders them");
}

TEST(Fault, SignalBeforeTheWriteOrdersNothing) {
  expectFault(".semaphores count=1\n"
              "sem.signal queue=dma0 sem=0\n" +
                  std::string(fill) +
                  "sem.wait queue=vec sem=0\n"
                  "vec.map op=relu n2=4 aStride2=4 dstOffset=64 dstStride2=4",
              FaultKind::Race, 3,
              "vec reads sb[0..1)[0..16) while instruction 1 of queue dma0 "
              "writes sb[0..1)[0..16): no semaphore orders them");
}

// One row, one column, ready for a matmul: partition 0 holds zeros.
static const char *const array = R"(.semaphores count=8
dma.fill dstMem=sb n4=64 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
sem.wait queue=peload sem=0
sem.wait queue=pe sem=1
pe.load type=i8 mode=int
sem.signal queue=peload sem=2
sem.wait queue=pe sem=2
pe.swap
)";

TEST(Fault, SignalBehindSwapDoesNotCoverMatmuls) {
  // The drain waits for a signal that only says that the second swap happened.
  expectFault(
      std::string(array) + "sem.signal queue=pe sem=3\n"
                           "sem.wait queue=peload sem=3\n"
                           "pe.matmul type=i8 mode=int hi0=1 hi1=1 hi2=1\n"
                           "pe.load type=i8 mode=int\n"
                           "sem.signal queue=peload sem=2\n"
                           "sem.wait queue=pe sem=2\n"
                           "pe.swap\n"
                           "sem.signal queue=pe sem=4\n"
                           "sem.wait queue=act sem=4\n"
                           "act.drain dstOffset=128\n",
      FaultKind::Race, 18,
      "act reads psum[0..1)[0..1) while instruction 11 of queue pe writes "
      "psum[0..1)[0..1): no semaphore orders them");
}

TEST(Fault, LoadBeforeTheSwapIsARace) {
  expectFault(std::string(array) + "pe.load type=i8 mode=int\n",
              FaultKind::Race, 9,
              "peload writes shadow[0..1)[0..1) while instruction 8 of queue "
              "pe writes shadow[0..1)[0..1): no semaphore orders them");
}

TEST(Fault, UndefinedReads) {
  expectFault("vec.map op=relu n2=4 aStride2=4 dstOffset=64 dstStride2=4",
              FaultKind::UndefinedRead, 0,
              "reads sb[0..1)[0..16), of which unit 0 has not been written");
  expectFault("xr.merge dst=1 src=2 clear=1", FaultKind::UndefinedRead, 0,
              "reads xr[0..1)[2..3), of which unit 2 has not been written");
  expectFault("dma.copy srcMem=dram dstMem=sb", FaultKind::UndefinedRead, 0,
              "reads dram[0..1)[0..1), of which unit 0 has not been written");
  expectFault("pe.swap", FaultKind::UndefinedRead, 0,
              "no stationary set was loaded since the last swap");
  expectFault(std::string(array) + "pe.matmul type=i8 mode=int hi0=1 hi1=1 "
                                   "hi2=1 accumulate=1",
              FaultKind::UndefinedRead, 9,
              "reads psum[0..1)[0..1), of which unit 0 has not been written");
}

TEST(Fault, UnwrittenOutput) {
  Fault fault = faultOf(".machine name=a1-tiny\n"
                        ".output name=y type=f32 shape=[2] at=0\n"
                        "dma.fill elemBytes=4 dstMem=dram\n");
  EXPECT_EQ(emulator::describe(fault),
            "undefined read fault, dram address 4: the program ends without "
            "having written output 'y'");
}

TEST(Fault, PsumOverwrite) {
  std::string matmul = "pe.matmul type=i8 mode=int hi0=1 hi1=1 hi2=1\n";
  expectFault(std::string(array) + matmul + matmul, FaultKind::PsumOverwrite,
              10, "entry 0 holds sums that were not drained");
}

/// 16-bit mantissas with 15 octaves on both sides: 2^60 per product.
static std::string widestSums(unsigned terms) {
  return fmt::format(R"(.semaphores count=4
dma.fill dstMem=sb n3=8 n4=64 dstStride3=65536 dstStride4=1
dma.fill dstMem=xm n3=2 n4=64 dstStride3=65536 dstStride4=1
sem.signal queue=dma0 sem=0
sem.signal queue=dma0 sem=1
xr.set value=0
sem.signal queue=vec sem=2
sem.wait queue=peload sem=0
sem.wait queue=peload sem=2
sem.wait queue=pe sem=1
pe.load rows=8 type=bfp mantissa=16 range=15 terms={}
sem.signal queue=peload sem=3
sem.wait queue=pe sem=3
pe.swap
pe.matmul rows=8 type=bfp mantissa=16 range=15 hi0=1 hi1=1 hi2=1
)",
                     terms);
}

TEST(Fault, AccumulatorBound) {
  for (unsigned terms : {0, 5, 8, 9})
    expectFault(widestSums(terms), FaultKind::AccumulatorBound, 13,
                "sums of entry 0 may leave 63 bits by the widths of their "
                "operands");
}

TEST(Fault, AccumulatorBoundCountsTerms) {
  container::Program program = assembleText(
      ".machine name=a1-tiny\n.memory dram=4096\n" + widestSums(4), false);
  EXPECT_TRUE(bool(llvm::expectedToOptional(emulator::load(program, {}))));
  expectFault("pe.load terms=1 type=f32 mode=select", FaultKind::BadField, 0,
              "1 terms in mode select");
}

TEST(Fault, ConstantsAreReadOnly) {
  expectFault(".data at=16 hex=0102\n"
              "dma.fill dstMem=dram dstBase=17",
              FaultKind::OutOfRange, 0,
              "writes dram[0..1)[17..18) overwrites constants at 16");
}

TEST(Fault, MemoryLimit) {
  emulator::Options options;
  options.maxMemory = 1000;
  auto loaded = emulator::load(
      assembleText(".machine name=a1-tiny\n.memory dram=64\n", false), options);
  ASSERT_FALSE(bool(loaded));
  llvm::Error error = loaded.takeError();
  EXPECT_EQ(support::classify(error), ErrorClass::Capacity);
  EXPECT_TRUE(llvm::StringRef(llvm::toString(std::move(error)))
                  .starts_with("the program needs more than the allowed 1000 "
                               "bytes of memory: DRAM 64"));
}
