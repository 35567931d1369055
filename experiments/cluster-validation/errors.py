# SPDX-License-Identifier: Apache-2.0
"""How far predictions are from measurements, and what choosing by them costs."""
import collections
import itertools
import statistics


def summary(cases, predicted):
    errors = [p / c.measured - 1 for p, c in zip(predicted, cases)]
    sizes = [abs(e) for e in errors]
    groups = collections.defaultdict(list)
    for case, p in zip(cases, predicted):
        groups[case.group].append((p, case.measured))
    ordered = pairs = 0
    regrets = []
    for plans in groups.values():
        for (p, m), (q, n) in itertools.combinations(plans, 2):
            if m != n:
                pairs += 1
                ordered += (p - q) * (m - n) > 0
        if len(plans) > 1:
            regrets.append(min(plans)[1] / min(m for _, m in plans) - 1)
    return {"cases": len(cases), "mape": f"{100 * statistics.mean(sizes):.2f}",
            "median": f"{100 * statistics.median(sizes):.2f}", "worst": f"{100 * max(sizes):.1f}",
            "bias": f"{100 * statistics.median(errors):.1f}",
            "pairs": pairs, "ordered": f"{100 * ordered / pairs:.1f}" if pairs else "",
            "regret": f"{100 * statistics.mean(regrets):.2f}" if regrets else "",
            "worst_regret": f"{100 * max(regrets):.1f}" if regrets else ""}
