"""The reference executor: programs, bindings, single instructions, threads and processes."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hlotool
from hlotool.interp import compute
from hlotool.interp.devices import DeviceGrid
from hlotool.interp.engine.binding import Binding
from hlotool.interp.engine.obstacles import obstacles
from hlotool.interp.engine.order import dependency_order, runnable_instructions
from hlotool.interp.engine.ownership import can_alias
from hlotool.interp.engine.program import Programs, computation_program, instruction_program
from hlotool.interp.engine.reference import ReferenceExecutor
from hlotool.interp.kernels.base import Invoke, Kernel

OPTIONS = hlotool.RunOptions()

SORTS = """HloModule sorts
by_magnitude { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] abs(a) y = f32[] abs(b) ROOT r = pred[] compare(x, y), direction=LT }
more { s = (s32[], f32[4]) parameter(0) k = s32[] get-tuple-element(s), index=0 n = s32[] constant(COUNT)
  ROOT go_on = pred[] compare(k, n), direction=LT }
step { s = (s32[], f32[4]) parameter(0) k = s32[] get-tuple-element(s), index=0 x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1) next = s32[] add(k, one) y = f32[4] sort(x), dimensions={0}, to_apply=by_magnitude
  z = f32[4] negate(y) ROOT t = tuple(next, z) }
ENTRY e { x = f32[4] parameter(0) zero = s32[] constant(0) s = tuple(zero, x)
  w = (s32[], f32[4]) while(s), condition=more, body=step ROOT r = f32[4] get-tuple-element(w), index=1 }"""


def execute(text: str, *arguments: np.ndarray) -> tuple[ReferenceExecutor, object]:
    module = hlotool.parse(text)
    executor = ReferenceExecutor(module, Programs(OPTIONS), DeviceGrid().devices[0])
    with pytest.raises(StopIteration) as end:
        next(executor.run(Invoke(module.entry, arguments)))
    return executor, end.value.value


# ---- programs ---------------------------------------------------------------------------------------------------------


def test_loops_reuse_their_programs():
    counts = []
    for count in (1, 300):
        executor, value = execute(SORTS.replace("COUNT", str(count)), np.array([3, -1, 2, -4], np.float32))
        assert np.abs(value).tolist() == [1, 2, 3, 4]
        counts.append(len(executor.programs.programs))
    # The programs compute the entry, the loop's condition and body, and the comparator's keys.
    assert counts == [4, 4]


def test_a_program_may_compute_another_root():
    module = hlotool.parse(
        """ENTRY e { a = f32[] parameter(0) b = f32[] parameter(1) x = f32[] negate(a) y = f32[] log(b)
        c = f32[] constant(2) d = f32[] constant(3) z = f32[] multiply(x, c) ROOT r = f32[] add(y, d) }"""
    )
    program = computation_program(module.entry, module.entry.instructions[6], Programs(OPTIONS))
    assert [step.instruction.name for step in program.steps] == ["x", "z"]
    assert [value for value in program.initial if value is not None] == [2]
    run = ReferenceExecutor(module, Programs(OPTIONS), DeviceGrid().devices[0]).run(
        Invoke(module.entry, (np.float32(5), np.float32(-1)), root=program_root(module))
    )
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == -10


def program_root(module: hlotool.Module):
    return next(x for x in module.entry.instructions if x.name == "z")


def test_values_are_freed_after_their_last_use():
    module = hlotool.parse(
        """ENTRY e { x = f32[] parameter(0) c = f32[] constant(1) a = f32[] add(x, c) unused = f32[] negate(a) b = f32[] multiply(a, a)
        d = f32[] add(b, c) ROOT r = (f32[], f32[]) tuple(d, b) }"""
    )
    slots = {x: k for k, x in enumerate(module.entry.instructions)}
    names = {k: x.name for x, k in slots.items()}
    program = computation_program(module.entry, module.entry.root, Programs(OPTIONS))
    freed = {step.instruction.name: [names[k] for k in step.dead] for step in program.steps}
    assert freed == {"a": ["x"], "unused": [], "b": ["a"], "d": [], "r": ["d", "b"]}
    assert [step.instruction.name for step in program.steps if not step.is_used] == ["unused"]


@pytest.mark.parametrize("order", [(5, 4, 3, 2, 1, 0), (0, 1, 2, 4, 3, 5), (1, 2, 3, 0, 4, 5)])
def test_operands_and_control_predecessors_come_first(order):
    """Checks instruction orders that are possible only in edited modules."""
    text = """ENTRY e { k = token[] after-all() x = f32[] constant(1) y = f32[] constant(2)
      first = token[] outfeed(x, k), outfeed_shape=f32[]
      second = token[] outfeed(y, k), outfeed_shape=f32[], control-predecessors={first} ROOT r = token[] after-all(second, first) }"""
    module = hlotool.parse(text)
    module.entry.instructions[:] = [module.entry.instructions[k] for k in order]
    names = [x.name for x in dependency_order(module.entry)]
    assert len(names) == 6
    assert names.index("k") < names.index("first") < names.index("second") < names.index("r")
    queues = hlotool.HostQueues()
    hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues))
    assert [float(value) for value in queues.outfeed] == [1, 2]


def test_the_operands_of_a_value_are_collected_once():
    # There are 2 ** 64 paths from the root to the parameter.
    lines = "".join(f" n{k + 1} = f32[] add(n{k}, n{k})" for k in range(64))
    module = hlotool.parse(f"ENTRY e {{ n0 = f32[] parameter(0){lines} ROOT r = f32[] negate(n0) }}")
    assert len(computation_program(module.entry, module.entry["n64"], Programs(OPTIONS)).steps) == 64


def test_each_computation_is_reached_once():
    module = hlotool.parse(
        """h { a = f32[] parameter(0) ROOT n = f32[] negate(a) } g { a = f32[] parameter(0) ROOT n = f32[] call(a), to_apply=h }
        f { a = f32[] parameter(0) b = f32[] call(a), to_apply=h ROOT n = f32[] call(b), to_apply=g }
        unused { ROOT a = f32[] parameter(0) }
        ENTRY e { a = f32[] parameter(0) b = f32[] call(a), to_apply=f ROOT c = f32[] call(b), to_apply=g }"""
    )
    for starts, expected in ((["e"], ["e", "f", "g", "h"]), (["g", "unused", "g"], ["g", "h", "unused"])):
        found = list(runnable_instructions(OPTIONS, *map(module.computation, starts)))
        assert sorted(found, key=id) == sorted([x for name in expected for x in module.computation(name).instructions], key=id)


def test_obstacles_to_a_run_are_reported_in_textual_order():
    module = hlotool.parse(
        """ENTRY e { a = f32[2] constant({...}) b = f32[2] constant({...})
 c = f32[2] constant({...}) d = f32[2] constant({...})
 x = f32[2] add(a, b) y = f32[2] add(c, d) ROOT r = f32[2] add(x, y) }"""
    )
    diagnostics = obstacles(module, reversed(list(module.entry)), OPTIONS)
    assert [d.message.split("'")[1] for d in diagnostics] == ["a", "b", "c", "d"]
    assert [d.line for d in diagnostics] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("instruction", "message", "hint"),
    [
        ("f32[] parameter(0)", None, None),
        ("f32[3] constant({...})", "the values of constant 'r' of shape f32[3] are left out of the text", "dump with XLA_FLAGS="),
        ("f32[] zork()", "hlotool cannot compute 'zork' yet", "the opcode is not in hlotool's table"),
        ('f32[] custom-call(), custom_call_target="f"', "hlotool does not know what the custom-call target 'f' computes", "name the function"),
        ("(f32[], opaque[]) custom-call(), custom_call_target=\"Sharding\"", "'r' holds a value of type opaque[], which", None),
        ("b(f32[2]) custom-call(), custom_call_target=\"Sharding\"", "'r' holds a value of type b(f32[2]), which", None),
    ],
)  # fmt: skip
def test_obstacles_to_a_run_have_hints(instruction, message, hint):
    module = hlotool.parse(f"ENTRY e {{ ROOT r = {instruction} }}", strict=False)
    diagnostics = obstacles(module, module.entry, OPTIONS)
    assert len(diagnostics) == (message is not None)
    for diagnostic in diagnostics:
        assert diagnostic.code == ("R003" if "constant" in instruction else "R001")
        assert diagnostic.message.startswith(message)
        assert (diagnostic.hint is None) == (hint is None)
        assert (diagnostic.hint or "").startswith(hint or "")


def test_an_opcode_of_the_table_may_have_no_kernel(monkeypatch):
    module = hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }")
    monkeypatch.setattr(module.entry.root.op, "kernel", None)
    (diagnostic,) = obstacles(module, [module.entry.root], OPTIONS)
    assert (diagnostic.message, diagnostic.hint) == ("hlotool cannot compute 'negate' yet", None)


@pytest.mark.parametrize(("error", "reason"), [(MemoryError("x"), "not enough memory"), (ValueError("no number"), "no number")])
def test_unreadable_constants_are_reported_at_the_computation(monkeypatch, error, reason):
    def literal_value(*_):
        raise error

    monkeypatch.setattr(hlotool.interp.engine.program, "literal_value", literal_value)
    module = hlotool.parse("ENTRY e {\n  ROOT c = f32[] constant(1)\n}")
    with pytest.raises(hlotool.EvaluationError) as caught:
        next(ReferenceExecutor(module, Programs(OPTIONS), DeviceGrid().devices[0]).run(Invoke(module.entry, ())))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.line, diagnostic.message) == ("R004", 2, f"the constants of 'e' cannot be read: {reason}")


def test_whether_a_computation_runs_in_batches_is_computed_once(monkeypatch):
    module = hlotool.parse(
        """f { a = f32[] parameter(0) ROOT n = f32[] negate(a) }
        ENTRY e { x = f32[2] parameter(0) ROOT r = f32[4] concatenate(x, x), dimensions={0} }"""
    )
    asked = []
    can_batch = hlotool.interp.engine.program.can_batch
    monkeypatch.setattr(hlotool.interp.engine.program, "can_batch", lambda computation: asked.append(computation) or can_batch(computation))
    programs = Programs(OPTIONS)
    assert [programs.can_batch[computation] for computation in module.computations * 2] == [True, False] * 2
    assert asked == module.computations


def test_programs_are_prepared_once():
    module = hlotool.parse("ENTRY e { a = f32[] parameter(0) b = f32[] negate(a) ROOT c = f32[] negate(b) }")
    programs = Programs(OPTIONS)
    requests = [Invoke(module.entry, (), root=root, batch=batch) for root in (None, module.entry["b"]) for batch in (None, (2,))]
    first = [programs.program_for(request) for request in requests]
    assert [programs.program_for(request) for request in requests] == first
    assert len(set(map(id, first))) == 4
    assert [len(program.steps) for program in first] == [2, 2, 1, 1]


def test_the_program_of_an_instruction_takes_its_operands():
    module = hlotool.parse("ENTRY e { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] subtract(x, y) }")
    program = instruction_program(module.entry.root, OPTIONS)
    assert (program.parameters, program.result, program.initial) == ([0, 1], 2, [None, None, None])
    assert [(step.operands, step.target, step.dead) for step in program.steps] == [((0, 1), 2, (0, 1))]


# ---- in place ---------------------------------------------------------------------------------------------------------


def test_only_unshared_operands_may_be_overwritten():
    assert can_alias([np.zeros(2)])
    base = np.zeros(4)
    assert not can_alias([base])
    assert not can_alias([np.zeros(4)[:2]])
    operands = [np.zeros(4)]
    views = [operands[0][1:]]
    assert not can_alias(operands)
    views.clear()
    assert can_alias(operands)
    operands[0].flags.writeable = False
    assert not can_alias(operands)
    assert not can_alias([(np.zeros(2),)])


SCATTERS = """HloModule scatters
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
below { s = (s32[], f32[SIZE]) parameter(0) k = s32[] get-tuple-element(s), index=0 six = s32[] constant(6)
  ROOT go_on = pred[] compare(k, six), direction=LT }
write { s = (s32[], f32[SIZE]) parameter(0) k = s32[] get-tuple-element(s), index=0 a = f32[SIZE] get-tuple-element(s), index=1
  one = s32[] constant(1) next = s32[] add(k, one) x = f32[1] constant({1}) i = s32[1,RANK] broadcast(k), dimensions={}
  b = f32[SIZE] scatter(a, i, x), update_window_dims={}, inserted_window_dims={DIMS}, scatter_dims_to_operand_dims={DIMS},
    index_vector_dim=1, to_apply=add
  ROOT t = tuple(next, b) }
ENTRY e { x = f32[SIZE] parameter(0) a = f32[SIZE] negate(x) zero = s32[] constant(0) s = tuple(zero, a)
  w = (s32[], f32[SIZE]) while(s), condition=below, body=write ROOT b = f32[SIZE] get-tuple-element(w), index=1 }"""


@pytest.mark.parametrize(("sizes", "rank"), [((6,), 1), ((6, 6), 2)])
def test_scatter_updates_the_state_of_a_loop_in_place(sizes, rank):
    class Addresses(hlotool.interp.engine.observers.Observer):
        def __init__(self):
            self.seen = set()

        def ended(self, where, instruction, operands, value):
            if instruction.opcode == "scatter":
                self.seen.add(value.__array_interface__["data"][0])

    text = SCATTERS.replace("SIZE", ",".join(map(str, sizes))).replace("DIMS", ",".join(map(str, range(rank)))).replace("RANK", str(rank))
    addresses = Addresses()
    value = hlotool.evaluate(hlotool.parse(text), [np.zeros(sizes, np.float32)], observers=[addresses])
    assert value.tolist() == (np.ones(6) if rank == 1 else np.eye(6)).tolist()
    assert len(addresses.seen) == 1


# ---- bindings and single instructions ---------------------------------------------------------------------------------


def test_a_binding_rejects_batches_without_a_kernel_for_them():
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[4] concatenate(x, x), dimensions={0} }")
    with pytest.raises(ValueError, match="'concatenate' has no kernel for batches"):
        Binding(module.entry.root, OPTIONS, batch=True)


def test_a_binding_notices_other_types_and_sizes():
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }")
    binding = Binding(module.entry.root, OPTIONS)
    assert binding.check(np.zeros(2, np.float32)).shape == (2,)
    assert isinstance(
        Binding(hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT c = f32[] negate(x) }").entry.root, OPTIONS).check(np.float32(1)), np.ndarray
    )
    for wrong in (np.zeros(2), np.zeros(3, np.float32), np.float32(0)):
        with pytest.raises(hlotool.errors.Violation, match="as written"):
            binding.check(wrong)


@pytest.mark.parametrize(
    ("instruction", "keywords", "per_call", "dimensions"),
    [
        ("f32[4] dynamic-update-slice(x, u, k)", {"result"}, ("can_alias",), (4,)),
        ("f32[2] slice(x), slice={[0:2]}", {"slice"}, (), (2,)),
        ("u32[] replica-id()", set(), ("device",), ()),
        ("(f32[4], f32[1]) tuple(x, u)", set(), (), None),
        ("f32[<=4] set-dimension-size(x, k), dimensions={0}", None, None, None),
    ],
)
def test_a_binding_looks_up_everything_constant(instruction, keywords, per_call, dimensions):
    module = hlotool.parse(f"ENTRY e {{ x = f32[4] parameter(0) u = f32[1] parameter(1) k = s32[] parameter(2) ROOT r = {instruction} }}")
    binding = Binding(module.entry.root, OPTIONS)
    assert binding.dimensions == dimensions
    if keywords is not None:
        assert (binding.keywords.keys(), binding.per_call) == (keywords, per_call)


def test_a_batch_kernel_may_suspend_even_if_the_other_does_not(monkeypatch):
    module = hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }")
    op = module.entry.root.op
    monkeypatch.setattr(op, "kernel", Kernel(op.kernel.function, False, (), op.kernel.function, True, ("batch",)))
    bindings = [Binding(module.entry.root, OPTIONS, batch=batch) for batch in (False, True)]
    assert [(binding.suspends, binding.per_call) for binding in bindings] == [(False, ()), (True, ("batch",))]


@pytest.mark.parametrize(
    ("error", "devices", "message"),
    [
        (ValueError("no\nmore"), 1, "'negate' cannot be computed: no"),
        (ValueError("no"), 2, "'negate' cannot be computed on device 1: no"),
        (MemoryError("x"), 1, "'negate' cannot be computed: not enough memory"),
        (hlotool.errors.Violation("R006", "shape", "it fails"), 1, "it fails"),
        (hlotool.errors.Violation("R006", "shape", "it fails"), 2, "it fails (on device 1)"),
        # The message already names the devices.
        (hlotool.errors.Violation("R007", "shape", "devices wait"), 2, "devices wait"),
    ],
)
def test_errors_of_kernels_name_the_device(error, devices, message):
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }")
    device = DeviceGrid(devices).devices[-1]
    (diagnostic,) = Binding(module.entry.root, OPTIONS).error(error, module, device).diagnostics
    assert diagnostic.message == message


ALL_KINDS = """HloModule kinds
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
double { a = f32[3] parameter(0) ROOT c = f32[3] add(a, a) }
ENTRY e { x = f32[3] parameter(0) c = f32[3] constant({1, 2, 3}) zero = f32[] constant(0) t = tuple(x, c)
  g = f32[3] get-tuple-element(t), index=1 y = f32[3] multiply(x, g) f = f32[3] fusion(y), kind=kLoop, calls=double
  ROOT r = f32[] reduce(f, zero), dimensions={0}, to_apply=add }"""


def test_single_instructions_agree_with_the_whole_run():
    module = hlotool.parse(ALL_KINDS)
    argument = np.array([1, 2, 4], np.float32)
    values = {module.entry.parameters[0]: argument}
    for x in module.entry.instructions:
        if x not in values:
            values[x] = compute(x, [values[operand] for operand in x.operands])
    assert values[module.entry.root] == hlotool.evaluate(module, [argument]) == 34
    assert argument.tolist() == [1, 2, 4]


def test_computing_does_not_change_operands():
    module = hlotool.parse(
        """ENTRY e { x = f32[3] parameter(0) u = f32[1] parameter(1) k = s32[] parameter(2)
        ROOT r = f32[3] dynamic-update-slice(x, u, k) }"""
    )
    operands = [np.zeros(3, np.float32), np.ones(1, np.float32), 1]
    assert compute(module.entry.root, operands).tolist() == [0, 1, 0]
    assert operands[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("instruction", "values", "code", "message"),
    [
        ("r = f32[2] parameter(1)", [], "R001", "parameter 'r' has no value before the computation is called"),
        ("r = f32[2] constant({...})", [], "R003", "are left out of the text"),
        ('r = f32[2] custom-call(x), custom_call_target="f"', [[1.0, 2.0]], "R001", "target 'f'"),
        ("r = f32[2] negate(x)", [], "R002", "wrong number of operand values for 'r': expected 1, got 0"),
        ("r = f32[2] negate(x)", [[1.0]], "R002", "operand 'x' takes f32[2]"),
        ("r = f32[3] negate(x)", [[1.0, 2.0]], "R004", "the result of 'negate' is float32[2], not f32[3] as written"),
        ("r = s32[2] reverse(x), dimensions={0}", [[1.0, 2.0]], "R004", "the result of 'reverse' is float32[2], not s32[2] as written"),
        ("r = f32[2] complex(x, x)", [[1.0, 2.0], [3.0, 4.0]], "R004", "the result of 'complex' is complex64[2], not f32[2] as written"),
    ],
)
def test_instructions_that_cannot_be_computed(instruction, values, code, message):
    module = hlotool.parse(f"HloModule m\nENTRY e {{\n  x = f32[2] parameter(0)\n  ROOT {instruction}\n}}")
    for position, start in ((module, (4, 8)), (None, (1, 1))):
        with pytest.raises(hlotool.EvaluationError) as caught:
            compute(module.entry.root, values, module=position)
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.line, diagnostic.column) == (code, *start)
        assert message in diagnostic.message


def test_callees_of_an_instruction_are_checked_before_it_runs():
    module = hlotool.parse(
        """f { a = f32[2] parameter(0) ROOT b = f32[2] custom-call(a), custom_call_target="nobody's" }
        ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] call(x), to_apply=f }"""
    )
    with pytest.raises(hlotool.EvaluationError, match="nobody's"):
        compute(module.entry.root, [[1.0, 2.0]])


# ---- threads, processes, interpreters ---------------------------------------------------------------------------------


def test_threads_may_evaluate_one_module():
    module = hlotool.parse(SORTS.replace("COUNT", "40"))
    arguments = [np.random.default_rng(seed).standard_normal(4).astype(np.float32) for seed in range(24)]
    alone = [hlotool.evaluate(module, [argument]).tolist() for argument in arguments]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            # This module has not been evaluated yet, so the first thread that needs a
            # literal decodes it.
            fresh = hlotool.parse(SORTS.replace("COUNT", "40"))
            together = list(threads.map(lambda argument: hlotool.evaluate(fresh, [argument]).tolist(), arguments))
    finally:
        sys.setswitchinterval(switch)
    assert together == alone


def evaluate_in_child(text: str, argument: list[float]) -> list[float]:
    return hlotool.evaluate(hlotool.parse(text), [np.array(argument, np.float32)]).tolist()


def test_runs_after_a_fork():
    """Evaluates a module in forked processes, or in new processes on systems without fork."""
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    text, argument = SORTS.replace("COUNT", "3"), [3.0, -1.0, 2.0, -4.0]
    expected = evaluate_in_child(text, argument)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(evaluate_in_child, [(text, argument)] * 4) == [expected] * 4


OPTIMIZED = """
import hlotool
assert False, "assertions are off"
def outcome_of(text, *arguments, **options):
    try:
        return hlotool.evaluate(hlotool.parse(text), arguments, options=hlotool.RunOptions(**options))
    except hlotool.EvaluationError as error:
        return error.diagnostics[0].code
print(outcome_of("ENTRY e { ROOT c = f32[3] constant({...}) }"))
print(outcome_of("ENTRY e { ROOT c = f32[3] constant({...}) }", elided_fill="iota"))
print(outcome_of('ENTRY e { x = f32[] parameter(0) ROOT r = f32[] custom-call(x), custom_call_target="f" }', 1.0))
called = "f { a = f32[] parameter(0) ROOT b = f32[] exponential(a) }"
print(outcome_of(called + "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] map(x), to_apply=f }", [0.0, 0.0]))
print(outcome_of("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[3] negate(x) }", [1.0, 2.0]))
"""


def test_without_assertions():
    result = subprocess.run([sys.executable, "-O", "-W", "error", "-c", OPTIMIZED], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["R003", "[0. 1. 2.]", "R001", "[1. 1.]", "R004"]


def test_only_floats_are_rounded_to_the_declared_type():
    module = hlotool.parse("ENTRY e { x = s32[2] parameter(0) ROOT r = f32[2] reverse(x), dimensions={0} }")
    with pytest.raises(hlotool.EvaluationError, match="the result of 'reverse' is int32"):
        hlotool.evaluate(module, [np.array([1, 2], np.int32)])
    module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = bf16[2] reverse(x), dimensions={0} }")
    result = hlotool.evaluate(module, [np.array([1, 1.00390625], np.float32)])
    assert (result.dtype.name, result.tolist()) == ("bfloat16", [1, 1])
