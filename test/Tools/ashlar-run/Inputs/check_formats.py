#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the forms of a report for other tools against its JSON.

usage: check_formats.py REPORT.json LAYERS.csv STACKS TRACE.pftrace SCHEMA.proto
"""

import collections
import csv
import json
import subprocess
import sys
import re


def check_layers(path, report):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [node["name"] for node in report["nodes"]]
    for row, node in zip(rows, report["nodes"]):
        for key in ("cycles", "macs", "dram_read", "dram_write"):
            assert int(row[key]) == node[key], (row["name"], key)
        for engine, busy in node["busy"].items():
            assert int(row[f"busy_{engine}"]) == busy, (row["name"], engine)
        assert abs(float(row["energy_pj"]) - node["energy_pj"]) <= 1e-6 * node["energy_pj"] + 1e-5


def check_stacks(path, report):
    sums = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, cycles = line.rsplit(" ", 1)
            frames = stack.split(";")
            assert len(frames) == 3, line
            sums[frames[0]] += int(cycles)
    used = {name for name, engine in report["engines"].items() if engine["instructions"]}
    assert set(sums) == used, (sums, used)
    assert set(sums.values()) == {report["total_cycles"]}, sums


def packets_of(path, schema):
    """(time, fields) of every event, fields as lists of texts; and the tracks."""
    folder, name = schema.rsplit("/", 1)
    with open(path, "rb") as file:
        text = subprocess.run(["protoc", f"-I{folder}", "--decode=Trace", name], stdin=file,
                              check=True, capture_output=True, text=True).stdout
    events, tracks = [], {}
    for packet in text.split("packet {")[1:]:
        assert "trusted_packet_sequence_id: 1" in packet
        fields = collections.defaultdict(list)
        for key, value in re.findall(r"^\s*(\w+): (.*)$", packet, re.M):
            fields[key].append(value.strip('"'))
        if "track_descriptor" in packet:
            tracks[fields["uuid"][0]] = fields
        else:
            events.append((int(fields["timestamp"][0] if fields["timestamp"] else 0), fields))
    return events, tracks


def check_trace(path, schema, report):
    events, tracks = packets_of(path, schema)
    names = [track["name"][0] for track in tracks.values() if track["name"]]
    for name, engine in report["engines"].items():
        assert (name in names) == (engine["instructions"] > 0), name
    assert any(name.startswith("layers ") for name in names) and "dram" in names
    open_slices, flows, last = {}, collections.Counter(), 0
    multiplications = 0.0
    rate, since = 0.0, 0
    for time, fields in events:
        assert last <= time <= report["total_cycles"], (last, time)
        last = time
        track, kind = fields["track_uuid"][0], fields["type"][0]
        assert track in tracks
        for flow in fields["flow_ids"]:
            flows[flow] += 1
        for flow in fields["terminating_flow_ids"]:
            assert flows[flow] == 1, flow
            flows[flow] += 1
        if kind == "1":  # slices of a track never overlap
            assert track not in open_slices, fields
            open_slices[track] = time
        elif kind == "2":
            assert open_slices.pop(track) < time, fields
        elif tracks[track]["name"] == ["multiplications"]:
            multiplications += rate * (time - since)
            rate, since = float(fields["double_counter_value"][0]), time
    assert not open_slices
    assert set(flows.values()) <= {2} and flows, flows
    issued = sum(node["issued"] for node in report["nodes"])
    assert abs(multiplications - issued) <= 1e-6 * issued, (multiplications, issued)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    check_layers(sys.argv[2], report)
    check_stacks(sys.argv[3], report)
    check_trace(sys.argv[4], sys.argv[5], report)
    print("the forms agree")


main()
