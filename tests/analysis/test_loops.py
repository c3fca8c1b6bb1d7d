"""Loop analysis: state elements that stay unchanged, and trip counts."""

from itertools import product
from operator import eq, ge, gt, le, lt, ne

import pytest

from hlotool.analysis.loops import exact_trip_count, invariant_elements, trip_count
from hlotool.ir.model import Instruction
from hlotool.text.parse.parser import parse

STATE = "(s32[], f32[])"
ELEMENTS = f"t = {STATE} parameter(0) i = s32[] get-tuple-element(t), index=0 u = f32[] get-tuple-element(t), index=1 "
TWINS = "t = (f32[], f32[]) parameter(0) a = f32[] get-tuple-element(t), index=0 b = f32[] get-tuple-element(t), index=1 "


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (ELEMENTS + f"ROOT r = {STATE} tuple(i, u)", {0: "i", 1: "u"}),
        (ELEMENTS + f"j = s32[] negate(i) ROOT r = {STATE} tuple(j, u)", {1: "u"}),
        (TWINS + "ROOT r = (f32[], f32[]) tuple(b, a)", {}),
        # An element of another tuple, a state that is not a tuple, and a tuple whose elements are
        # not read.
        (ELEMENTS + f"o = {STATE} opt-barrier(t) v = f32[] get-tuple-element(o), index=1 ROOT r = {STATE} tuple(i, v)", {0: "i"}),
        ("t = f32[] parameter(0) ROOT n = f32[] negate(t)", {}),
        (f"t = {STATE} parameter(0) ROOT r = {STATE} opt-barrier(t)", {}),
        # The operands of a call are not the elements of its result.
        (ELEMENTS + f'ROOT r = {STATE} custom-call(i, u), custom_call_target="f"', {}),
        ("t = (f32[]) parameter(0) g = f32[] get-tuple-element(t), index=0 n = f32[] parameter(1) ROOT r = (f32[], f32[]) tuple(g, n)", {0: "g"}),
    ],
)  # fmt: skip
def test_invariant_elements(lines, expected):
    body = parse(f"b {{ {lines} }} ENTRY e {{ ROOT p = f32[] parameter(0) }}").computations[0]
    assert {k: x.name for k, x in invariant_elements(body).items()} == expected


def count(start: str, step: str, test: str, element_type: str = "s32") -> int | None:
    """Returns the trip count of a loop over a tuple.

    `start` is the counter's first value, `step` the body's update of `i`, and `test` the
    condition's comparison of `i` and `n`.
    """
    state = f"({element_type}[], f32[])"
    parts = f"t = {state} parameter(0) i = {element_type}[] get-tuple-element(t), index=0 u = f32[] get-tuple-element(t), index=1 "
    text = f"""body {{ {parts} {step} ROOT r = {state} tuple(j, u) }}
condition {{ {parts} {test} }}
ENTRY e {{ {start} f = f32[] constant(0) s = {state} tuple(n, f) ROOT w = {state} while(s), condition=condition, body=body }}"""
    return trip_count(parse(text).entry.root)


def number(value: object, element_type: str = "s32", name: str = "n") -> str:
    return f"{name} = {element_type}[] constant({value}) "


def less(limit: object, direction: str = "LT", element_type: str = "s32") -> str:
    return number(limit, element_type) + f"ROOT c = pred[] compare(i, n), direction={direction}"


UP, DOWN = "k = s32[] constant(1) j = s32[] add(i, k)", "k = s32[] constant(1) j = s32[] subtract(i, k)"

COUNTS = [
    ("counted up to nothing", number(0), UP, less(0), 0),
    ("once", number(0), UP, less(1), 1),
    ("twice", number(0), UP, less(2), 2),
    ("many times", number(0), UP, less(1000), 2),
    ("with a limit included", number(0), UP, less(0, "LE"), 1),
    ("down", number(1), DOWN, less(0, "GT"), 1),
    ("down to the limit", number(1), DOWN, less(0, "GE"), 2),
    ("while equal", number(3), UP, less(3, "EQ"), 1),
    ("until equal", number(3), UP, less(4, "NE"), 1),
    ("by more than one", number(0), "k = s32[] constant(5) j = s32[] add(i, k)", less(5), 1),
    ("with the step first", number(0), "k = s32[] constant(1) j = s32[] add(k, i)", less(1), 1),
    ("down by an unknown step", number(1), "k = s32[] convert(u) j = s32[] subtract(i, k)", less(0, "GT"), None),
    ("counter subtracted", number(0), "k = s32[] constant(1) j = s32[] subtract(k, i)", less(1), None),
    ("doubled", number(1), "j = s32[] add(i, i)", less(2), None),
    ("multiplied", number(1), "k = s32[] constant(2) j = s32[] multiply(i, k)", less(2), None),
    ("kept", number(0), "k = s32[] constant(2) j = s32[] add(k, k)", less(2), None),
    # The initial value alone shows that the loop does not run; the step does not matter.
    ("multiplied but never", number(2), "k = s32[] constant(2) j = s32[] multiply(i, k)", less(2), 0),
    ("from an unknown start", "n = s32[] parameter(0) ", UP, less(0), None),
    ("to an unknown limit", number(0), UP, "m = s32[] convert(u) ROOT c = pred[] compare(i, m), direction=LT", None),
    ("of something else", number(0), UP, number(0) + "m = s32[] convert(u) ROOT c = pred[] compare(m, n), direction=LT", None),
    ("of the counter's opposite", number(0), UP, number(0) + "m = s32[] negate(i) ROOT c = pred[] compare(m, n), direction=LT", None),
    ("of two conditions", number(0), UP, number(1) + "d = pred[] compare(i, n), direction=LT ROOT c = pred[] and(d, d)", None),
    ("never", number(0), UP, "ROOT c = pred[] constant(false)", 0),
    ("forever", number(0), UP, "ROOT c = pred[] constant(true)", None),
    ("through a conversion", number(0), UP, "m = s64[] convert(i) n = s64[] constant(1) ROOT c = pred[] compare(m, n), direction=LT", 1),
    # Integers wrap around.
    ("past the largest number", number(2147483647), UP, less(0, "GT"), 1),
]  # fmt: skip


@pytest.mark.parametrize(("start", "step", "test", "expected"), [case[1:] for case in COUNTS], ids=[case[0] for case in COUNTS])
def test_trip_count(start, step, test, expected):
    assert count(start, step, test) == expected


@pytest.mark.parametrize(
    ("start", "step", "limit", "order", "expected"),
    [
        ("0", "1", "1", "", 1),
        ("0.5", "0.25", "0.75", "", 1),
        # The sum is rounded.
        ("16777216", "1", "16777217", "", 0),
        ("16777214", "1.5", "16777220", "", None),
        ("-0.0", "1", "0", ", type=TOTALORDER", None),
    ],
)
def test_trip_count_of_floats(start, step, limit, order, expected):
    test = number(limit, "f32") + f"ROOT c = pred[] compare(i, n), direction=LT{order}"
    assert count(number(start, "f32"), number(step, "f32", "k") + "j = f32[] add(i, k)", test, "f32") == expected


def scalar(start: str, condition: str, body: str) -> int | None:
    text = f"""body {{ i = s32[] parameter(0) {body} }}
condition {{ i = s32[] parameter(0) {condition} }}
ENTRY e {{ {start} ROOT w = s32[] while(n), condition=condition, body=body }}"""
    return trip_count(parse(text).entry.root)


def test_a_state_that_is_a_single_number():
    step = "k = s32[] constant(1) ROOT j = s32[] add(i, k)"
    assert scalar(number(0), less(1), step) == 1
    assert scalar(number(1), less(1), step) == 0
    assert scalar(number(0), less(1), "k = s32[] constant(1) ROOT j = s32[] multiply(i, k)") is None
    assert scalar("n = s32[] parameter(0) ", less(1), step) is None


def loop_over(entry: str, root: str) -> int | None:
    parts = f"t = {STATE} parameter(0) i = s32[] get-tuple-element(t), index=0 u = f32[] get-tuple-element(t), index=1 "
    text = f"""body {{ {parts} {UP} {root} }}
condition {{ {parts} {less(1)} }}
ENTRY e {{ {entry} ROOT w = {STATE} while(s), condition=condition, body=body }}"""
    return trip_count(parse(text).entry.root)


def test_states_that_are_not_visible_tuples():
    start, step = number(0) + f"f = f32[] constant(0) s = {STATE} tuple(n, f)", f"ROOT r = {STATE} tuple(j, u)"
    assert loop_over(start, step) == 1
    assert loop_over(f"s = {STATE} parameter(0)", step) is None
    assert loop_over(number(0) + f'f = f32[] constant(0) s = {STATE} custom-call(n, f), custom_call_target="f"', step) is None
    assert loop_over(start, f'ROOT r = {STATE} custom-call(j, u), custom_call_target="f"') is None


def test_an_element_of_a_value_other_than_the_parameter_is_not_a_counter():
    parts = f"t = {STATE} parameter(0) o = {STATE} opt-barrier(t) i = s32[] get-tuple-element(o), index=0 u = f32[] get-tuple-element(t), index=1 "
    text = f"""body {{ {ELEMENTS} {UP} ROOT r = {STATE} tuple(j, u) }}
condition {{ {parts} {less(1)} }}
ENTRY e {{ {number(0)} f = f32[] constant(0) s = {STATE} tuple(n, f) ROOT w = {STATE} while(s), condition=condition, body=body }}"""
    assert trip_count(parse(text).entry.root) is None


def loop(element_type: str, start: object, step: object, limit: object, direction: str) -> Instruction:
    """Returns a loop that adds `step` to its state while the comparison with `limit` is true."""
    return parse(
        f"""body {{ i = {element_type}[] parameter(0) {number(step, element_type, "k")} ROOT j = {element_type}[] add(i, k) }}
condition {{ i = {element_type}[] parameter(0) {number(limit, element_type)} ROOT c = pred[] compare(i, n), direction={direction} }}
ENTRY e {{ {number(start, element_type)} ROOT w = {element_type}[] while(n), condition=condition, body=body }}"""
    ).entry.root


COMPARISONS = {"EQ": eq, "NE": ne, "LT": lt, "LE": le, "GT": gt, "GE": ge}


@pytest.mark.parametrize("direction", COMPARISONS)
@pytest.mark.parametrize(("element_type", "values"), [("s8", (-128, -127, -3, 0, 1, 5, 126, 127)), ("u8", (0, 1, 2, 7, 128, 254, 255))])
def test_exact_trip_count_agrees_with_counting(element_type, values, direction):
    lowest, holds = (-128 if element_type == "s8" else 0), COMPARISONS[direction]
    for start, step, limit in product(values, values, values):
        value, count = start, 0
        while lowest <= value < lowest + 256 and count <= 256 and holds(value, limit):
            value += step
            count += 1
        counts_without_overflow = lowest <= value < lowest + 256 and count <= 256
        # The trip count is unknown if the counter overflows or the loop does not end.
        expected = count if counts_without_overflow else None
        assert exact_trip_count(loop(element_type, start, step, limit, direction)) == expected, (start, step, limit)


@pytest.mark.parametrize(
    ("start", "step", "limit", "direction", "expected"),
    [
        (3, 1, 3, "EQ", 1),
        (1, 2, 9, "NE", 4),
        (4, 1, 2, "NE", None),
        (0, 2, 3, "NE", None),
        (0, 1, 5, "LT", 5),
        (0, -1, 5, "LT", None),
        (0, 0, 5, "LT", None),
        (0, 1, 5, "LE", 6),
        (5, -1, 3, "GT", 2),
        (5, 1, 3, "GT", None),
        (5, -1, 3, "GE", 3),
        (0, 100, 127, "LT", None),
    ],
)
def test_exact_trip_count(start, step, limit, direction, expected):
    assert exact_trip_count(loop("s8", start, step, limit, direction)) == expected


def test_exact_trip_count_needs_an_integer_as_the_limit():
    text = "c { x = s8[] parameter(0) f = f32[] convert(x) n = f32[] constant(4.5) ROOT t = pred[] compare(f, n), direction=LT } "
    text += "b { x = s8[] parameter(0) d = s8[] constant(1) ROOT y = s8[] add(x, d) } "
    text += "ENTRY e { p = s8[] constant(0) ROOT w = s8[] while(p), condition=c, body=b }"
    assert exact_trip_count(parse(text).entry.root) is None


def test_exact_trip_count_of_very_many_iterations():
    assert exact_trip_count(loop("s64", 0, 3, 10**18, "LT")) == 333333333333333334


@pytest.mark.parametrize(
    ("element_type", "start", "step", "limit", "expected"), [("f32", 0, 1, 5, None), ("f32", 7, 1, 5, 0), ("pred", "false", "true", "true", None)]
)
def test_exact_trip_count_counts_with_integers(element_type, start, step, limit, expected):
    assert exact_trip_count(loop(element_type, start, step, limit, "LT")) == expected


def test_exact_trip_count_of_an_unknown_start():
    text = "c { x = s32[] parameter(0) n = s32[] constant(5) ROOT t = pred[] compare(x, n), direction=LT } "
    text += "b { x = s32[] parameter(0) d = s32[] constant(1) ROOT y = s32[] add(x, d) } "
    text += "ENTRY e { p = s32[] parameter(0) ROOT w = s32[] while(p), condition=c, body=b }"
    assert exact_trip_count(parse(text).entry.root) is None
