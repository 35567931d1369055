// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_forms.h"

#include <gtest/gtest.h>

#include <vector>

namespace egret::driver {
namespace {

using backends::OperandForm;

// Two contractions of three pieces each (f32, bf16, int8), and one piece without.
PieceForms two_contractions() {
  PieceForms forms;
  for (std::uint32_t c = 0; c < 2; ++c) {
    for (const OperandForm form : {OperandForm::kF32, OperandForm::kBF16, OperandForm::kI8}) {
      forms.form.push_back(form);
      forms.in_f32.push_back(3 * c);
      forms.contraction.push_back({c, 7});
    }
  }
  forms.form.push_back(OperandForm::kF32);
  forms.in_f32.push_back(6);
  forms.contraction.push_back(kNoContraction);
  return forms;
}

TEST(PriceForms, TakesTheFactorOfTheSameContractionThenOfTheForm) {
  const PieceForms forms = two_contractions();
  // Nothing of the forms is measured.
  std::vector<double> prices{4, 99, 99, 8, 99, 99, 1};
  price_forms(forms, {true, false, false, true, false, false, true}, prices);
  EXPECT_EQ(prices, (std::vector<double>{4, 2, 1, 8, 4, 2, 1}));
  // The first contraction takes 3 of 4 in bf16; nothing is known of int8.
  prices = {4, 3, 99, 8, 99, 99, 1};
  price_forms(forms, {true, true, false, true, false, false, true}, prices);
  EXPECT_EQ(prices, (std::vector<double>{4, 3, 1, 8, 6, 2, 1}));
  // What is measured stays.
  prices = {4, 3, 2, 8, 7, 99, 1};
  price_forms(forms, {true, true, true, true, true, false, true}, prices);
  EXPECT_EQ(prices, (std::vector<double>{4, 3, 2, 8, 7, 4, 1}));
  // A price in f32 that is itself an estimate is no base for a factor of others.
  prices = {4, 1, 99, 8, 99, 99, 1};
  price_forms(forms, {false, true, false, true, false, false, true}, prices);
  EXPECT_EQ(prices, (std::vector<double>{4, 1, 1, 8, 4, 2, 1}));
}

TEST(PriceForms, OfOneContractionTakesItsLeastFactor) {
  // Three pieces of one contraction: alone, and with two epilogues.
  PieceForms forms;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const OperandForm form : {OperandForm::kF32, OperandForm::kI8}) {
      forms.form.push_back(form);
      forms.in_f32.push_back(2 * i);
      forms.contraction.push_back({1, 2});
    }
  }
  std::vector<double> prices{10, 5, 10, 2, 20, 99};
  price_forms(forms, {true, true, true, true, true, false}, prices);
  EXPECT_DOUBLE_EQ(prices.back(), 4);
}

}  // namespace
}  // namespace egret::driver
