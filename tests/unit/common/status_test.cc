#include "common/base/status.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error::invalidArgument("{} is odd", number);
  return number / 2;
}

Result<int> quarter(int number) {
  ASSIGN_OR_RETURN(const int once, half(number));
  ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

Status check(int number) {
  RETURN_IF_ERROR(half(number).status());
  return {};
}

TEST(StatusTest, ASuccessHasNoErrorAndAnErrorKeepsItsParts) {
  // Aim: code, message and field survive every way of passing an error on.
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().text(), "ok");
  const Status failed = Error(ErrorCode::Busy, "row 7 is locked", "row");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::Busy);
  EXPECT_EQ(failed.error().field(), "row");
  const Result<int> result(failed);
  EXPECT_EQ(result.status().error().message(), "row 7 is locked");
}

TEST(StatusTest, AnErrorLeavesAtTheFirstStepThatFails) {
  // Aim: the macros return the error of the step that failed, and the value otherwise.
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().message(), "7 is odd");
  EXPECT_EQ(quarter(6).error().message(), "3 is odd");
  EXPECT_TRUE(check(2).ok());
  EXPECT_FALSE(check(3).ok());
}

TEST(StatusTest, ContextGoesBeforeTheMessageAndAFieldIsNotReplaced) {
  // Aim: the innermost reader knows best which field is wrong.
  const Error error = Error::invalidArgument("is empty").withField("inner").withField("outer");
  EXPECT_EQ(error.field(), "inner");
  EXPECT_EQ(Error(error).withContext("reading a").message(), "reading a: inner: is empty");
  EXPECT_EQ(Error(error).withContext("reading a").code(), ErrorCode::InvalidArgument);
}

TEST(StatusTest, WhatIsToldNamesTheFieldOnce) {
  // Aim: one way for every reader to say where something is wrong, also behind a context.
  const Error plain = Error::invalidArgument("nothing to run");
  EXPECT_EQ(plain.told(), "nothing to run");
  EXPECT_EQ(plain.text(), "invalid_argument: nothing to run");
  const Error error = Error::invalidArgument("there are more than 7").withField("to");
  EXPECT_EQ(error.told(), "to: there are more than 7");
  EXPECT_EQ(error.text(), "invalid_argument: to: there are more than 7");
  EXPECT_EQ(Error(error).withContext("a.yaml").told(), "a.yaml: to: there are more than 7");
  EXPECT_EQ(Error(ErrorCode::Conflict, "to: is gone", "to").told(), "to: is gone");
}

TEST(StatusTest, OnlyWhatMayPassByItselfIsRetryable) {
  // Aim: a caller that repeats on isRetryable never repeats what can't succeed.
  for (const ErrorCode code :
       {ErrorCode::Overloaded, ErrorCode::Unavailable, ErrorCode::Busy, ErrorCode::StorageFull,
        ErrorCode::NotActive, ErrorCode::DeadlineExceeded}) {
    EXPECT_TRUE(isRetryable(code)) << toString(code);
  }
  for (const ErrorCode code : {ErrorCode::InvalidArgument, ErrorCode::NotFound, ErrorCode::Conflict,
                               ErrorCode::PermissionDenied, ErrorCode::Unauthenticated,
                               ErrorCode::TooLarge, ErrorCode::Fenced, ErrorCode::Cancelled,
                               ErrorCode::Corrupt, ErrorCode::Unsupported, ErrorCode::Internal}) {
    EXPECT_FALSE(isRetryable(code)) << toString(code);
  }
}

TEST(StatusTest, NamesOfCodesAreStable) {
  // Aim: the names are part of the REST contract.
  EXPECT_EQ(toString(ErrorCode::InvalidArgument), "invalid_argument");
  EXPECT_EQ(toString(ErrorCode::StorageFull), "storage_full");
  EXPECT_EQ(toString(ErrorCode::NotActive), "not_active");
  EXPECT_EQ(Error(ErrorCode::NotFound, "no task 3").text(), "not_found: no task 3");
}

}  // namespace
}  // namespace baton
