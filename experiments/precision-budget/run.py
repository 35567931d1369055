# SPDX-License-Identifier: Apache-2.0
"""Time and error of models whose kernels have less precision: chosen by the extraction under an error budget, one layer
after the other under the same budget, bf16 everywhere, int8 everywhere, and f32.

All ways get the same samples of inputs. The error is measured again on samples that no way has seen. The files of a
model are timed in turns, run by run.
"""
import pathlib
import statistics
import sys

import numpy
import onnx

from lib import egret, models, peers, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "way", "budget", "f32_kernels", "bf16_kernels", "int8_kernels", "estimated_error",
           "held_out_error", "fresh_error", "ms", "speedup", "predicted_ms", "optimize_s"]
WITHOUT_LIMIT = 1  # the budget of ways that lower everything; it does not limit them


def ways(config):
    """Name, budget and flags of each way. f32 is first: the others are compared with it."""
    yield "f32", None, ["--kernels-from", "egraph"]
    for budget in config["budgets"]:
        yield "extraction", budget, ["--error-budget", budget]
    for budget in config["layers_budgets"]:
        yield "layers", budget, ["--error-budget", budget, "--forms-from", "layers"]
    for form in ("bf16", "int8"):
        yield form, None, ["--error-budget", WITHOUT_LIMIT, "--forms-from", form]


class Samples:
    """Random inputs of a model, as files."""

    def __init__(self, path, sizes, count, folder):
        graph = onnx.load(path, load_external_data=False).graph
        weights = {value.name for value in graph.initializer}
        inputs = [(value.name,
                   [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim],
                   value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT)
                  for value in graph.input if value.name not in weights]
        self.sets = []
        for seed in range(count):
            files = {}
            for i, (name, values) in enumerate(peers.random_inputs(inputs, sizes, seed).items()):
                files[name] = folder / f"sample_{seed}_{i}.npy"
                numpy.save(files[name], values)
            self.sets.append(files)

    def flags(self, first, last):
        return [flag for files in self.sets[first:last] for name, file in files.items()
                for flag in ("--input", f"{name}={file}")]


def outputs_of(path, sample_flags, flags, folder):
    """Of one sample, in order."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.pb"):
        old.unlink()
    egret.run("run", path, "--output-folder", folder, *sample_flags, *flags)
    tensors = []
    for file in sorted(folder.glob("output_*.pb"), key=lambda name: int(name.stem.rsplit("_", 1)[1])):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        tensors.append(onnx.numpy_helper.to_array(tensor).astype(numpy.float64))
    return tensors


def relative_error(expected, got):
    """The largest of the outputs, as Egret defines it: norms over all samples. Each argument: outputs by sample."""
    largest = 0.0
    for output in range(len(expected[0])):
        difference = sum(float(((a[output] - b[output]) ** 2).sum()) for a, b in zip(expected, got))
        size = sum(float((a[output] ** 2).sum()) for a in expected)
        largest = max(largest, (difference / size) ** 0.5 if size else float(difference > 0))
    return largest


def rows_of(name, path, sizes, folder, config):
    threads = ["--threads", config["threads"]]
    bound = [*threads, *models.bind_flags(sizes)]  # of the original; results have fixed sizes
    given = config["samples"]
    samples = Samples(path, sizes, given + config["fresh_samples"], folder)
    fresh = [samples.flags(i, i + 1) for i in range(given, given + config["fresh_samples"])]
    expected = [outputs_of(path, one, bound, folder / "outputs") for one in fresh]
    rows, files = [], []
    for way, budget, how in ways(config):
        file = folder / f"{way}.{budget}.onnx"
        inputs = samples.flags(0, given) if "--error-budget" in how else []
        answer = egret.call("optimize", path, "-o", file, "--cost-db", folder / f"{name}.db", "--allow-slower",
                            "--profile-time", f"{config['profile_seconds']}s", "--measure-time", "0.1s",
                            *bound, *how, *inputs)
        precision = answer.get("precision", {})
        kernels = precision.get("kernels", {})
        got = [outputs_of(file, one, threads, folder / "outputs") for one in fresh]
        files.append(file)
        rows.append({"model": name, "way": way, "budget": budget or "",
                     **{f"{form}_kernels": kernels.get(form, "") for form in ("f32", "bf16", "int8")},
                     "estimated_error": f"{precision['error_estimated']:.3g}" if precision else "",
                     "held_out_error": f"{precision['error_measured']:.3g}" if precision else "",
                     "fresh_error": f"{relative_error(expected, got):.3g}",
                     "predicted_ms": f"{1e3 * answer['predicted_after_s']:.3f}",
                     "optimize_s": f"{answer['seconds']:.1f}"})
        print(f"  {name}, {way} {budget or ''}: {kernels}, error {rows[-1]['fresh_error']}", flush=True)
    timed = egret.call("bench", *files, "--time", f"{config['seconds']}s", *threads)["models"]
    for row, times in zip(rows, timed):
        row["ms"] = f"{1e3 * times['median_s']:.3f}"
        row["speedup"] = f"{timed[0]['median_s'] / times['median_s']:.3f}"
    for file in files:
        file.unlink()
    return rows


def speedups(rows, way, budget=""):
    return {row["model"]: float(row["speedup"]) for row in rows
            if row["way"] == way and str(row["budget"]) == str(budget)}


def values_of(rows, config):
    """What expected.json speaks of."""
    limited = [row for row in rows if row["budget"]]
    main = config["layers_budgets"][0]
    chosen, layers = speedups(rows, "extraction", main), speedups(rows, "layers", main)
    return {"largest_held_out_share": max(float(row["held_out_error"]) / float(row["budget"]) for row in limited),
            "largest_fresh_share": max(float(row["fresh_error"]) / float(row["budget"]) for row in limited),
            "least_speedup": min(chosen.values()),
            "geometric_mean_speedup": statistics.geometric_mean(chosen.values()),
            "geometric_mean_over_layers": statistics.geometric_mean(chosen[m] / layers[m] for m in chosen)}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("precision-budget", results.on_this_processor(mode), COLUMNS, ["model", "way", "budget"],
                          {"egret": egret.version(), "threads": config["threads"], "samples": config["samples"]})
    within = settings.WithinTime(config["models"])
    for model in within:
        for name, path, sizes, folder in models.without_row(table, {**config, "models": [model]}):
            for row in rows_of(name, path, sizes, folder, config):
                table.add(**row)
    if within.left:
        return 0  # the next call goes on
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, values_of(table.rows, config))


if __name__ == "__main__":
    sys.exit(main())
