"""Group modes and sizes of collectives, and the pairs of sends and receives."""

import pytest

from hlotool.analysis.collectives import group_mode, group_size, groups_of, ids_of_mode, is_grouped, permutes
from hlotool.analysis.transfers import cycle_of, is_between_devices, pairs_of, repeated
from hlotool.opdefs.table import OPS
from hlotool.text.parse.parser import parse

HEADER = "HloModule m, replica_count=4, num_partitions=3 "
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } "
REDUCE = "all-reduce(p), {}, to_apply=add"
EXCHANGE = "all-to-all(p), {}, dimensions={{0}}"


def collective(call: str, *, header: str = HEADER):
    module = parse(f"{header} {ADD} ENTRY e {{ p = f32[4] parameter(0) ROOT r = f32[4] {call} }}")
    return module.entry.root, module


@pytest.mark.parametrize(
    ("call", "mode", "size"),
    [
        (REDUCE.format("replica_groups={}"), "replicas", 4),
        (REDUCE.format("replica_groups={{0,1},{2,3}}"), "replicas", 2),
        (REDUCE.format("replica_groups={{0,1,2},{3}}"), "replicas", 3),
        (REDUCE.format("replica_groups={}, channel_id=1"), "replicas of all partitions", 12),
        (REDUCE.format("replica_groups={{0,1},{2,3}}, channel_id=1"), "replicas of all partitions", 6),
        (REDUCE.format("replica_groups={}, channel_id=1, use_global_device_ids=true"), "devices", 12),
        (REDUCE.format("replica_groups={{0,1,2}}, channel_id=1, use_global_device_ids=true"), "devices", 3),
        (REDUCE.format("replica_groups=[2,6]<=[12], channel_id=1, use_global_device_ids=true"), "devices", 6),
        (REDUCE.format("replica_groups=mesh['a'=2,'b'=6] {'b'}, channel_id=1, use_global_device_ids=true"), "devices", 6),
        (EXCHANGE.format("replica_groups={}"), "replicas", 4),
        (EXCHANGE.format("replica_groups={}, channel_id=1"), "partitions", 3),
        (REDUCE.format("replica_groups={}, mode=cross_replica, channel_id=1"), "replicas", 4),
        (REDUCE.format("replica_groups={}, mode=cross_partition"), "partitions", 3),
        (REDUCE.format("replica_groups={}, mode=cross_replica_and_partition"), "replicas of all partitions", 12),
        (REDUCE.format("replica_groups={}, mode=flattened_id"), "devices", 12),
    ],
)
def test_mode_and_size_of_groups(call, mode, size):
    x, module = collective(call)
    assert (group_mode(x), group_size(x, module)) == (mode, size)


def test_a_header_without_counts_means_one_device():
    x, module = collective(REDUCE.format("replica_groups={}, channel_id=1, use_global_device_ids=true"), header="HloModule m")
    assert group_size(x, module) == 1


def test_counts_of_ids():
    _, module = collective(EXCHANGE.format("replica_groups={}"))
    assert [ids_of_mode(mode, module) for mode in ("replicas", "partitions", "replicas of all partitions", "devices")] == [4, 3, 4, 12]


def test_instructions_without_the_attribute_have_no_groups():
    module = parse("ENTRY e { ROOT p = f32[] parameter(0) }")
    assert not groups_of(module.entry.root)
    assert groups_of(collective(REDUCE.format("replica_groups={{0,1}}"))[0]).lists == ((0, 1),)


SEND = "ENTRY e {{ t = token[] after-all() ROOT r = (f32[], u32[], token[]) recv(t), channel_id=1{} }}"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", True),
        (', frontend_attributes={a="1"}', True),
        (", is_host_transfer=true", False),
        (', frontend_attributes={_xla_send_recv_pipeline="0"}', False),
    ],
)
def test_transfers_between_devices(attributes, expected):
    assert is_between_devices(parse(SEND.format(attributes)).entry.root) is expected


def test_pairs():
    root = parse(SEND.format(', frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1}, { 12 , 3 }}"}')).entry.root
    assert pairs_of(root) == ((0, 1), (12, 3))
    assert pairs_of(parse(SEND.format("")).entry.root) == ()


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [([], None), ([(0, 1), (1, 2)], None), ([(0, 1), (0, 2)], "device 0 sends twice"), ([(0, 2), (1, 2)], "device 2 receives twice")],
)
def test_devices_that_occur_twice(pairs, expected):
    assert repeated(pairs) == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], []),
        ([(0, 0)], [0, 0]),
        # The path into a cycle is not part of it.
        ([(5, 6), (6, 7), (7, 6)], [6, 7, 6]),
        # Two paths that meet are not a cycle.
        ([(0, 2), (1, 2), (2, 3)], []),
        ([(0, 1), (2, 3), (3, 2)], [2, 3, 2]),
    ],
)
def test_cycles(pairs, expected):
    assert cycle_of(pairs) == expected


def test_long_paths_are_followed_once():
    assert cycle_of([(k, k + 1) for k in range(30_000, -1, -1)]) == []


def test_collectives_by_their_kind_of_device_ids():
    assert [name for name in sorted(OPS) if is_grouped(OPS[name])] == [
        "all-gather",
        "all-gather-start",
        "all-reduce",
        "all-reduce-start",
        "all-to-all",
        "collective-broadcast",
        "collective-reduce",
        "ragged-all-to-all",
        "reduce-scatter",
    ]
    assert [name for name in sorted(OPS) if permutes(OPS[name])] == ["collective-permute", "collective-permute-start"]
