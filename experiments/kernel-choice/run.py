# SPDX-License-Identifier: Apache-2.0
"""Graphs chosen by their operators against graphs chosen with their kernels: what is predicted, what is measured, and
how near to the optimum the choice is proven to be."""
import pathlib
import statistics
import sys

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "original_ms", "operators_predicted_ms", "operators_measured_ms", "kernels_predicted_ms",
           "kernels_measured_ms", "original_by_operators_ms", "original_by_kernels_ms", "chosen", "gain", "gap",
           "operators_s", "kernels_s"]


def optimize(path, sizes, folder, config, kernels_from):
    return egret.call("optimize", path, "-o", folder / "optimized.onnx", "--threads", config["threads"],
                      "--kernels-from", kernels_from, *models.bind_flags(sizes))


def first(answer):
    """What extraction took for the best graph: predicted and measured time."""
    candidate = answer["candidates"][0]
    return candidate["predicted_s"], candidate["measured_s"]


def row_of(path, sizes, folder, config):
    by_operators = optimize(path, sizes, folder, config, "backend")
    by_kernels = optimize(path, sizes, folder, config, "egraph")
    predicted, measured = first(by_operators)
    kernels_predicted, kernels_measured = first(by_kernels)
    milliseconds = {"original_ms": by_kernels["measured_before_s"], "operators_predicted_ms": predicted,
                    "operators_measured_ms": measured, "kernels_predicted_ms": kernels_predicted,
                    "kernels_measured_ms": kernels_measured,
                    "original_by_operators_ms": by_operators["predicted_before_s"],
                    "original_by_kernels_ms": by_kernels["predicted_before_s"]}
    return {**{name: f"{1e3 * seconds:.3f}" for name, seconds in milliseconds.items()},
            "chosen": by_kernels["chosen"], "gain": f"{by_kernels['measured_gain']:.3f}",
            "gap": f"{by_kernels['extraction']['gap']:.4f}",
            "operators_s": f"{by_operators['seconds']:.1f}", "kernels_s": f"{by_kernels['seconds']:.1f}"}


def error(row, predicted, measured):
    return abs(float(row[predicted]) - float(row[measured])) / float(row[measured])


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("kernel-choice", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"egret": egret.version(), "threads": config["threads"]})
    for name, path, sizes, folder in models.without_row(table, config):
        table.add(model=name, **row_of(path, sizes, folder, config))
    table.finish()
    table.print()
    by_kernels = [error(row, "kernels_predicted_ms", "kernels_measured_ms") for row in table.rows]
    return results.judge(HERE / "expected.json", mode, {
        "median_error_by_operators": statistics.median(
            error(row, "operators_predicted_ms", "operators_measured_ms") for row in table.rows),
        "median_error_by_kernels": statistics.median(by_kernels),
        "largest_error_by_kernels": max(by_kernels),
        "largest_gap": max(float(row["gap"]) for row in table.rows),
        "least_gain": min(float(row["gain"]) for row in table.rows)})


if __name__ == "__main__":
    sys.exit(main())
