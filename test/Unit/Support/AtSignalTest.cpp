// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals belong to the process: a library that writes files leaves them alone.

#include "ashlar/Support/AtSignal.h"
#include "gtest/gtest.h"

#include <csignal>

TEST(AtSignal, LibrariesTakeNoSignals) {
  ashlar::support::AtSignal nothing([](void *) {}, nullptr);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    ASSERT_EQ(sigaction(signal, nullptr, &now), 0);
    EXPECT_TRUE(now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
  }
}
