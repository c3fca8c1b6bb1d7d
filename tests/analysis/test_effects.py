"""Side effects, including opcodes that have an effect only with certain attributes."""

import pytest

from hlotool.analysis.effects import computations_with_effects, has_effect
from hlotool.text.parse.parser import parse

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } "
TOKEN = "t = token[] after-all() "
ONE = "p = f32[4] parameter(0) "
GROUPS = "replica_groups={{0,1}}"

WITH_EFFECTS = [
    TOKEN + "ROOT x = (f32[], token[]) infeed(t)",
    TOKEN + ONE + "ROOT x = token[] outfeed(p, t), outfeed_shape=f32[4]{0}",
    TOKEN + ONE + "ROOT x = (f32[4], u32[], token[]) send(p, t), channel_id=1",
    TOKEN + ONE + "s = (f32[4], u32[], token[]) send(p, t), channel_id=1 ROOT x = token[] send-done(s), channel_id=1",
    TOKEN + "ROOT x = (f32[4], u32[], token[]) recv(t), channel_id=1",
    TOKEN + "r = (f32[4], u32[], token[]) recv(t), channel_id=1 ROOT x = (f32[4], token[]) recv-done(r), channel_id=1",
    "l = f32[] constant(0) h = f32[] constant(1) ROOT x = f32[4] rng(l, h), distribution=rng_uniform",
    "ROOT x = u64[2] rng-get-and-update-state(), delta=1",
    ONE + f"ROOT x = f32[4] all-reduce-start(p), {GROUPS}, to_apply=add",
    ONE + f"s = f32[4] all-reduce-start(p), {GROUPS}, to_apply=add ROOT x = f32[4] all-reduce-done(s)",
    ONE + f"ROOT x = (f32[4], f32[8]) all-gather-start(p), {GROUPS}, dimensions={{0}}",
    ONE + f"s = (f32[4], f32[8]) all-gather-start(p), {GROUPS}, dimensions={{0}} ROOT x = f32[8] all-gather-done(s)",
    ONE + "ROOT x = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}}",
    ONE + "s = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={{0,1}} ROOT x = f32[4] collective-permute-done(s)",
    ONE + "ROOT x = ((f32[4]), f32[4]) abs-start(p)",
    ONE + "s = ((f32[4]), f32[4]) abs-start(p) ROOT x = ((f32[4]), f32[4]) abs-update(s)",
    ONE + "s = ((f32[4]), f32[4]) abs-start(p) ROOT x = f32[4] abs-done(s)",
    ONE + "ROOT x = (f32[4], f32[4], u32[]) copy-start(p)",
    ONE + "s = (f32[4], f32[4], u32[]) copy-start(p) ROOT x = f32[4] copy-done(s)",
    ONE + f"ROOT x = f32[4] collective-broadcast(p), {GROUPS}",
    ONE + 'ROOT x = f32[4] custom-call(p), custom_call_target="t", custom_call_has_side_effect=true',
    ONE + f"ROOT x = f32[4] all-reduce(p), {GROUPS}, constrain_layout=true, to_apply=add",
    ONE + f"ROOT x = f32[8] all-gather(p), {GROUPS}, dimensions={{0}}, constrain_layout=true",
    ONE + f"ROOT x = f32[4] all-to-all(p), {GROUPS}, dimensions={{0}}, constrain_layout=true",
    ONE + f"ROOT x = f32[2] reduce-scatter(p), {GROUPS}, dimensions={{0}}, constrain_layout=true, to_apply=add",
    ONE + f"ROOT x = f32[4] collective-reduce(p), {GROUPS}, constrain_layout=true, to_apply=add",
]

WITHOUT_EFFECTS = [
    ONE + "ROOT x = f32[4] abs(p)",
    ONE + 'ROOT x = f32[4] custom-call(p), custom_call_target="t"',
    ONE + f"ROOT x = f32[4] all-reduce(p), {GROUPS}, to_apply=add",
    ONE + f"ROOT x = f32[4] collective-reduce(p), {GROUPS}, to_apply=add",
    ONE + "ROOT x = f32[4] collective-permute(p), source_target_pairs={{0,1}}",
    ONE + "ROOT x = f32[4] opt-barrier(p)",
    ONE + 'ROOT x = f32[4] domain(p), domain={kind="sharding", entry={replicated}, exit={replicated}}',
    TOKEN + ONE + "ROOT x = f32[4] add-dependency(p, t)",
    "ROOT x = u32[] partition-id()",
    "s = u64[2] parameter(0) ROOT x = (u64[2], u32[4]) rng-bit-generator(s), algorithm=rng_default",
]


@pytest.mark.parametrize("text", WITH_EFFECTS)
def test_effects(text):
    module = parse(f"{ADD} ENTRY e {{ {text} }}")
    assert has_effect(module.entry.root, set())
    assert computations_with_effects(module) == {module.entry}


@pytest.mark.parametrize("text", WITHOUT_EFFECTS)
def test_no_effects(text):
    module = parse(f"{ADD} ENTRY e {{ {text} }}")
    assert not has_effect(module.entry.root, set())
    assert computations_with_effects(module) == set()


def test_a_call_has_the_effects_of_its_callees():
    text = (
        "f { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) } g { ROOT i = (f32[], token[]) call(), to_apply=f } "
        "h { ROOT x = f32[] parameter(0) } ENTRY e { ROOT r = (f32[], token[]) call(), to_apply=g }"
    )
    module = parse(text)
    assert sorted(computation.name for computation in computations_with_effects(module)) == ["e", "f", "g"]
