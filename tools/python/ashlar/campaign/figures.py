# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tables show of a run's report."""

from typing import Any

def run_figures(report: dict[str, Any]) -> dict[str, Any]:
    """What a table of points shows of a run's report (docs/ReportSchema.md)."""
    totals, energy = report["totals"], report.get("energy", {})
    figures = {
        "cycles": report["total_cycles"], "clock_hz": report["clock_hz"], "macs": totals["macs"],
        "macs_per_cycle": totals["macs_per_cycle"], "pe_utilisation": totals["utilisation"],
        "dram_bytes": totals["dram_read"] + totals["dram_write"],
        "energy_pj": energy.get("dynamic_pj"), "total_pj": energy.get("total_pj"),
        "area_um2": report.get("area", {}).get("total_um2"),
    }
    return {key: value for key, value in figures.items() if value is not None}
