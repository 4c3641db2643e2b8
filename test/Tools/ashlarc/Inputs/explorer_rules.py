# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Model Explorer asks of its files, checked on a folder of --model-explorer.

usage: explorer_rules.py FOLDER LAYERS.csv

The rules are those of its input_graph.ts (graphs) and node_data_builder.py (node data).
The cycles of all layers must be those of --layers, in the graph of each dialect.
"""

import csv
import json
import os
import sys


def load(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as stream:
        return json.load(stream)


def fail_unless(condition, *what):
    if not condition:
        raise SystemExit("broken rule: " + " ".join(map(str, what)))


def pairs(items, where):
    """Lists of {key, value}, both texts."""
    for item in items:
        fail_unless(set(item) == {"key", "value"}, where, item)
        fail_unless(all(isinstance(v, str) for v in item.values()), where, item)


def check_node(node, ids, graphs, where):
    fail_unless({"id", "label", "namespace"} <= set(node) <= {
        "id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "subgraphIds"},
        where, sorted(node))
    fail_unless(node["id"] and node["label"], where, "names")
    space = node["namespace"]
    fail_unless(not space or all(space.split("/")), where, "namespace", space)
    pairs(node["attrs"], where)
    for output in node["outputsMetadata"]:
        fail_unless(isinstance(output["id"], str), where, "id of an output")
        pairs(output["attrs"], where)
    for edge in node["incomingEdges"]:
        source = ids.get(edge["sourceNodeId"])
        fail_unless(source, where, "edge from nowhere", edge)
        known = [output["id"] for output in source["outputsMetadata"]] or ["0"]
        fail_unless(edge["sourceNodeOutputId"] in known, where, "output", edge)
        fail_unless(isinstance(edge["targetNodeInputId"], str), where, "input", edge)
    for graph in node.get("subgraphIds", []):
        fail_unless(graph in graphs, where, "no graph", graph)


def check_graphs(text):
    fail_unless(set(text) == {"label", "graphs"} and text["graphs"], "collection")
    graphs = {graph["id"]: graph for graph in text["graphs"]}
    fail_unless(len(graphs) == len(text["graphs"]), "ids of graphs")
    nodes = {}
    for name, graph in graphs.items():
        ids = nodes[name] = {node["id"]: node for node in graph["nodes"]}
        fail_unless(len(ids) == len(graph["nodes"]), name, "ids of nodes")
        for node in graph["nodes"]:
            check_node(node, ids, graphs, f"{name}/{node.get('id')}")
    return nodes


def check_data(name, text, nodes):
    for graph, data in text.items():
        fail_unless(graph in nodes, name, "no graph", graph)
        stops = [step["stop"] for step in data["gradient"]]
        fail_unless(stops[0] == 0 and stops[-1] == 1, name, "gradient", stops)
        for key, result in data["results"].items():
            fail_unless(key in nodes[graph], name, graph, "no node", key)
            fail_unless(isinstance(result["value"], (int, float)), name, graph, key, result)


def main(folder, layers):
    nodes = check_graphs(load(folder, "graph.json"))
    with open(layers, encoding="utf-8", newline="") as stream:
        cycles = {row["name"]: int(row["cycles"]) for row in csv.DictReader(stream)}
    for file in sorted(os.listdir(folder)):
        if file != "graph.json":
            check_data(file, load(folder, file), nodes)
    data = load(folder, "cycles.json")
    linked = 0
    for graph in ("nn", "npu"):
        found = sum(result["value"] for result in data[graph]["results"].values())
        fail_unless(found == sum(cycles.values()), graph, "cycles", found, sum(cycles.values()))
        linked += sum("subgraphIds" in node for node in nodes[graph].values())
    parts = [graph for graph in nodes if graph.startswith("isa: ")]
    fail_unless(len(parts) == len(cycles), "layers", parts)
    instructions = sum(len(nodes[graph]) for graph in parts)
    print(f"{len(nodes)} graphs: nn {len(nodes['nn'])}, npu {len(nodes['npu'])} nodes, {instructions} "
          f"instructions of {len(parts)} layers; {linked} links; files {' '.join(sorted(os.listdir(folder)))}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
