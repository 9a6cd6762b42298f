"""What a GPU would do: programs compiled for an NVIDIA H100 that need not be there, and a model of their time.

XLA compiles for a device that is only described. The compiled program shows every kernel, every loop with its number of
turns, and the memory it takes. Two wheels of JAX's own version are needed beside it, no driver and no CUDA libraries:

    pip install --no-deps "jax-cuda13-plugin==$(python -c 'import jax; print(jax.__version__)')" \
                          "jax-cuda13-pjrt==$(python -c 'import jax; print(jax.__version__)')"
    python benchmarks/gpu.py [--record CASE [--call NAME] [--rows N] [--programs N]] [--questions] [--json PATH]

``--questions`` (the default) models the questions of a search at the shapes of three tables: cuts of all continuous
variables on the grid at once, and counts. ``--record`` runs `learn`, or what ``--call`` says, on the CPU with the
choices of an accelerator switched on, writes down which programs are called how often and with which shapes, and models
each of them; the host answers in their place meanwhile. With ``--rows`` the run has fewer rows, and arrays as long as
the table are modelled as those of the case.

The model, a bound from below: a kernel takes as long as its launch (3 µs) or as its bytes over 3.35 TB/s, whichever is
more; a loop its turns times its body, plus 15 µs a turn where the compiler does not know how many there are, as the
host must read the condition then. Look-ups that miss the caches and atomics that collide are not in it. Nothing here
was ever run on a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import NamedSharding, PartitionSpec

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from jaxbn.counts import device  # noqa: E402
from jaxbn.counts.codes import Column  # noqa: E402
from jaxbn.counts.host import Base, HostCounter, Indicators  # noqa: E402
from jaxbn.cuts import on_accelerator, sorted_values  # noqa: E402
from jaxbn.cuts.by_number import charged  # noqa: E402
from jaxbn.cuts.grouped_rows import GroupedRows  # noqa: E402
from jaxbn.cuts.interval_costs import CostMatrix  # noqa: E402
from jaxbn.cuts.methods import GRID  # noqa: E402
from jaxbn.kernels import counting  # noqa: E402
from jaxbn.kernels.counting import Terms, extension_sums, joint_codes  # noqa: E402
from jaxbn.kernels.dense_partitions import Counted, best_by_number, best_with_cuts  # noqa: E402
from jaxbn.runtime.shapes import bucket  # noqa: E402
from jaxbn.scores.set_scores import _counted_with  # noqa: E402

LAUNCH, WAIT, BANDWIDTH = 3e-6, 15e-6, 3.35e12
KINDS = {
    "fusion", "custom-call", "scatter", "gather", "sort", "reduce", "copy", "dot", "dynamic-update-slice", "transpose",
    "broadcast", "iota",
}  # fmt: skip
BITS = re.compile(r"\b(?:pred|bf16|[suf](\d+))\[([\d,]*)\]")
LINE = re.compile(r"\s*(ROOT )?%?([\w.\-]+) = (.*?) ([\w\-]+)\((.*)")
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84929347584 shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 7 } runtime_version { major: 13 minor: 0 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
TABLES = {"20,000 x 12": (20_000, 8, 4), "1,000,000 x 30": (1_000_000, 20, 10), "1,000 x 100": (1_000, 70, 30)}


@dataclass
class Work:
    """What a call of a program does on the device."""

    kernels: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0
    loops: list[str] = field(default_factory=list)
    unknown: int = 0  # loops whose length the compiler does not know
    memory: int = 0

    def add(self, other: Work, times: float = 1.0, wait: float = 0.0) -> None:
        self.kernels += times * other.kernels
        self.seconds += times * (other.seconds + wait)
        self.bytes += times * other.bytes
        self.unknown += other.unknown

    def __str__(self) -> str:
        loops = "; ".join(self.loops) or "none"
        return (
            f"{self.kernels:,.0f} kernels, {self.bytes / 1e6:,.0f} MB moved, {self.memory / 1e6:,.0f} MB of memory, "
            f"at least {1e3 * self.seconds:.2f} ms; loops: {loops}"
        )


def modelled(program: Any, *args: Any, **kwargs: Any) -> Work:
    """A program compiled for an H100; arrays may be `jax.ShapeDtypeStruct`."""
    described = topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1")
    place = NamedSharding(topologies.make_mesh(described, (1,), ("d",)), PartitionSpec())

    def shape(leaf: Any) -> Any:
        known = hasattr(leaf, "dtype") and hasattr(leaf, "shape")
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place) if known else leaf

    with jax.enable_x64(True):
        traced = program.trace(*jax.tree.map(shape, args), **jax.tree.map(shape, kwargs))
        compiled = traced.lower(lowering_platforms=("cuda",)).compile()
    bodies, entry = computations(compiled.as_text())
    found = work_of(entry, bodies, {})
    found.memory = compiled.memory_analysis().temp_size_in_bytes
    return found


def computations(text: str) -> tuple[dict[str, list[str]], str]:
    """The lines of every computation of a compiled program, and the name of the first to run."""
    bodies: dict[str, list[str]] = {}
    entry = name = ""
    for line in text.splitlines():
        begin = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if begin:
            name = begin.group(2)
            bodies[name], entry = [], name if begin.group(1) else entry
        elif name and " = " in line:
            bodies[name].append(line)
    return bodies, entry


def size_of(shape: str) -> int:
    """Bytes of an array, or of several."""
    found = 0
    for bits, sides in BITS.findall(shape):
        found += int(np.prod([int(side) for side in sides.split(",") if side])) * max(int(bits or 8) // 8, 1)
    return found


def work_of(name: str, bodies: dict[str, list[str]], known: dict[str, Work]) -> Work:
    """What a computation does, with everything it calls."""
    if name in known:
        return known[name]
    total, sizes = Work(), {}
    for line in bodies.get(name, []):
        if (head := LINE.match(line)) is None:
            continue
        _, result, shape, kind, rest = head.groups()
        sizes[result] = size_of(shape)
        if kind == "while":
            body = re.search(r"body=%?([\w.\-]+)", line).group(1)  # type: ignore[union-attr]
            turns = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
            inside, n = work_of(body, bodies, known), int(turns.group(1)) if turns else 1
            total.add(inside, n, 0.0 if turns else WAIT)
            total.unknown += turns is None
            total.loops += [f"{n} turns" if turns else "unknown length", *(f"in it {each}" for each in inside.loops)]
        elif kind in ("conditional", "call", "async-start"):
            for inner in re.findall(r"(?:to_apply|calls|\w+_computations?)=\{?%?([\w.\-]+)", line):
                total.add(work_of(inner, bodies, known), 1, WAIT if kind == "conditional" else 0.0)
        elif kind in KINDS:
            moved = bytes_moved(line, rest, sizes, result, bodies)
            total.add(Work(1, max(LAUNCH, moved / BANDWIDTH), moved))
    known[name] = total
    return total


def bytes_moved(line: str, rest: str, sizes: dict[str, int], result: str, bodies: dict[str, list[str]]) -> int:
    """Bytes that a kernel reads and writes: of what it slices the slices, of what it updates in place the update."""
    operands = re.findall(r"%([\w.\-]+)", rest.split("), ")[0])
    called = re.search(r"calls=%?([\w.\-]+)", line)
    part = slices(bodies.get(called.group(1), [])) if called else {}
    read = sum(min(part.get(i, sizes.get(each, 0)), sizes.get(each, 0)) for i, each in enumerate(operands))
    return part.get(-1, sizes[result]) + read


def slices(body: list[str]) -> dict[int, int]:
    """Bytes of the parameters of a kernel that it only slices or updates in place; -1 is what it then writes."""
    sizes: dict[str, int] = {}
    number: dict[str, int] = {}
    same: dict[str, str] = {}
    users: dict[str, list[tuple[str, str, int]]] = {}
    root = ""
    for line in body:
        if (head := LINE.match(line)) is None:
            continue
        is_root, result, shape, kind, rest = head.groups()
        operands = re.findall(r"%([\w.\-]+)", rest.split("), ")[0])
        sizes[result], root = size_of(shape), line if is_root else root
        if kind == "parameter":
            number[result] = int(rest.split(")")[0])
        elif kind == "bitcast":  # the same bytes by another name
            same[result] = same.get(operands[0], operands[0])
            continue
        for place, each in enumerate(operands):
            users.setdefault(same.get(each, each), []).append((kind, result, place))
    update = re.search(r" dynamic-update-slice\(%?([\w.\-]+), %?([\w.\-]+)", root)
    found: dict[int, int] = {}
    for name, i in number.items():
        uses = users.get(name, [])
        if uses and all(kind == "dynamic-slice" and place == 0 for kind, _, place in uses):
            found[i] = sum(sizes[result] for _, result, _ in uses)
        elif update and name == update.group(1):
            found[i] = found[-1] = sizes.get(update.group(2), 0)
    return found


# --- what is asked at the shapes of a table


def questions(case: str) -> Iterator[tuple[str, Work]]:
    """Cuts of all continuous variables at once, each with two shapes, on the grid; counts and sums of families."""
    n_rows, n_continuous, n_discrete = TABLES[case]
    arrays = jax.ShapeDtypeStruct
    groups, n_columns = bucket(min(GRID, n_rows), 128), n_continuous + n_discrete
    table = arrays((bucket(n_rows + 2048, 4096),), np.float64)
    for cells in (64, 256, 1024):
        for program, per_variable in ((best_by_number, 2), (best_with_cuts, 1)):
            size = bucket(per_variable * n_continuous, 1)
            shapes: Any = (
                ((size, cells, groups), np.int32), ((size, cells), np.int32), ((size, cells), np.float64),
                ((size, groups), np.int32), ((size, groups + 1), np.float64), ((size, groups), np.int32),
                ((size,), np.int32),
            )  # fmt: skip
            problems = Counted(*(arrays(*each) for each in shapes))
            costs = [arrays((size, 8), np.float64)]
            if program is best_with_cuts:
                costs = [arrays((size, groups), np.float64), arrays((size,), np.float64)]
            name = f"cuts of {n_continuous} variables at once, {size} problems, {cells} cells, {program.__name__}"
            yield name, modelled(program, problems, table, *costs, spread=program is best_by_number)
    padded = padded_rows(n_rows)
    codes = arrays((n_columns + 1, padded), np.uint8)
    sizes, members = arrays((n_columns + 1,), np.int32), arrays((16, 4), np.int32)
    yield "cells of 16 sets of columns", modelled(joint_codes, codes, sizes, members)
    joint = arrays((16, padded), np.int32)
    shown = arrays((bucket(8 * n_columns, 64), padded), np.int8), arrays((bucket(8 * n_columns, 64),), np.int32)
    units = arrays((1, n_rows + 1), np.int64)
    sums = modelled(extension_sums, joint, *shown, units, n_cells=512, n_columns=n_columns, mesh=None)
    yield "scores of 16 bases of 512 cells, each with every column", sums
    size, n_terms, n_all = bucket(n_continuous, 1, 4), bucket(5 * n_continuous, 16, 4), bucket(n_columns + 1, 8, 4)
    terms = Terms(*(arrays((n_terms, *more), np.int32) for more in ((4,), (512,), ())))  # type: ignore[arg-type]
    of_all = arrays((n_all, padded), np.uint8), arrays((n_all,), np.int32)
    places = arrays((size, padded), np.int32), arrays((size, groups + 1), np.int32)
    counts = modelled(counting.position_counts, *of_all, *places, terms, n_cells=256, mesh=None)
    yield f"rows by position and cell of {n_continuous} variables, 5 factors each", counts
    if n_columns == 30:
        for states in (4, 8):
            yield f"all families of up to 3 parents, {states} states", all_families(n_rows, n_columns, states)


def all_families(n_rows: int, n_columns: int, states: int) -> Work:
    """Sums over all sets of up to four columns, each counted once."""
    arrays, padded, n_states = jax.ShapeDtypeStruct, padded_rows(n_rows), bucket(n_columns * states, 64)
    shown = arrays((n_states, padded), np.int8), arrays((n_states,), np.int32)
    total = Work()
    for size in range(1, 5):
        n_bases = sum(len(own) > 0 for own in _counted_with(n_columns, size))
        units, n_cells = arrays((1 + (size < 4), n_rows + 1), np.int64), bucket(states ** (size - 1), 64, 8)
        for at_once in device.AT_ONCE[::-1]:
            calls, n_bases = divmod(n_bases, at_once)
            if calls:
                joint = arrays((at_once, padded), np.int32)
                sums = modelled(extension_sums, joint, *shown, units, n_cells=n_cells, n_columns=n_columns, mesh=None)
                total.add(sums, calls)
    return total


# --- what a run of `learn` asks


class Recording:
    """The calls of every program of an accelerator in a run, which is answered by the host's programs meanwhile.

    Arrays as long as the table are written down as those of a table of more rows, if that is to be modelled.
    """

    def __init__(self, n_rows: int, n_modelled: int) -> None:
        self.calls: Counter[Any] = Counter()
        self.shapes: dict[Any, Any] = {}
        self.hosts: dict[Any, tuple[HostCounter, Indicators]] = {}
        self.answering = 0.0  # processor time of the thread that asks, spent on what the device would do and on notes
        tables = {bucket(n_rows + more, 4096): bucket(n_modelled + more, 4096) for more in (2048, 4096, 8192)}
        self.sizes = tables | {n_rows + 1: n_modelled + 1, padded_rows(n_rows): padded_rows(n_modelled)}

    def note(self, program: Any, *args: Any, **kwargs: Any) -> None:
        begun = time.thread_time()

        def shape(leaf: Any) -> Any:
            if not hasattr(leaf, "dtype"):
                return leaf
            return jax.ShapeDtypeStruct(tuple(self.sizes.get(n, n) for n in leaf.shape), leaf.dtype)

        seen = jax.tree.map(shape, (args, {k: None if k == "mesh" else v for k, v in kwargs.items()}))
        key = program.__name__, str(seen)
        self.calls[key] += 1
        self.shapes.setdefault(key, (program, *seen))
        self.answering += time.thread_time() - begun

    def solved(self, problems: Any, charges: Any, shape: Any, devices: Any) -> Any:
        """In place of `on_accelerator._solved`: the counts are made, and the host finds the cuts."""
        size = bucket(len(problems), len(devices), 4)
        dense = problems[0].dense(shape.groups, shape.cells, shape.length)
        counted = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((size, *leaf.shape), leaf.dtype), dense)
        table = jax.ShapeDtypeStruct((len(shape.bases) * shape.length,), np.float64)
        costs = [jax.ShapeDtypeStruct((size, shape.layers or shape.groups), np.float64)]
        if not shape.layers:
            costs.append(jax.ShapeDtypeStruct((size,), np.float64))
        self.note(best_by_number if shape.layers else best_with_cuts, counted, table, *costs, spread=shape.spread)
        if shape.rows:
            asked = {id(p.rows.terms): (p.positions, on_accelerator._deferred(p.rows)) for p in problems}
            found = device.counts_at(list(asked.values()), shape.cells, shape.groups)
            self.note(counting.with_counts, counted.counts, found, jax.ShapeDtypeStruct((size,), np.int64))
        with self.on_the_device():
            solutions = []
            for problem, charge in zip(problems, charges, strict=True):
                # codes that are made here are not kept: the host would find them
                terms = [replace(term, cells=term.cells[:]) for term in problem.rows.terms]
                with CostMatrix(GroupedRows(replace(problem.rows, terms=terms), problem.positions)) as matrix:
                    own = matrix.solve_with_cuts(*charge) if not shape.layers else None
                    solutions.append(own or charged._from_matrix(charge, matrix))
            return solutions

    def answer(self, counter: Any, program: Any, tables: Any, n_cells: int, joint: Any, *child: Any) -> Any:
        """In place of `DeviceCounter._answer`: counted by the host."""
        units = jax.ShapeDtypeStruct((len(tables), len(tables[0])), np.int64)
        shape = {"n_cells": n_cells, "n_columns": len(counter.sizes), "mesh": None}
        self.note(program, joint, *child, *counter._indicator, units, **shape)
        with self.on_the_device():
            if counter not in self.hosts:
                codes = np.asarray(counter.codes)[:, : counter.rows.n].astype(np.int32)
                columns = [Column(i, own, k) for i, (own, k) in enumerate(zip(codes, counter.sizes, strict=False))]
                one = HostCounter(columns)
                # the last one only: they are large
                self.hosts = {counter: (one, one._indicators(np.arange(len(columns))))}
            (answering, indicators), every = self.hosts[counter], np.arange(len(counter.sizes))
            found: list[Any] = []
            for cell in np.asarray(joint)[:, : counter.rows.n]:
                base = Base(np.where(cell < 0, n_cells, cell).astype(np.int32), n_cells + 1, 0)
                counts = answering._counts(base, indicators, every)[:n_cells]
                found.append([answering._over_cells(counts, tables[: 1 if child else None], every)])
                if child:
                    onto = np.arange(n_cells) // int(child[0][len(found) - 1])
                    without = np.zeros_like(counts)
                    np.add.at(without, onto, counts)
                    found[-1].append(answering._over_cells(without, tables, every))
            answers = [np.stack(each) for each in zip(*found, strict=True)]
            return answers if child else answers[0]

    def as_it_is(self, program: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.note(program, *args, **kwargs)
            with self.on_the_device():
                return jax.block_until_ready(program(*args, **kwargs))

        return call

    @contextmanager
    def on_the_device(self) -> Iterator[None]:
        begun = time.thread_time()
        yield
        self.answering += time.thread_time() - begun


def padded_rows(n_rows: int) -> int:
    """As a device has them."""
    return int(device.Rows(n_rows, device.devices_in_use()).padded)


def bytes_of(shapes: Any) -> int:
    """Bytes of all arrays of a call."""
    leaves = [leaf for leaf in jax.tree.leaves(shapes) if hasattr(leaf, "shape")]
    return sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in leaves)


CALLS: dict[str, dict[str, Any]] = {
    "learn": {},
    "bootstrap": {"resamples": 4},
    "sample_posterior": {"draws": 8, "chains": 2, "burn_in": 2},
}


def record(case: str, n_rows: int | None, most: int, call: str = "learn") -> dict[str, Any]:
    """Programs that a call runs, the modelled time of all of them, and the host's own."""
    import jaxbn
    from benchmarks.networks import draw

    os.environ.update(JAXBN_CPU_AS_ACCELERATOR="1", JAXBN_THREADS="1", JAXBN_BATCH_BYTES=str(2**33))
    n_modelled, *columns = TABLES[case]
    n_rows = n_rows or n_modelled
    seen = Recording(n_rows, n_modelled)
    frame = draw(n_rows, *columns).frame
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(on_accelerator, "_solved", seen.solved))
        patched = lambda counter, *given: seen.answer(counter, *given)  # noqa: E731
        stack.enter_context(mock.patch.object(device.DeviceCounter, "_answer", patched))
        if n_modelled >= device.FEWEST_ROWS:  # the rows of the run stand for more
            stack.enter_context(mock.patch.object(device, "FEWEST_ROWS", 0))
        for name in ("indicator_of", "joint_codes", "set_counts", "position_counts", "_stacked"):
            stack.enter_context(mock.patch.object(device, name, seen.as_it_is(getattr(device, name))))
        stack.enter_context(mock.patch.object(sorted_values, "stable_order", seen.as_it_is(sorted_values.stable_order)))
        hosts = []
        for _ in range(2):  # the first call compiles as well; the calls of the second are modelled
            seen.calls.clear()
            seen.answering, begun = 0.0, time.thread_time()
            method = jaxbn.Evidence() if call == "sample_posterior" else jaxbn.Evidence(exact=False)
            getattr(jaxbn, call)(frame, method=method, max_parents=3, progress=False, **CALLS[call])
            hosts.append(time.thread_time() - begun - seen.answering)
    print(
        f"{call}, {n_rows} rows: host {hosts[0]:.1f} s and {hosts[1]:.1f} s the second time, "
        f"in place of the device {seen.answering:.1f} s"
    )
    # programs that move most are compiled; others of the same name are taken to last as long as these do on average
    order = sorted(seen.calls, key=lambda key: seen.calls[key] * bytes_of(seen.shapes[key][1:]), reverse=True)
    lines = []
    for key in order[:most]:
        program, args, kwargs = seen.shapes[key]
        count, work = seen.calls[key], modelled(program, *args, **kwargs)
        lines.append({"program": key[0], "calls": count, "each": work.seconds, "unknown loops": work.unknown})
        print(f"{key[0]}: {count} calls, each {work}", flush=True)
    for name in {key[0] for key in order}:
        known = [line["each"] for line in lines if line["program"] == name] or [0.0]
        others = sum(seen.calls[key] for key in order[most:] if key[0] == name)
        lines.append({"program": name, "calls": others, "each": sum(known) / len(known), "unknown loops": 0})
        print(f"{name}: {others} calls of other shapes, {1e3 * sum(known) / len(known):.2f} ms each")
    whole = sum(line["calls"] * line["each"] for line in lines)
    print(f"{case}: {sum(seen.calls.values())} calls of {len(order)} shapes, at least {whole:.2f} s on the device")
    return {
        "case": case,
        "recorded with rows": n_rows,
        "host seconds there": hosts,
        "seconds": whole,
        "programs": lines,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", nargs="*", choices=list(TABLES), default=None)
    parser.add_argument("--record", choices=list(TABLES))
    parser.add_argument("--call", choices=list(CALLS), default="learn")
    parser.add_argument("--rows", type=int, help="rows of the recorded run, if not those of the case")
    parser.add_argument("--programs", type=int, default=16, help="programs of the recorded run that are compiled")
    parser.add_argument("--json", type=Path, default=HERE / "results" / "gpu.json")
    arguments = parser.parse_args()
    known = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    if arguments.record:
        found = record(arguments.record, arguments.rows, arguments.programs, arguments.call)
        known.setdefault(arguments.call, {})[arguments.record] = found
    else:
        for case in arguments.questions or TABLES:
            for name, work in questions(case):
                print(f"{case}: {name}: {work}", flush=True)
                about = {"kernels": work.kernels, "milliseconds": 1e3 * work.seconds, "megabytes": work.memory / 1e6}
                known.setdefault("questions", {}).setdefault(case, {})[name] = about
    arguments.json.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
