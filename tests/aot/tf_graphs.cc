// Calls every class that test_configured_graphs.py makes, and prints which of them are right.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "control_flow_of_an_older_graph.h"
#include "tfadd.h"
#include "tfadd_with_ckpt.h"
#include "tfassert_eq.h"
#include "tfcond.h"
#include "tffunction.h"
#include "tfgather.h"
#include "tfmatmul.h"
#include "tfmatmul_with_constant.h"
#include "tfmatmulandadd.h"
#include "tfmatmulandadd_with_profiling.h"
#include "tfrandom_uniform.h"
#include "tfscatter.h"
#include "tfsplits.h"
#include "tftop_k.h"
#include "tfunknownop.h"
#include "tfvariable.h"
#include "tfvariable_readonly.h"
#include "tfvariable_sequential_updates.h"
#include "variable_of_an_older_graph.h"

#define EXPECT(condition) \
  if (!(condition)) return #condition

static const char* Add() {
  AddComp add;
  EXPECT(add.arg_data(0) == add.arg0_data() && add.result_data(0) == add.results()[0]);
  add.arg0() = 1;
  add.arg1() = 2;
  EXPECT(add.Run() && add.error_msg()[0] == '\0');
  EXPECT(add.result0() == 3 && add.result0_data()[0] == 3);
  add.arg0_data()[0] = 123;
  add.arg1_data()[0] = 456;
  EXPECT(add.Run() && add.result0() == 579);
  const AddComp& constant = add;
  EXPECT(constant.arg0() == 123 && constant.result0_data() == add.results()[0]);
  EXPECT(!AddComp::HasNameIndices() && AddComp::ProgramShape() == nullptr);
  EXPECT(AddComp::LookupArgIndex("x_const") == -1);
  return nullptr;
}

static const char* AddOfTheCallersNumbers() {
  AddComp add(AddComp::AllocMode::RESULTS_PROFILES_AND_TEMPS_ONLY);
  EXPECT(add.arg0_data() == nullptr && !add.Run());
  std::int32_t x = 10, y = 32;  // four bytes are aligned to four
  add.set_arg0_data(&x);
  add.set_arg_data(1, &y);
  EXPECT(add.arg0_data() == &x && add.arg0() == 10 && add.arg_data(1) == &y);
  EXPECT(add.Run() && add.result0() == 42);
  x = 100;
  EXPECT(add.Run() && add.result0() == 132);
  return nullptr;
}

static const char* AddWithCheckpoint() {
  AddWithCkptComp add;
  add.arg0() = 1;
  EXPECT(add.Run() && add.result0(0) == 43);
  add.arg0() = 111;
  EXPECT(add.Run() && add.result0(0) == 153);
  return nullptr;
}

static const char* AssertEq() {
  AssertComp difference;
  difference.arg0() = 2;
  difference.arg1() = 1;
  EXPECT(difference.Run() && difference.result0() == 1);
  return nullptr;
}

static const char* Cond() {
  CondComp cond;
  cond.arg1() = 10;
  cond.arg2() = 20;
  cond.arg0() = true;
  EXPECT(cond.Run() && cond.result0() == 10);
  cond.arg0() = false;
  EXPECT(cond.Run() && cond.result0() == 20);
  return nullptr;
}

static const char* Frames() {
  FramesComp frames;
  frames.arg0() = true;
  frames.arg_x() = 10;
  frames.arg_y() = 20;
  EXPECT(frames.Run() && frames.result0() == 10 && frames.result1() == 70);
  frames.arg0() = false;
  frames.arg3() = 99;  // is needed by nothing
  EXPECT(frames.Run() && frames.result0() == 20 && frames.result1() == 70);
  return nullptr;
}

static const char* Function() {
  FunctionComp add;
  add.arg0() = 1;
  add.arg1() = 2;
  EXPECT(add.Run() && add.result0() == 3);
  return nullptr;
}

static const char* Gather() {
  GatherComp gather;
  const float params[4] = {1, 2, 3, 4};
  std::copy(params, params + 4, gather.arg0_data());
  gather.arg1(0) = 1;
  gather.arg1(1) = 3;
  EXPECT(gather.Run() && gather.result0(0) == 2 && gather.result0(1) == 4);
  return nullptr;
}

static const char* MatMul() {
  foo::bar::MatMulComp matmul;
  int pool = 0;  // any address: the object is for one thread
  matmul.set_thread_pool(&pool);
  for (int scale = 1; scale <= 10; scale *= 10) {
    for (std::size_t i = 0; i < 6; ++i) {
      matmul.arg0_data()[i] = static_cast<float>(static_cast<int>(i + 1) * scale);
      matmul.arg1_data()[i] = static_cast<float>(static_cast<int>(i + 7) * scale);
    }
    const float square = static_cast<float>(scale * scale);
    EXPECT(matmul.Run());
    EXPECT(matmul.result0(0, 0) == 58 * square && matmul.result0(0, 1) == 64 * square);
    EXPECT(matmul.result0(1, 0) == 139 * square && matmul.result0(1, 1) == 154 * square);
  }
  const std::size_t& by_reference = std::max(foo::bar::MatMulComp::kNumArgs, std::size_t(1));
  EXPECT(by_reference == 2);
  return nullptr;
}

template <class MatMulAndAdd>
static const char* Products(MatMulAndAdd* both) {
  for (std::size_t i = 0; i < 4; ++i) {
    both->arg0_data()[i] = static_cast<float>(i + 1);
    both->arg1_data()[i] = static_cast<float>(i + 5);
  }
  const float products[4] = {19, 22, 43, 50}, sums[4] = {6, 8, 10, 12};
  EXPECT(both->Run());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT(both->result0_data()[i] == products[i] && both->result1_data()[i] == sums[i]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    both->arg_x_data()[i] = static_cast<float>(10 * (i + 1));
    both->arg_y_data()[i] = static_cast<float>(10 * (i + 5));
  }
  EXPECT(both->Run());
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT(both->result_x_y_prod_data()[i] == 100 * products[i]);
    EXPECT(both->result_x_y_sum(i / 2, i % 2) == 10 * sums[i]);
  }
  EXPECT(both->arg_x_data() == both->args()[0] && both->result_x_y_sum_data() == both->results()[1]);
  return nullptr;
}

static const char* MatMulAndAdd() {
  foo::bar::MatMulAndAddComp both;
  return Products(&both);
}

static const char* Profiling() {
  MatMulAndAddCompWithProfiling both;
  EXPECT(MatMulAndAddCompWithProfiling::hlo_profiling_enabled());
  const char* wrong = Products(&both);
  if (wrong != nullptr) return wrong;
  EXPECT(both.num_profile_counters() == 2);
  for (std::size_t i = 0; i < 2; ++i) {  // of the last run, so that they do not grow
    EXPECT(both.profile_counters()[i] >= 0 && both.profile_counters()[i] < 1000000000);
  }
  std::FILE* file = std::tmpfile();
  both.PrintHloProfile(file);
  std::rewind(file);
  std::string text(4096, ' ');
  text.resize(std::fread(&text[0], 1, text.size(), file));
  std::fclose(file);
  EXPECT(text.find("Execution profile for MatMulAndAddCompWithProfiling") == 0);
  EXPECT(text.find("[total]") != std::string::npos);
  EXPECT(text.find(" = f32[2,2]{1,0} dot(%x, %y)") != std::string::npos);
  EXPECT(text.find(" = f32[2,2]{1,0} add(%x, %y)") != std::string::npos);
  return nullptr;
}

static const char* Lookups() {
  typedef foo::bar::MatMulAndAddComp Both;
  EXPECT(Both::HasNameIndices());
  EXPECT(Both::LookupArgIndex("x") == 0 && Both::LookupArgIndex(std::string("y")) == 1);
  EXPECT(Both::LookupResultIndex("x_y_prod") == 0 && Both::LookupResultIndex("x_y_sum") == 1);
  EXPECT(Both::LookupArgIndex("") == -1 && Both::LookupArgIndex("x_hold") == -1);
  EXPECT(Both::LookupResultIndex("x_y") == -1 && Both::LookupVariableIndex("x") == -1);
  EXPECT(std::strcmp(Both::GetArgName(1), "y") == 0);
  EXPECT(std::strcmp(Both::GetResultName(0), "x_y_prod") == 0);
  const Both::ProgramShapeData* shape = Both::ProgramShape();
  EXPECT(shape != nullptr && shape->num_parameters == 2 && shape->num_results == 2);
  EXPECT(std::strcmp(shape->parameters[1].element_type, "f32") == 0);
  EXPECT(shape->parameters[0].rank == 2 && shape->parameters[1].dimensions[1] == 2);
  EXPECT(shape->results[1].rank == 2 && shape->results[1].dimensions[0] == 2);
  EXPECT(Both::StaticData().num_args == 2 && Both::StaticData().arg_sizes[1] == 16);
  EXPECT(std::strcmp(Both::StaticData().class_name, "foo::bar::MatMulAndAddComp") == 0);
  EXPECT(Both().arg_size(0) == 16 && Both().num_results() == 2 && Both::ResultSize(1) == 16);
  return nullptr;
}

static const char* MatMulWithConstant() {
  MatMulConstantComp matmul;
  for (std::size_t i = 0; i < 6; ++i) matmul.arg0_data()[i] = static_cast<float>(i + 1);
  EXPECT(matmul.Run());
  EXPECT(matmul.result0(0, 1) == 1 + 2 * 1001 + 3 * 2001);
  EXPECT(matmul.result0(1, 999) == 4 * 999 + 5 * 1999 + 6 * 2999);
  return nullptr;
}

static const char* Splits() {
  SplitsComp splits;
  for (std::size_t i = 0; i < 4; ++i) {
    splits.arg0_data()[i] = static_cast<float>(i + 1);
    splits.arg1_data()[i] = static_cast<float>(10 * (i + 1));
  }
  EXPECT(splits.Run());
  const double expected[4] = {7.86375557e10, 1.34274679e11, 1.92741717e12, 3.29964742e12};
  for (std::size_t i = 0; i < 4; ++i) {
    const double got = static_cast<double>(splits.result0_data()[i]);
    EXPECT(std::fabs(got - expected[i]) <= std::max(1e4, 2e-7 * expected[i]));
  }
  return nullptr;
}

static const char* TopK() {
  TopKComp top;
  const std::int32_t x[5] = {4, 1, 4, 4, 3};
  std::copy(x, x + 5, top.arg0_data());
  EXPECT(top.Run() && top.result0(0) == 4 && top.result0(1) == 4);
  EXPECT(top.result1(0) == 0 && top.result1(1) == 2);
  return nullptr;
}

static const char* VariableReadonly() {
  VariableReadonlyComp read;
  float x = 23;
  read.set_var_x_data(&x);
  EXPECT(read.Run() && read.result0() == 65 && read.var_x() == 23);
  static_assert(std::is_same<decltype(read.var_x_data()), const float*>::value, "read only");
  EXPECT(VariableReadonlyComp::kNumVariables == 1 && VariableReadonlyComp::kNumResults == 1);
  return nullptr;
}

static const char* Variable() {
  VariableComp variable;
  float x = 23;
  variable.set_var_x_data(&x);
  EXPECT(variable.Run() && variable.result0(0, 0) == 23 && variable.result0(1, 0) == 65);
  EXPECT(variable.var_x() == 65 && variable.var_x_data() == &x && x == 65);
  EXPECT(variable.Run() && variable.result0(0, 0) == 65 && variable.result0(1, 0) == 107);
  EXPECT(variable.var_x() == 107 && VariableComp::kNumResults == 2);
  VariableComp own;
  EXPECT(own.Run() && own.Run() && own.var_x() == 84 && own.result0(0, 0) == 42);
  return nullptr;
}

static const char* SequentialUpdates() {
  VariableSequentialUpdatesComp updates;
  float y = 1;
  updates.set_var_y_data(&y);
  updates.var_x() = 2;
  EXPECT(updates.Run() && std::fabs(updates.var_x() - 1.187f) < 1e-6f);
  EXPECT(updates.Run() && std::fabs(updates.var_x() - 0.594322f) < 1e-6f);
  EXPECT(updates.result0() == updates.var_x());
  return nullptr;
}

static const char* SequentialUpdatesOfTheCallersNumbers() {
  typedef VariableSequentialUpdatesComp Updates;
  Updates updates(Updates::AllocMode::RESULTS_PROFILES_AND_TEMPS_ONLY);
  EXPECT(!updates.Run() && std::strstr(updates.error_msg(), "set_var_x_data()") != nullptr);
  float x = 2, y = 1;
  updates.set_var_x_data(&x);
  updates.set_var_y_data(&y);
  EXPECT(updates.Run() && std::fabs(x - 1.187f) < 1e-6f);
  EXPECT(updates.Run() && std::fabs(x - 0.594322f) < 1e-6f && y == 1);
  return nullptr;
}

static const char* Reference() {
  ReferenceComp counter;
  counter.var_n(1) = 5;
  EXPECT(counter.Run() && counter.result0(1) == 5 && counter.result1(1) == 12);
  EXPECT(counter.Run() && counter.result0(0) == 2 && counter.var_n(0) == 6);
  return nullptr;
}

static const char* Random() {
  RandomComp random, other(RandomComp::AllocMode::RESULTS_AND_TEMPS_ONLY);
  float first[4];
  EXPECT(random.Run() && other.Run());
  for (std::size_t i = 0; i < 4; ++i) {
    first[i] = random.result0(i);
    EXPECT(first[i] >= 0 && first[i] < 1 && other.result0(i) == first[i]);
  }
  EXPECT(random.Run() && !std::equal(first, first + 4, random.result0_data()));
  random.var_runs() = 0;
  EXPECT(random.Run() && std::equal(first, first + 4, random.result0_data()));
  return nullptr;
}

static const char* Scatter() {
  ScatterComp scatter;
  for (std::size_t i = 0; i < 3; ++i) scatter.arg0(i) = static_cast<float>(i + 1);
  EXPECT(scatter.Run() && scatter.result0(0) == 1 && scatter.result0(1) == 0);
  EXPECT(scatter.result0(2) == 2 && scatter.result0(4) == 3);
  return nullptr;
}

static const char* UnknownOp() {
  UnknownOpComp negate;
  negate.arg0(1) = 3;
  EXPECT(negate.Run() && negate.result0(1) == -3);
  return nullptr;
}

int main() {
  const struct {
    const char* name;
    const char* (*test)();
  } tests[] = {
      {"tfadd", Add},
      {"tfadd_no_alloc", AddOfTheCallersNumbers},
      {"tfadd_with_ckpt", AddWithCheckpoint},
      {"tfassert_eq", AssertEq},
      {"tfcond", Cond},
      {"control_flow_of_an_older_graph", Frames},
      {"tffunction", Function},
      {"tfgather", Gather},
      {"tfmatmul", MatMul},
      {"tfmatmulandadd", MatMulAndAdd},
      {"tfmatmulandadd_with_profiling", Profiling},
      {"lookups", Lookups},
      {"tfmatmul_with_constant", MatMulWithConstant},
      {"tfsplits", Splits},
      {"tftop_k", TopK},
      {"tfvariable_readonly", VariableReadonly},
      {"tfvariable", Variable},
      {"tfvariable_sequential_updates", SequentialUpdates},
      {"sequential_no_alloc", SequentialUpdatesOfTheCallersNumbers},
      {"variable_of_an_older_graph", Reference},
      {"tfrandom_uniform", Random},
      {"tfscatter", Scatter},
      {"tfunknownop", UnknownOp},
  };
  for (const auto& test : tests) {
    const char* wrong = test.test();
    std::printf("%s: %s\n", test.name, wrong == nullptr ? "ok" : wrong);
  }
  return 0;
}
