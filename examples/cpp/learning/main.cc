// Learns the product of two numbers, from examples that it makes, with the class that make_step.py
// writes: parameters and what the optimizer remembers are variables of the class.

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "step.h"  // generated

// Numbers between -1 and 1.
static std::uint32_t seed = 1;
static float Random() {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
}

// Random weights, so small that sums of `fan_in` products stay near 1.
static void Initialize(float* weights, std::size_t count, std::size_t fan_in) {
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = Random() * std::sqrt(3.0f / static_cast<float>(fan_in));
  }
}

int main() {
  Step step;
  Initialize(step.var_params_0_w_data(), step.var_params_0_w_count(), 2);
  Initialize(step.var_params_1_w_data(), step.var_params_1_w_count(), 16);
  Initialize(step.var_params_2_w_data(), step.var_params_2_w_count(), 16);
  float loss = 0;
  for (int number = 0; number < 3000; ++number) {
    for (std::size_t i = 0; i < 64; ++i) {
      step.arg_x(i, 0) = Random();
      step.arg_x(i, 1) = Random();
      step.arg_y(i) = step.arg_x(i, 0) * step.arg_x(i, 1);
    }
    if (!step.Run()) {
      std::printf("%s\n", step.error_msg());
      return 1;
    }
    loss = number == 0 ? step.result0() : 0.9f * loss + 0.1f * step.result0();
    if (number % 1000 == 0) std::printf("step %d: loss %.4f\n", number, static_cast<double>(loss));
  }
  std::printf("%s\n", loss < 0.001f ? "learned" : "not learned");
  return 0;
}
