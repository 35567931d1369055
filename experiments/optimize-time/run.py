# SPDX-License-Identifier: Apache-2.0
"""How long `egret optimize` takes once the database of costs knows what it asks for, by phase, and what these costs
add up to beside what is measured."""
import pathlib
import statistics
import sys

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
PHASES = ["prepare", "saturate", "extract", "profile", "measure", "check"]
COLUMNS = ["model", "operators", "e_nodes", "cold_s", "warming_runs", "seconds", *[f"{phase}_s" for phase in PHASES],
           "predicted_ms", "measured_ms", "predicted_after_ms", "measured_after_ms"]
MOST_WARMING_RUNS = 4


def optimize(path, sizes, folder, config):
    return egret.call("optimize", path, "-o", folder / "optimized.onnx", "--threads", config["threads"],
                      *models.bind_flags(sizes))


def row_of(path, sizes, folder, config):
    """Of the run after the first that has no operator to measure: the race of that one is known by then, too."""
    cold = answer = optimize(path, sizes, folder, config)
    runs = 0
    while answer["extraction"]["operators_measured"] > 0 and runs < MOST_WARMING_RUNS:
        answer = optimize(path, sizes, folder, config)
        runs += 1
    answer = optimize(path, sizes, folder, config)
    milliseconds = {name: f"{1e3 * answer[key]:.3f}" for name, key in (
        ("predicted_ms", "predicted_before_s"), ("measured_ms", "measured_before_s"),
        ("predicted_after_ms", "predicted_after_s"), ("measured_after_ms", "measured_after_s"))}
    phases = {f"{name}_s": f"{answer['seconds_by_phase'].get(name, 0):.2f}" for name in PHASES}
    return {"operators": answer["operators_before"], "e_nodes": answer["e_nodes"], "cold_s": f"{cold['seconds']:.2f}",
            "warming_runs": runs, "seconds": f"{answer['seconds']:.2f}", **phases, **milliseconds}


def errors(rows):
    """How far predictions are from what is measured, of the originals and of the results."""
    pairs = [(float(row[f"predicted{which}_ms"]), float(row[f"measured{which}_ms"]))
             for row in rows for which in ("", "_after")]
    return [abs(predicted - measured) / measured for predicted, measured in pairs]


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("optimize-time", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"egret": egret.version(), "threads": config["threads"]})
    for name, path, sizes, folder in models.without_row(table, config):
        table.add(model=name, **row_of(path, sizes, folder, config))
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, {
        "largest_seconds": max(float(row["seconds"]) for row in table.rows),
        "median_prediction_error": statistics.median(errors(table.rows))})


if __name__ == "__main__":
    sys.exit(main())
