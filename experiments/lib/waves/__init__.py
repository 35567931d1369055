# SPDX-License-Identifier: Apache-2.0
"""Waves of measurements on a GPU that is there rarely and briefly (docs/cuda.md, "Waves").

rows.py lists the rows and their values; parts.py says which sources a row depends on; kept.py keeps results; plan.py
decides which rows are due, and in which order; wave.py runs them within a time, on a machine of machines.py; work.py is
the work of one row; page.py writes the tables.
"""
