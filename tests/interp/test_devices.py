"""Behavior of `evaluate_replicas`, host queues and custom-call handlers beyond single opcodes."""

from __future__ import annotations

import numpy as np
import pytest

import hlotool
from hlotool.interp.kernels.libraries.handlers import load_handler

DOUBLE = 'ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] custom-call(x), custom_call_target="double", backend_config="settings" }'
DRAW = """ENTRY e { low = f32[] constant(0) high = f32[] constant(1) a = f32[2] rng(low, high), distribution=rng_uniform
  b = f32[2] rng(low, high), distribution=rng_uniform ROOT t = (f32[2], f32[2]) tuple(a, b) }"""


def run(text: str, *arguments: object, **options: object) -> object:
    return hlotool.evaluate(hlotool.parse(text), arguments, options=hlotool.RunOptions(**options))


def diagnostic_of(text: str, *arguments: object, **options: object) -> hlotool.Diagnostic:
    with pytest.raises(hlotool.EvaluationError) as caught:
        run(text, *arguments, **options)
    (found,) = caught.value.diagnostics
    return found


# ---- devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("devices", "partitions"), [(0, 1), (3, 2), (2, 0), (1, 2)])
def test_the_number_of_devices_must_be_a_multiple_of_partitions(devices, partitions):
    module = hlotool.parse("ENTRY e { ROOT r = u32[] replica-id() }")
    with pytest.raises(hlotool.EvaluationError) as caught:
        hlotool.evaluate_replicas(module, [[]] * devices, num_partitions=partitions)
    assert caught.value.diagnostics[0].code == "R002"


def test_each_device_has_its_own_results():
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] all-gather(x), replica_groups={{0},{1}}, dimensions={0} }")
    first, second = hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
    first += 1
    assert second.tolist() == [3, 4]


def test_hundreds_of_devices_take_turns():
    text = "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }"
    text += "ENTRY e { x = s32[] parameter(0) ROOT r = s32[] all-reduce(x), replica_groups={}, to_apply=add }"
    assert hlotool.evaluate_replicas(hlotool.parse(text), [[k] for k in range(300)]) == [300 * 299 // 2] * 300


def test_an_error_names_the_device():
    text = "HloModule m\nENTRY e {\n  t = token[] after-all()\n  ROOT a = (s32[], token[]) infeed(t)\n}"
    queues = [hlotool.HostQueues(infeed=[1]), hlotool.HostQueues()]
    with pytest.raises(hlotool.EvaluationError, match="infeed queue of device 1 is empty"):
        hlotool.evaluate_replicas(hlotool.parse(text), [[], []], options=hlotool.RunOptions(queues=queues))


# ---- random numbers ---------------------------------------------------------------------------------------------------


def test_random_numbers_depend_on_seed_instruction_and_device():
    first, second = run(DRAW, seed=1)
    again, _ = run(DRAW, seed=1)
    other, _ = run(DRAW, seed=2)
    assert first.tolist() == again.tolist()
    assert first.tolist() != second.tolist()
    assert first.tolist() != other.tolist()
    devices = hlotool.evaluate_replicas(hlotool.parse(DRAW), [[], []])
    assert devices[0][0].tolist() != devices[1][0].tolist()


# ---- queues -----------------------------------------------------------------------------------------------------------


def test_channels_to_and_from_the_host():
    text = """ENTRY e { t = token[] after-all()
      r = (f32[2], u32[], token[]) recv(t), channel_id=7, is_host_transfer=true
      d = (f32[2], token[]) recv-done(r), channel_id=7, is_host_transfer=true
      x = f32[2] get-tuple-element(d), index=0
      y = f32[2] negate(x)
      u = token[] get-tuple-element(d), index=1
      s = (f32[2], u32[], token[]) send(y, u), channel_id=8, is_host_transfer=true
      ROOT v = token[] send-done(s), channel_id=8, is_host_transfer=true }"""
    queues = hlotool.HostQueues(received={7: [[1.0, 2.0]]})
    assert run(text, queues=queues) == hlotool.Token()
    (sent,) = queues.sent[8]
    assert sent.tolist() == [-1, -2]
    assert "the queue from the host to device 0 over channel 7 is empty" in diagnostic_of(text, queues=queues).message


def test_infeed_items_must_match_the_shape():
    found = diagnostic_of("ENTRY e { t = token[] after-all() ROOT a = (s8[], token[]) infeed(t) }", queues=hlotool.HostQueues(infeed=[200]))
    assert "cannot hold 200" in found.message


# ---- custom calls -----------------------------------------------------------------------------------------------------


def test_handlers_get_operands_and_optionally_the_call():
    seen = []

    def double(x: np.ndarray, call: hlotool.CustomCall) -> np.ndarray:
        seen.append((call.target, call.backend_config, str(call.result), x.flags.writeable))
        return 2 * x

    assert run(DOUBLE, [1.0, 2.0], custom_calls={"double": double}).tolist() == [2, 4]
    assert seen == [("double", '"settings"', "f32[2]{0}", False)]
    assert run(DOUBLE, [1.0, 2.0], custom_calls={"double": np.negative}).tolist() == [-1, -2]


def test_handlers_come_before_known_targets():
    text = DOUBLE.replace('"double"', '"Sharding"')
    assert run(text, [1.0, 2.0]).tolist() == [1, 2]
    assert run(text, [1.0, 2.0], custom_calls={"Sharding": np.square}).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (lambda x: x[:1], "the handler of 'double' must return f32[2]: got an array with the dimensions [1]"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
        (lambda: 0, "TypeError"),
        (lambda x: "no", "the handler of 'double' must return f32[2]: got an array with the dimensions []"),
    ],
)
def test_errors_of_handlers_are_reported_at_the_call(handler, words):
    found = diagnostic_of(DOUBLE, [1.0, 2.0], custom_calls={"double": handler})
    assert (found.code, found.instruction) == ("R004", "r")
    assert words in found.message


@pytest.mark.parametrize("position", ["numpy", "numpy:", ":sin", "no_such_module:f", "numpy:no_such_function", "numpy:pi"])
def test_handlers_that_cannot_be_loaded(position):
    with pytest.raises(hlotool.HlotoolError, match=f"'{position}'"):
        load_handler(position)


# ---- endless loops ----------------------------------------------------------------------------------------------------


def test_a_loop_that_stops_changing_its_state_ends():
    text = """yes { s = (f32[], u32[]) parameter(0) ROOT go_on = pred[] constant(true) }
    half { s = (f32[], u32[]) parameter(0) x = f32[] get-tuple-element(s), index=0 y = u32[] get-tuple-element(s), index=1
      two = f32[] constant(2) h = f32[] divide(x, two) EFFECT ROOT t = (f32[], u32[]) tuple(h, z) }
    ENTRY e { x = f32[] parameter(0) y = u32[] parameter(1) s = (f32[], u32[]) tuple(x, y)
      ROOT r = (f32[], u32[]) while(s), condition=yes, body=half }"""
    assert run(text.replace("EFFECT", "z = u32[] copy(y)"), 1.0, 3) == (0, 3)
    # A loop does not end early if its state may depend on the device or on a random number
    # generator.
    found = diagnostic_of(text.replace("EFFECT", "z = u32[] replica-id()"), 1.0, 0, max_iterations=400)
    assert found.code == "R005"


def test_memory_is_counted_for_all_devices() -> None:
    module = hlotool.parse("ENTRY e { x = f32[1000] parameter(0) ROOT r = f32[1000] negate(x) }")
    limits = hlotool.RunOptions(max_memory=10_000)
    hlotool.evaluate_replicas(module, [[np.zeros(1000)]], options=limits)
    with pytest.raises(hlotool.EvaluationError) as caught:
        hlotool.evaluate_replicas(module, [[np.zeros(1000)]] * 2, options=limits)
    assert [d.code for d in caught.value.diagnostics] == ["R005"]
