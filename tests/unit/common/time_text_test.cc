#include <gtest/gtest.h>

#include "common/base/duration_text.h"
#include "common/model/task_spec.h"
#include "tests/support/fake_clock.h"

namespace baton {
namespace {

TEST(DurationTextTest, SumsOfWholeUnitsAreReadExactly) {
  // Aim: every documented form has its one meaning.
  EXPECT_EQ(*parseDuration("250ms"), Millis(250));
  EXPECT_EQ(*parseDuration("90s"), Millis(90'000));
  EXPECT_EQ(*parseDuration("5m"), Millis(300'000));
  EXPECT_EQ(*parseDuration("2h"), Millis(7'200'000));
  EXPECT_EQ(*parseDuration("1d"), Millis(86'400'000));
  EXPECT_EQ(*parseDuration("1h30m"), Millis(5'400'000));
  EXPECT_EQ(*parseDuration("0s"), Millis(0));
}

TEST(DurationTextTest, WhatIsNotADurationIsRefused) {
  // Aim: no unit is guessed and nothing overflows.
  for (const char* text : {"", "s", "90", "-1s", "+1s", "1.5h", " 1s", "1s ", "1 s", "1sec", "1S",
                           "1h30", "99999999999999999999s", "36601d", "9223372036854775807ms",
                           "20000d20000d", "1m30s30s", "1s1s", "1ms2s3ms"}) {
    EXPECT_FALSE(parseDuration(text).ok()) << text;
  }
}

TEST(DurationTextTest, TheShortestExactFormIsWrittenAndReadsBack) {
  // Aim: what is shown is exact.
  EXPECT_EQ(formatDuration(Millis(90'000)), "90s");
  EXPECT_EQ(formatDuration(Millis(5'400'000)), "90m");
  EXPECT_EQ(formatDuration(Millis(86'400'000)), "1d");
  EXPECT_EQ(formatDuration(Millis(1'001)), "1001ms");
  EXPECT_EQ(formatDuration(Millis(0)), "0ms");
  for (const int64_t ms : {1LL, 999LL, 60'000LL, 61'000LL, 3'600'001LL, 31'622'400'000LL}) {
    EXPECT_EQ(*parseDuration(formatDuration(Millis(ms))), Millis(ms));
  }
}

TEST(Rfc3339Test, AZoneIsTakenOffAndFractionsAreKeptToTheMicrosecond) {
  // Aim: one instant, however it is written.
  const WallTime noon = *parseRfc3339("2026-11-29T12:00:00Z");
  EXPECT_EQ(*parseRfc3339("2026-11-29T13:00:00+01:00"), noon);
  EXPECT_EQ(*parseRfc3339("2026-11-29t06:30:00-05:30"), noon);
  EXPECT_EQ(*parseRfc3339("2026-11-29T12:00:00.250Z"), noon + Micros(250'000));
  EXPECT_EQ(*parseRfc3339("2026-11-29T12:00:00.1234567Z"), noon + Micros(123'456));
  EXPECT_EQ(toMicros(*parseRfc3339("1970-01-01T00:00:00Z")), 0);
}

TEST(Rfc3339Test, WhatIsNotATimeIsRefused) {
  // Aim: no zone is guessed, no day is rolled over, no sign or blank slips through.
  for (const char* text :
       {"", "2026-11-29", "2026-11-29T12:00:00", "2026-11-29 12:00:00Z", "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-29T24:00:00Z", "2026-11-29T12:60:00Z",
        "2026-11-29T12:00:00+1:00", "2026-11-29T12:00:00+24:00", "2026-11-29T12:00:00.Z",
        "1969-12-31T23:59:59Z", "2026-11-29T12:00:00Zx", "2026-11-29T-1:00:00Z",
        "2026-11-29T+1:00:00Z", "2026-11-29T 1:00:00Z", "2026-+1-29T12:00:00Z",
        "2026-11-29T12:00:00+ 1:00"}) {
    EXPECT_FALSE(parseRfc3339(text).ok()) << text;
  }
}

TEST(Rfc3339Test, TimesOutOfRangeAreNamedSo) {
  // Aim: a right form is not called wrong, and every time can be written with a year of four
  // digits.
  for (const char* text : {"1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z",
                           "9999-12-31T23:59:59Z", "1970-01-01T00:30:00+01:00"}) {
    const auto read = parseRfc3339(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message().find("out of range"), std::string::npos) << text;
  }
  EXPECT_TRUE(parseRfc3339("9998-12-31T23:59:59Z").ok());
}

TEST(Rfc3339Test, WhatIsWrittenReadsBack) {
  // Aim: a time from an answer can be sent in a question.
  for (const int64_t us : {0LL, 1LL, 1'700'000'000'000'000LL, 1'700'000'000'250'000LL,
                           951'782'400'000'001LL, 4'102'444'800'000'000LL}) {
    EXPECT_EQ(toMicros(*parseRfc3339(formatRfc3339(wallFromMicros(us)))), us);
  }
  EXPECT_EQ(formatRfc3339(wallFromMicros(1'700'000'000'250'000)), "2023-11-14T22:13:20.250Z");
}

TEST(FakeClockTest, WallAndBootTimeMoveTogetherUnlessTheWallClockIsSet) {
  // Aim: tests can set the wall clock without touching intervals.
  test::FakeClock clock;
  const WallTime wall = clock.wallNow();
  const BootTime boot = clock.bootNow();
  clock.advance(Seconds(3));
  EXPECT_EQ(clock.wallNow() - wall, Micros(Seconds(3)));
  EXPECT_EQ(clock.bootNow() - boot, Micros(Seconds(3)));
  clock.stepWall(-Micros(Seconds(10)));
  EXPECT_EQ(clock.wallNow() - wall, -Micros(Seconds(7)));
  EXPECT_EQ(clock.bootNow() - boot, Micros(Seconds(3)));
}

}  // namespace
}  // namespace baton
