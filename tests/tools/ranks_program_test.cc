// SPDX-License-Identifier: Apache-2.0
// Programs of several ranks under mpirun: pipelines, and the measurement of links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "parallel/machine/cluster.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

bool has_mpi() {
  return std::system("mpirun --version > /dev/null 2>&1") == 0 &&
         run_program("doctor --json").out.find("MPI") != std::string::npos;
}

// Under a leak sanitizer, ranks are not asked for leaks (verb_plan_test.cc says why).
// WITHIN: options of mpirun, then a command around each rank.
ProgramRun on_ranks(int ranks, const std::string& words, const std::string& variables = "",
                    const std::string& within = "") {
  return run_program(words, variables +
                                " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                                "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" mpirun "
                                "--oversubscribe --timeout 120 -n " +
                                std::to_string(ranks) + within);
}

class RanksProgram : public FolderTest {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "without MPI";
    ir::GraphBuilder b;
    base::Random random(1);
    ir::Value x = b.input("x", {ir::DType::kF32, {8, 48}});
    for (int i = 0; i < 5; ++i) {
      ir::Tensor weight = ir::Tensor::random({ir::DType::kF32, {48, 48}}, random);
      for (std::int64_t k = 0; k < weight.elements(); ++k)
        weight.set_f64(k, 0.2 * weight.f64_at(k));
      const ir::Value w = b.constant(std::move(weight), "w" + std::to_string(i));
      x = b.add("add", {x, b.add("tanh", {b.add("matmul", {x, w})})});
    }
    b.output("y", x);
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("model.onnx"), model->bytes).ok());
  }

  std::string train(const std::string& words) const {
    return "train-step " + path("model.onnx") + " --loss mse --steps 4 --check --json " + words;
  }
  // A step of this model as a plan for two ranks.
  std::string plan() const {
    const ProgramRun run =
        run_program("plan " + path("model.onnx") +
                    " --train --loss mse --optimizer momentum --mesh x=2 --strategy data -o " +
                    path("plan.json"));
    EXPECT_EQ(run.code, 0) << run.err;
    return path("plan.json");
  }
  // The losses in a file of --curve, whose lines are whole.
  std::vector<double> curve(const std::string& name) const {
    const std::string text = base::read_file(path(name), 1 << 24).value_or("");
    EXPECT_TRUE(text.starts_with("step,loss,seconds\n")) << text.substr(0, 200);
    EXPECT_TRUE(text.ends_with("\n"));
    std::vector<double> losses;
    std::istringstream lines(text.substr(text.find('\n') + 1));
    for (std::string line; std::getline(lines, line);) {
      std::size_t step = 0;
      double loss = 0, seconds = 0;
      EXPECT_EQ(std::sscanf(line.c_str(), "%zu,%lf,%lf", &step, &loss, &seconds), 3) << line;
      EXPECT_EQ(step, losses.size());
      EXPECT_GT(seconds, 0);
      losses.push_back(loss);
    }
    return losses;
  }
};

TEST_F(RanksProgram, TrainsOnPipelines) {
  struct Case {
    int ranks;
    const char* words;
  };
  for (const auto& [ranks, words] :
       {Case{2, "--pipeline-stages 2 --micro-batches 4 --optimizer adam"},
        Case{3, "--pipeline-stages 3 --micro-batches 4 --schedule zb-h1"},
        Case{2, "--pipeline-stages 4 --stages-per-rank 2 --micro-batches 4 --no-overlap"},
        Case{4, "--pipeline-stages 2 --micro-batches 2 --replicas 2 --schedule gpipe"},
        Case{3, "--pipeline-stages 3 --micro-batches 4 --stage-layers 1,3,1"},
        Case{4, "--pipeline-stages 4 --micro-batches 8 --schedule dualpipe"}}) {
    const ProgramRun run = on_ranks(ranks, train(std::string(words) + " --predict"));
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 0) << words << "\n" << run.err;
    const base::Json json = base::Json::parse(run.out).value();
    EXPECT_TRUE(*json.find("passed")->as_bool());
    EXPECT_EQ(json.find("losses")->items().size(), 4U);
    EXPECT_GT(*json.find("median_s")->as_real(), 0);
    EXPECT_GT(*json.find("predicted_s")->as_real(), 0);
    EXPECT_EQ(*json.find("overlap")->as_bool(),
              std::string(words).find("--no-overlap") == std::string::npos);
    EXPECT_EQ(*json.find("mpi_threads")->as_string(), "serialized");
    // Without mpirun, threads do the same, bit by bit.
    const ProgramRun threads = run_program(train(words));
    ASSERT_EQ(threads.code, 0) << threads.err;
    const base::Json without = base::Json::parse(threads.out).value();
    EXPECT_EQ(*without.find("left")->as_string(), *json.find("left")->as_string());
    EXPECT_EQ(without.find("predicted_s"), nullptr) << "nobody asked for it";
  }
}

// Stages that ranks share: tensor parallelism beside the pipeline, and replicas of both.
TEST_F(RanksProgram, TrainsOnPipelinesWhoseStagesRanksShare) {
  struct Case {
    int ranks;
    const char* words;
  };
  for (const auto& [ranks, words] :
       {Case{4, "--pipeline-stages 2 --stage-ranks 2 --micro-batches 4 --optimizer adam"},
        Case{3, "--pipeline-stages 2 --stage-ranks 1,2 --micro-batches 2 --schedule zb-h1"},
        Case{8, "--pipeline-stages 2 --stage-ranks 2 --replicas 2 --micro-batches 2"}}) {
    const ProgramRun run = on_ranks(ranks, train(std::string(words) + " --predict"));
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 0) << words << "\n" << run.err;
    const base::Json json = base::Json::parse(run.out).value();
    EXPECT_TRUE(*json.find("passed")->as_bool());
    EXPECT_GT(*json.find("predicted_s")->as_real(), 0);
    const ProgramRun threads = run_program(train(words));
    ASSERT_EQ(threads.code, 0) << threads.err;
    const base::Json without = base::Json::parse(threads.out).value();
    EXPECT_EQ(*without.find("left")->as_string(), *json.find("left")->as_string());
  }
}

TEST_F(RanksProgram, RefusesStagesThatRanksCannotShare) {
  const auto message = [&](const std::string& words, int code) {
    const ProgramRun run = run_program(train("--pipeline-stages 2 " + words));
    EXPECT_EQ(run.code, code) << words;
    return run.err;
  };
  EXPECT_THAT(message("--stage-ranks 1,2,1", 2), HasSubstr("one for each of the 2 ranks"));
  EXPECT_THAT(message("--stage-ranks 1x2", 2), HasSubstr("--stage-ranks needs a number"));
  EXPECT_THAT(message("--stage-strategy data", 2), HasSubstr("needs --stage-ranks above 1"));
  EXPECT_THAT(message("--stage-machine nowhere --stage-ranks 2", 2), HasSubstr("nowhere"));
  // Matrices of 48 rows and columns.
  EXPECT_THAT(message("--stage-ranks 5", 3), HasSubstr("stage 0"));
}

// A rank that is killed ends the others, with its name.
TEST_F(RanksProgram, EndsAGroupWhoseRankDies) {
  const ProgramRun run = on_ranks(
      4,
      "train-step " + path("model.onnx") +
          " --loss mse --steps 1000000 --pipeline-stages 2 --stage-ranks 2 --micro-batches 4",
      "",
      " sh -c 'if [ $OMPI_COMM_WORLD_RANK = 3 ]; then exec timeout -s KILL 3 \"$0\" \"$@\"; "
      "else exec \"$0\" \"$@\"; fi'");
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("rank 3"));
}

// A runtime that grants no second thread: executor and simulator wait, and results are the same.
TEST_F(RanksProgram, WaitForMessagesWhereMpiHasNoThreads) {
  const std::string words = "--pipeline-stages 2 --micro-batches 4 --replicas 1 --predict";
  const ProgramRun run = on_ranks(2, train(words), "EGRET_MPI_THREADS=single");
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  const base::Json single = base::Json::parse(run.out).value();
  EXPECT_EQ(*single.find("mpi_threads")->as_string(), "single");
  EXPECT_FALSE(*single.find("overlap")->as_bool());
  EXPECT_GT(*single.find("predicted_s")->as_real(), 0);
  const ProgramRun usual = on_ranks(2, train(words));
  ASSERT_EQ(usual.code, 0) << usual.err;
  const base::Json serialized = base::Json::parse(usual.out).value();
  EXPECT_TRUE(*serialized.find("overlap")->as_bool());
  EXPECT_EQ(*serialized.find("left")->as_string(), *single.find("left")->as_string());
  const ProgramRun wrong = on_ranks(2, train(words), "EGRET_MPI_THREADS=2");
  EXPECT_NE(wrong.code, 0);
  EXPECT_THAT(wrong.err, HasSubstr("EGRET_MPI_THREADS is single, funneled"));
}

TEST_F(RanksProgram, PredictsStepsOfPlans) {
  const std::string words = "train-step " + plan() + " --steps 3 --check --json";
  const ProgramRun run = on_ranks(2, words + " --predict");
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  const base::Json json = base::Json::parse(run.out).value();
  EXPECT_TRUE(*json.find("passed")->as_bool());
  const double compute = *json.find("predicted_compute_s")->as_real();
  const double exchange = *json.find("predicted_exchange_s")->as_real();
  EXPECT_GT(compute, 0);
  EXPECT_GT(exchange, 0) << "gradients are summed";
  EXPECT_DOUBLE_EQ(*json.find("predicted_s")->as_real(), compute + exchange);
  EXPECT_EQ(run_program(words + " --predict").code, 4) << "ranks of one process take turns";
  EXPECT_EQ(run_program(train("--predict")).code, 2);
}

TEST_F(RanksProgram, RefusesAnotherNumberOfRanks) {
  const ProgramRun run = on_ranks(3, train("--pipeline-stages 2 --micro-batches 2"));
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.code, 8) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the pipeline is for 2 ranks, but mpirun started 3"));
}

TEST_F(RanksProgram, RefusesOptionsThatPipelinesDoNotTake) {
  const auto message = [&](const std::string& words) {
    const ProgramRun run = run_program(train(words));
    EXPECT_EQ(run.code, 2) << words;
    return run.err;
  };
  for (const char* option :
       {"--micro-batches 2", "--replicas 2", "--schedule gpipe", "--stages-per-rank 2",
        "--stage-layers 1,2", "--stage-ranks 2", "--no-overlap"})
    EXPECT_THAT(message(option), HasSubstr("needs --pipeline-stages")) << option;
  for (const char* option : {"--without fusion", "--exchange mpi", "--limit-arena 1KiB"}) {
    EXPECT_THAT(message(std::string("--pipeline-stages 2 ") + option),
                HasSubstr("cannot be combined with --pipeline-stages"))
        << option;
  }
  for (const char* layers : {"3;2", "3,", ",3", "a,b"}) {
    EXPECT_THAT(message("--pipeline-stages 2 --stage-layers '" + std::string(layers) + "'"),
                HasSubstr("needs numbers between commas"))
        << layers;
  }
  EXPECT_THAT(message("--pipeline-stages 2 --stage-layers 2,2"), HasSubstr("5 equal layers"));
  EXPECT_THAT(message("--pipeline-stages 4 --stages-per-rank 2 --micro-batches 1"),
              HasSubstr("a multiple of the ranks of the pipeline"));
  EXPECT_THAT(message("--pipeline-stages 3 --micro-batches 8 --schedule dualpipe"),
              HasSubstr("even numbers of ranks and micro-batches"));
}

// The curve until then is the answer.
TEST_F(RanksProgram, EndsAPipelineOnRequest) {
  const std::string words = "train-step " + path("model.onnx") +
                            " --loss mse --steps 1000000 --json --pipeline-stages 2 "
                            "--micro-batches 4";
  const std::string of_plan = "train-step " + plan() + " --steps 1000000 --json";
  const std::string interrupted = " timeout --preserve-status -s INT 3";
  // The signal reaches the ranks at different times.
  for (const ProgramRun& run :
       {run_program(words, interrupted), on_ranks(2, words, "", interrupted),
        on_ranks(2, of_plan, "", interrupted)}) {
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    EXPECT_EQ(run.code, 130) << run.err;
    const auto json = base::Json::parse(run.out);
    ASSERT_TRUE(json.ok()) << run.out << run.err;
    EXPECT_GT(json->find("losses")->items().size(), 0U);
    EXPECT_NE(json->find("left"), nullptr);
  }
}

// mpirun asks its ranks to end, may discard what they print from then on, and kills them after a
// second. The curve is in its file, and no rank stays.
TEST_F(RanksProgram, KeepsTheCurveWhenMpirunIsInterrupted) {
  const std::string file = path("curve.csv"), process = path("mpirun.pid");
  const auto text = [](const std::string& name) {
    return base::read_file(name, 1 << 24).value_or("");
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const std::string& words :
         {"train-step " + path("model.onnx") + " --loss mse --pipeline-stages 2 --micro-batches 4",
          "train-step " + plan()}) {
      std::filesystem::remove(file);
      ProgramRun run;
      std::atomic<bool> ended = false;
      std::thread runner([&] {
        run = on_ranks(2, words + " --steps 1000000 --json --curve " + file, "",
                       " --report-pid " + process);
        ended = true;
      });
      // Some steps, however slow they are on a busy machine; mpirun gives up after two minutes.
      while (!ended && std::ranges::count(text(file), '\n') < 4)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const base::Stopwatch watch;
      if (!ended) ::kill(std::atoi(text(process).c_str()), signal);
      runner.join();
      if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
      EXPECT_NE(run.code, 0);
      EXPECT_LT(watch.seconds(), 15) << "a second on an idle machine";
      const std::vector<double> losses = curve("curve.csv");
      ASSERT_GT(losses.size(), 2U) << run.err;
      EXPECT_LT(losses.back(), losses.front());
      // Nobody writes any more.
      const std::string before = text(file);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_EQ(text(file), before);
    }
  }
}

TEST_F(RanksProgram, WritesTheCurveWhileItTrains) {
  const ProgramRun run = run_program(train("--curve " + path("whole.csv")));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<double> losses = curve("whole.csv");
  const base::Json json = base::Json::parse(run.out).value();
  ASSERT_EQ(losses.size(), json.find("losses")->items().size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_EQ(losses[i], *json.find("losses")->items()[i].as_real());
  EXPECT_EQ(run_program(train("--curve -")).code, 2);
  EXPECT_EQ(run_program(train("--curve " + path("model.onnx"))).code, 2);
}

TEST_F(RanksProgram, TrainsOneOfSeveralOutputsOnAPipeline) {
  ir::GraphBuilder b;
  base::Random random(2);
  const auto weight = [&](const char* name) {
    return b.constant(ir::Tensor::random({ir::DType::kF32, {48, 48}}, random), name);
  };
  const ir::Value x = b.input("x", {ir::DType::kF32, {8, 48}});
  b.output("other", b.add("matmul", {x, weight("other_w")}));
  b.output("y",
           b.add("matmul", {b.add("tanh", {b.add("matmul", {x, weight("w0")})}), weight("w1")}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("model.onnx"), model->bytes).ok());
  const ProgramRun run =
      run_program(train("--loss-of y --optimizer momentum --pipeline-stages 2 --micro-batches 2"));
  EXPECT_EQ(run.code, 0) << run.err;
  // The step without a pipeline has the same losses.
  const ProgramRun whole = run_program(train("--loss-of y --optimizer momentum"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const auto losses = [](const ProgramRun& of) {
    const auto report = base::Json::parse(of.out);
    std::vector<double> values;
    for (const base::Json& loss : report->find("losses")->items())
      values.push_back(*loss.as_real());
    return values;
  };
  const auto found = losses(run), expected = losses(whole);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5 * expected[i]);
}

TEST_F(RanksProgram, MeasuresLinks) {
  const std::string database = path("costs.sqlite"), machine = path("machine.toml");
  const ProgramRun run =
      on_ranks(4, "costs profile --collectives --ranks-per-host 2 --largest 64KiB --json -o " +
                      machine + " --cost-db " + database);
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  const base::Json json = base::Json::parse(run.out).value();
  EXPECT_EQ(json.find("samples")->items().size(), 2U * 4 * 5) << "tiers, sizes, collectives";
  const auto cluster = parallel::parse_cluster(base::read_file(machine, 1 << 20).value(), machine);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(to_string(cluster->mesh), "hosts=2,ranks=2");
  for (const parallel::Link& link : cluster->links) {
    EXPECT_GT(link.latency_s, 1e-8);
    EXPECT_LT(link.latency_s, 1);
    EXPECT_GT(link.bytes_per_second, 1e5);
  }
  EXPECT_FALSE(cluster->overlaps) << "a rank waits in MPI's calls";
  const ProgramRun kept = run_program("plan " + path("model.onnx") + " --machine measured --json",
                                      "EGRET_COST_DB=" + database);
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("hosts"));
  const ProgramRun none = run_program("plan " + path("model.onnx") + " --machine measured",
                                      "EGRET_COST_DB=" + path("other.sqlite"));
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("costs profile --collectives"));
}

TEST_F(RanksProgram, NeedsRanksToMeasureLinks) {
  const ProgramRun run = run_program("costs profile --collectives");
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("at least two ranks"));
  EXPECT_EQ(run_program("costs profile").code, 2);
  const ProgramRun of_model =
      run_program("costs profile " + path("model.onnx") + " --largest 1MiB");
  EXPECT_EQ(of_model.code, 2);
  EXPECT_THAT(of_model.err, HasSubstr("--largest needs --collectives"));
  const ProgramRun of_links = run_program("costs profile --collectives --limit-nodes 5");
  EXPECT_EQ(of_links.code, 2);
  EXPECT_THAT(of_links.err, HasSubstr("--limit-nodes needs MODEL"));
}

}  // namespace
}  // namespace egret::tools
