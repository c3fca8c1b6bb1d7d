"""The call graph, including computations that are reachable through several chains of calls."""

from hlotool.analysis.callgraph import callers, calling, reachable
from hlotool.text.parse.parser import parse

CALL = "{{ x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply={} }} "


def names(computations) -> list[str]:
    return sorted(computation.name for computation in computations)


def chain():
    return parse("f { ROOT x = f32[] parameter(0) } g " + CALL.format("f") + "h " + CALL.format("g") + "ENTRY e " + CALL.format("h"))


def test_computations_are_reached_through_others():
    assert names(reachable([chain().entry])) == ["e", "f", "g", "h"]


def test_known_computations_and_their_callees_are_left_out():
    module = chain()
    by_name = {computation.name: computation for computation in module.computations}
    assert names(reachable([module.entry], {by_name["g"]})) == ["e", "h"]
    assert names(reachable([by_name["g"], module.entry], {by_name["g"]})) == ["e", "h"]


def test_a_computation_with_many_callers_is_visited_once():
    twice = "level{} {{ x = f32[] parameter(0) a = f32[] call(x), to_apply=level{} ROOT b = f32[] call(a), to_apply=level{} }} "
    module = parse(
        "level0 { ROOT x = f32[] parameter(0) } " + "".join(twice.format(k + 1, k, k) for k in range(60)) + "ENTRY e " + CALL.format("level60")
    )
    assert len(reachable([module.entry])) == 62


def test_each_call_is_listed():
    module = parse(
        "f { ROOT x = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) a = f32[] call(p), to_apply=f ROOT b = f32[] call(a), to_apply=f }"
    )
    assert [x.name for _, x in callers(module)[module.computations[0]]] == ["a", "b"]


def test_an_instruction_that_may_call_but_has_no_callees():
    module = parse('ENTRY e { p = f32[] parameter(0) ROOT c = f32[] custom-call(p), custom_call_target="t" }')
    assert calling(module.entry) == []
