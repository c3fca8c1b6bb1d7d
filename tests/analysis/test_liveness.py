"""Peak memory of small schedules, counted by hand.

Each case lists the peak in bytes, the instruction at the peak, the buffers that are live there
(`name*` for temporaries), and the bytes saved.
"""

import pytest

from hlotool.analysis.liveness import peak_memory
from hlotool.shapes.values import AliasPair
from hlotool.text.parse.parser import parse

ADD = "add { a0 = f32[] parameter(0) b0 = f32[] parameter(1) ROOT s0 = f32[] add(a0, b0) }"
UPDATE = "q = f32[2] parameter(1) i = s32[] constant(0)"


def peak(text: str, memory_space: int = 0):
    found = peak_memory(parse(text), memory_space)
    live = " ".join(f"{x.instruction.name}{'*' * x.temporary}={x.bytes}" for x in found.live)
    return found.bytes, found.at.name, live, found.saved


CASES = {
    "arguments live to the end, other values to their last use": (
        "ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) b = f32[8] abs(a) c = f32[8] abs(b) ROOT d = f32[2] slice(c), slice={[0:2]} }",
        (96, "b", "p=32 a=32 b=32", 0),
    ),
    "the result lives to the end": (
        "ENTRY e { p = f32[8] parameter(0) ROOT a = f32[8] abs(p) b = f32[4] slice(p), slice={[0:4]} c = f32[2] slice(b), slice={[0:2]} }",
        (88, "c", "p=32 a=32 b=16 c=8", 0),
    ),
    "tuples, their elements and bitcasts take no memory": (
        (
            "ENTRY e { p = f32[8] parameter(0) q = f32[2] parameter(1) a = f32[8] abs(p) t = (f32[2], f32[8]) tuple(q, a) "
            "g = f32[8] get-tuple-element(t), index=1 b = f32[2,4] bitcast(g) ROOT c = f32[2,4] negate(b) }"
        ),
        (104, "c", "p=32 a=32 c=32 q=8", 0),
    ),
    "other memory spaces are not counted": (
        "ENTRY e { p = f32[8] parameter(0) a = f32[8]{0:S(1)} abs(p) ROOT b = f32[2] slice(a), slice={[0:2]} }",
        (40, "b", "p=32 b=8", 0),
    ),
    "a call needs the temporaries of its callee": (
        (
            "f { a = f32[8] parameter(0) b = f32[16] concatenate(a, a), dimensions={0} ROOT c = f32[8] slice(b), slice={[0:8]} } "
            "ENTRY e { p = f32[8] parameter(0) ROOT c = f32[8] call(p), to_apply=f }"
        ),
        (128, "c", "c*=64 p=32 c=32", 0),
    ),
    "a call takes no memory for operands that it returns": (
        (
            "f { a = f32[8] parameter(0) b = f32[16] parameter(1) ROOT t = (f32[16], f32[8]) tuple(b, a) } "
            "ENTRY e { p = f32[8] parameter(0) q = f32[16] parameter(1) x = f32[8] abs(p) y = f32[16] abs(q) "
            "c = (f32[16], f32[8]) call(x, y), to_apply=f g = f32[16] get-tuple-element(c), index=0 ROOT n = f32[16] negate(g) }"
        ),
        (224, "n", "q=64 y=64 n=64 p=32", 0),
    ),
    "the larger of two branches counts": (
        (
            "one { a = f32[8] parameter(0) ROOT b = f32[8] abs(a) } "
            "two { a = f32[8] parameter(0) b = f32[16] concatenate(a, a), dimensions={0} ROOT c = f32[8] slice(b), slice={[0:8]} } "
            "ENTRY e { i = s32[] parameter(0) p = f32[8] parameter(1) ROOT c = f32[8] conditional(i, p, p), branch_computations={two, one} }"
        ),
        (132, "c", "c*=64 p=32 c=32 i=4", 0),
    ),
    "the state of a loop is one set of buffers": (
        (
            "body { t = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(t), index=0 x = f32[8] get-tuple-element(t), index=1 "
            "y = f32[16] concatenate(x, x), dimensions={0} z = f32[8] slice(y), slice={[0:8]} ROOT r = (s32[], f32[8]) tuple(i, z) } "
            "condition { t = (s32[], f32[8]) parameter(0) ROOT c = pred[] constant(false) } "
            "ENTRY e { n = s32[] parameter(0) p = f32[8] parameter(1) t = (s32[], f32[8]) tuple(n, p) "
            "ROOT w = (s32[], f32[8]) while(t), condition=condition, body=body }"
        ),
        (100, "w", "w*=64 p=32 n=4", 0),
    ),
    "calls within calls": (
        (
            "g { a = f32[8] parameter(0) b = f32[16] concatenate(a, a), dimensions={0} ROOT c = f32[8] slice(b), slice={[0:8]} } "
            "f { a = f32[8] parameter(0) b = f32[8] abs(a) ROOT c = f32[8] call(b), to_apply=g } "
            "ENTRY e { p = f32[8] parameter(0) ROOT c = f32[8] call(p), to_apply=f }"
        ),
        (160, "c", "c*=96 p=32 c=32", 0),
    ),
    "reducers take no memory": (
        f"{ADD} ENTRY e {{ p = f32[8] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(p, z), dimensions={{0}}, to_apply=add }}",
        (40, "r", "p=32 z=4 r=4", 0),
    ),
    "an update overwrites an operand that is no longer needed": (
        f"ENTRY e {{ p = f32[8] parameter(0) {UPDATE} a = f32[8] abs(p) ROOT u = f32[8] dynamic-update-slice(a, q, i) }}",
        (76, "a", "p=32 a=32 q=8 i=4", 0),
    ),
    "an update of an operand that is used again is a copy": (
        f"ENTRY e {{ p = f32[8] parameter(0) {UPDATE} a = f32[8] abs(p) u = f32[8] dynamic-update-slice(a, q, i) ROOT n = f32[8] add(u, a) }}",
        (136, "n", "p=32 a=32 u=32 n=32 q=8", 0),
    ),
    "an update of an argument is a copy": (
        f"ENTRY e {{ p = f32[8] parameter(0) {UPDATE} ROOT u = f32[8] dynamic-update-slice(p, q, i) }}",
        (76, "u", "p=32 u=32 q=8 i=4", 0),
    ),
    "an update of a callee's parameter is not a copy": (
        (
            f"f {{ p = f32[8] parameter(0) {UPDATE} ROOT u = f32[8] dynamic-update-slice(p, q, i) }} "
            "ENTRY e { a = f32[8] parameter(0) b = f32[2] parameter(1) ROOT c = f32[8] call(a, b), to_apply=f }"
        ),
        (44, "c", "a=32 b=8 c*=4", 0),
    ),
    "a scatter overwrites its operands": (
        (
            f"{ADD} ENTRY e {{ p = f32[8] parameter(0) x = s32[1] parameter(1) y = f32[] parameter(2) z = f32[1] bitcast(y) a = f32[8] abs(p) "
            "ROOT s = f32[8] scatter(a, x, z), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
            "index_vector_dim=1, to_apply=add }"
        ),
        (72, "a", "p=32 a=32 x=4 y=4", 0),
    ),
    "a fusion that ends in updates overwrites its operands": (
        (
            "f { a = f32[8] parameter(0) b = f32[2,4] bitcast(a) c = f32[8] bitcast(b) v = f32[2] parameter(1) k = s32[] constant(0) "
            "h = f32[16] parameter(2) o = f32[16] negate(h) u = f32[8] dynamic-update-slice(c, v, k) ROOT t = (f32[16], f32[8]) tuple(o, u) } "
            "ENTRY e { p = f32[8] parameter(0) q = f32[2] parameter(1) r = f32[16] parameter(2) x = f32[8] abs(p) "
            "ROOT n = (f32[16], f32[8]) fusion(x, q, r), kind=kLoop, calls=f }"
        ),
        (200, "n", "r=64 n=64 p=32 x=32 q=8", 0),
    ),
    "a fusion that is an update overwrites its operand": (
        (
            "f { v = f32[2] parameter(0) a = f32[8] parameter(1) k = s32[] constant(0) ROOT u = f32[8] dynamic-update-slice(a, v, k) } "
            "ENTRY e { p = f32[8] parameter(0) q = f32[2] parameter(1) x = f32[8] abs(p) ROOT n = f32[8] fusion(q, x), kind=kLoop, calls=f }"
        ),
        (72, "x", "p=32 x=32 q=8", 0),
    ),
    "a fusion of another operation does not overwrite its operand": (
        (
            "f { a = f32[8] parameter(0) ROOT u = f32[8] negate(a) } "
            "ENTRY e { p = f32[8] parameter(0) x = f32[8] abs(p) ROOT n = f32[8] fusion(x), kind=kLoop, calls=f }"
        ),
        (96, "n", "p=32 x=32 n=32", 0),
    ),
    "a fusion that updates a value it has computed does not overwrite its operand": (
        (
            "f { a = f32[8] parameter(0) v = f32[2] parameter(1) k = s32[] constant(0) b = f32[8] abs(a) ROOT u = f32[8] "
            "dynamic-update-slice(b, v, k) } "
            "ENTRY e { p = f32[8] parameter(0) q = f32[2] parameter(1) x = f32[8] abs(p) ROOT n = f32[8] fusion(x, q), kind=kLoop, calls=f }"
        ),
        (104, "n", "p=32 x=32 n=32 q=8", 0),
    ),
    "a fusion that is a scatter overwrites its operand": (
        (
            f"{ADD} f {{ a = f32[8] parameter(0) x = s32[1] parameter(1) z = f32[1] parameter(2) "
            "ROOT s = f32[8] scatter(a, x, z), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
            "index_vector_dim=1, to_apply=add } ENTRY e { p = f32[8] parameter(0) x = s32[1] parameter(1) z = f32[1] parameter(2) "
            "a = f32[8] abs(p) ROOT n = f32[8] fusion(a, x, z), kind=kLoop, calls=f }"
        ),
        (72, "a", "p=32 a=32 x=4 z=4", 0),
    ),
    "a result that is passed on lives as long as its operand": (
        (
            "f { a = f32[8] parameter(0) ROOT b = f32[8] copy(a) } g { a = f32[8] parameter(0) ROOT t = (f32[8]) tuple(a) } "
            "ENTRY e { p = f32[8] parameter(0) x = f32[8] abs(p) c = (f32[8]) call(x), to_apply=g d = f32[16] concatenate(p, p), dimensions={0} "
            "h = f32[8] get-tuple-element(c), index=0 ROOT n = f32[8] add(h, p) }"
        ),
        (128, "d", "d=64 p=32 x=32", 0),
    ),
    "a custom call overwrites the operand named in its aliasing": (
        (
            "ENTRY e { p = f32[8] parameter(0) q = f32[4] parameter(1) x = f32[8] abs(p) y = f32[4] abs(q) t = ((f32[4]), f32[8]) "
            'custom-call(), custom_call_target="m" '
            'ROOT c = (f32[2], (f32[1], f32[8])) custom-call(y, t), custom_call_target="t", output_to_operand_aliasing={{1,1}: (1, {1})} }'
        ),
        (124, "c", "p=32 t=32 q=16 y=16 t=16 c=8 c=4", 0),
    ),
    "the operand of a start lives until the done": (
        (
            "ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) s = (f32[8], f32[8], u32[]) copy-start(a) b = f32[8] negate(p) "
            "d = f32[8] copy-done(s) ROOT n = f32[8] add(b, d) }"
        ),
        (132, "b", "p=32 a=32 s=32 b=32 s=4", 0),
    ),
    "a gathered array is allocated by the start": (
        (
            "ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) s = (f32[8], f32[16]) all-gather-start(a), dimensions={0}, replica_groups={{0,1}} "
            "d = f32[16] all-gather-done(s) ROOT n = f32[16] negate(d) }"
        ),
        (160, "n", "s=64 n=64 p=32", 0),
    ),
    "a permuted array is allocated by the start": (
        (
            "ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) s = (f32[8], f32[8], u32[], u32[]) collective-permute-start(a), "
            "source_target_pairs={{0,1}} "
            "d = f32[8] collective-permute-done(s) ROOT n = f32[8] negate(d) }"
        ),
        (104, "s", "p=32 a=32 s=32 s=4 s=4", 0),
    ),
    "a sum across devices is allocated by the start": (
        (
            f"{ADD} ENTRY e {{ p = f32[8] parameter(0) a = f32[8] abs(p) s = f32[8] all-reduce-start(a), replica_groups={{}}, to_apply=add "
            "d = f32[8] all-reduce-done(s) ROOT n = f32[8] negate(d) }"
        ),
        (96, "s", "p=32 a=32 s=32", 0),
    ),
    "an asynchronous operation with two operands": (
        (
            "ENTRY e { p = f32[8] parameter(0) q = f32[8] parameter(1) a = f32[8] abs(p) b = f32[8] abs(q) s = ((f32[8], f32[8]), "
            "f32[8], u32[]) add-start(a, b) "
            "u = ((f32[8], f32[8]), f32[8], u32[]) add-update(s) d = f32[8] add-done(u) ROOT n = f32[8] negate(d) }"
        ),
        (164, "s", "p=32 q=32 a=32 b=32 s=32 s=4", 0),
    ),
    "sent data is not copied": (
        (
            "ENTRY e { p = f32[8] parameter(0) t = token[] after-all() a = f32[8] abs(p) s = (f32[8], u32[], token[]) send(a, t), channel_id=1 "
            "d = token[] send-done(s), channel_id=1 ROOT n = f32[8] negate(p) }"
        ),
        (68, "s", "p=32 a=32 s=4", 0),
    ),
    "received data is allocated by the recv": (
        (
            "ENTRY e { t = token[] after-all() r = (f32[8], u32[], token[]) recv(t), channel_id=1 d = (f32[8], token[]) recv-done(r), channel_id=1 "
            "g = f32[8] get-tuple-element(d), index=0 ROOT n = f32[8] negate(g) }"
        ),
        (64, "n", "r=32 n=32", 0),
    ),
    "a result reuses the buffer of a dead argument": (
        (
            "HloModule m, input_output_alias={ {1}: (1, {}, may-alias) } "
            "ENTRY e { q = f32[2] parameter(0) p = f32[8] parameter(1) a = f32[8] abs(p) b = f32[8] negate(a) ROOT t = (f32[2], f32[8]) tuple(q, b) }"
        ),
        (72, "a", "p=32 a=32 q=8", 32),
    ),
    "a result reuses the buffer of an argument that it is computed from": (
        (
            "HloModule m, input_output_alias={ {}: (0, {}, may-alias) } "
            "ENTRY e { p = f32[8] parameter(0) a = f32[8] abs(p) b = f32[8] negate(a) ROOT c = f32[8] add(b, p) }"
        ),
        (96, "b", "p=32 a=32 b=32", 32),
    ),
    "a result does not reuse the buffer of an argument that is read later": (
        (
            "HloModule m, input_output_alias={ {}: (0, {}, may-alias) } "
            "ENTRY e { p = f32[8] parameter(0) ROOT c = f32[8] abs(p) d = f32[8] negate(c) f = f32[8] add(d, p) }"
        ),
        (128, "f", "p=32 c=32 d=32 f=32", 0),
    ),
    "a result that reuses a buffer in another memory space saves nothing": (
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) } ENTRY e { p = f32[8]{0:S(1)} parameter(0) ROOT c = f32[8] abs(p) }",
        (32, "c", "c=32", 0),
    ),
    "an alias of a missing operand": (
        (
            'ENTRY e { p = f32[8] parameter(0) x = f32[8] abs(p) ROOT c = f32[8] custom-call(x), custom_call_target="t", '
            "output_to_operand_aliasing={{}: (3, {})} }"
        ),
        (96, "c", "p=32 x=32 c=32", 0),
    ),
    "barriers, domains and dependencies take no memory": (
        (
            "ENTRY e { p = f32[8] parameter(0) t = token[] after-all() a = f32[8] abs(p) o = f32[8] opt-barrier(a) "
            'd = f32[8] domain(o), domain={kind="sharding", entry={replicated}, exit={replicated}} '
            "y = f32[8] add-dependency(d, t) ROOT n = f32[2] slice(y), slice={[0:2]} }"
        ),
        (72, "n", "p=32 a=32 n=8", 0),
    ),
    "the leaves of all parameters are numbered consecutively": (
        (
            "f { a = (f32[2], f32[16]) parameter(0) b = f32[8] parameter(1) c = f32[2] slice(b), slice={[0:2]} ROOT t = (f32[8], "
            "f32[2]) tuple(b, c) } "
            "ENTRY e { p = f32[8] parameter(0) q = (f32[2], f32[16]) parameter(1) x = f32[8] abs(p) ROOT c = (f32[8], f32[2]) "
            "call(q, x), to_apply=f }"
        ),
        (144, "c", "q=64 p=32 x=32 q=8 c=8", 0),
    ),
    "an element of an element": (
        (
            'ENTRY e { p = f32[2] parameter(0) t = (f32[4], (f32[16], f32[8]), f32[32]) custom-call(p), custom_call_target="m" '
            "g = (f32[16], f32[8]) get-tuple-element(t), index=1 h = f32[8] get-tuple-element(g), index=1 a = f32[64] "
            "concatenate(h, h, h, h, h, h, h, h), "
            "dimensions={0} ROOT b = f32[2] slice(a), slice={[0:2]} }"
        ),
        (296, "a", "a=256 t=32 p=8", 0),
    ),
    "operands passed by an update live until the done, and the result lives from the update on": (
        (
            'f { a = f32[8] parameter(0) b = f32[4] parameter(1) ROOT c = f32[12] concatenate(a, b), dimensions={0} }, execution_thread="x" '
            "ENTRY e { p = f32[8] parameter(0) q = f32[4] parameter(1) x = f32[8] abs(p) "
            's = ((f32[8]), ()) async-start(x), async_execution_thread="x", calls=f y = f32[4] abs(q) '
            "u = ((f32[8], f32[4]), f32[12]) async-update(s, y) ROOT d = f32[12] async-done(u) }"
        ),
        (144, "u", "u=48 p=32 x=32 q=16 y=16", 0),
    ),
    "parts of the result stay in the buffers that the first update allocated": (
        (
            "f { a = f32[8] parameter(0) b = f32[4] parameter(1) o = f32[] parameter(2) c = f32[16] concatenate(a, a), dimensions={0} "
            'd = f32[8] concatenate(b, b), dimensions={0} ROOT t = (f32[16], f32[8]) tuple(c, d) }, execution_thread="x" '
            "ENTRY e { p = f32[8] parameter(0) q = f32[4] parameter(1) o = f32[] parameter(2) "
            's = ((), ()) async-start(), async_execution_thread="x", calls=f u = ((f32[8]), (f32[16])) async-update(s, p) '
            "v = ((f32[8], f32[4]), (f32[16], f32[8])) async-update(u, q) "
            "w = ((f32[8], f32[4], f32[]), (f32[16], f32[8])) async-update(v, o) z = f32[32] concatenate(p, p, p, p), dimensions={0} "
            "d = (f32[16], f32[8]) async-done(w) ROOT r = (f32[32], (f32[16], f32[8])) tuple(z, d) }"
        ),
        (276, "z", "z=128 u=64 p=32 v=32 q=16 o=4", 0),
    ),
    "an asynchronous call needs the temporaries of its computation": (
        (
            "f { a = f32[8] parameter(0) b = f32[16] concatenate(a, a), dimensions={0} ROOT c = f32[8] slice(b), slice={[0:8]} }, "
            'execution_thread="x" '
            'ENTRY e { p = f32[8] parameter(0) s = ((f32[8]), f32[8], u32[]) async-start(p), async_execution_thread="x", calls=f '
            "ROOT d = f32[8] async-done(s) }"
        ),
        (132, "s", "s*=64 p=32 s=32 s=4", 0),
    ),
    "two consecutive updates reuse one buffer": (
        (
            f"ENTRY e {{ p = f32[8] parameter(0) {UPDATE} a = f32[8] abs(p) u = f32[8] dynamic-update-slice(a, q, i) "
            "v = f32[8] dynamic-update-slice(u, q, i) ROOT n = f32[8] negate(v) }"
        ),
        (104, "n", "p=32 a=32 n=32 q=8", 0),
    ),
    "a scatter into two operands overwrites both": (
        (
            "add { a0 = f32[] parameter(0) a1 = f32[] parameter(1) b0 = f32[] parameter(2) b1 = f32[] parameter(3) ROOT s0 = "
            "(f32[], f32[]) tuple(b0, b1) } "
            "ENTRY e { p = f32[8] parameter(0) x = s32[1] parameter(1) z = f32[1] parameter(2) a = f32[8] abs(p) b = f32[8] negate(p) "
            "ROOT s = (f32[8], f32[8]) scatter(a, b, x, z, z), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
            "index_vector_dim=1, to_apply=add }"
        ),
        (104, "b", "p=32 a=32 b=32 x=4 z=4", 0),
    ),
    "a result reuses the buffer of an argument at its last use": (
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) } ENTRY e { p = f32[8] parameter(0) ROOT a = f32[8] abs(p) }",
        (32, "p", "p=32", 32),
    ),
    "the operand of a start lives until the done even if the start does not return it": (
        (
            f"{ADD} ENTRY e {{ p = f32[8] parameter(0) a = f32[8] abs(p) s = f32[8] all-reduce-start(a), replica_groups={{}}, to_apply=add "
            "b = f32[16] concatenate(p, p), dimensions={0} d = f32[8] all-reduce-done(s) ROOT n = f32[2] slice(b), slice={[0:2]} }"
        ),
        (160, "b", "b=64 p=32 a=32 s=32", 0),
    ),
    "a token received with data counts as an element of a tuple": (
        (
            "ENTRY e { t = token[] after-all() r = (f32[8], u32[], token[]) recv(t), channel_id=1 d = (f32[8], token[]) recv-done(r), channel_id=1 "
            "q = f32[4] parameter(0) a = f32[4] abs(q) b = f32[32] iota(), iota_dimension=0 m = ((f32[8], token[]), f32[4], f32[32]) tuple(d, a, b) "
            "c = f32[64] concatenate(b, b), dimensions={0} g = f32[4] get-tuple-element(m), index=1 ROOT n = f32[4] abs(g) }"
        ),
        (416, "c", "c=256 b=128 q=16 a=16", 0),
    ),
    "a reducer takes no memory even if it is also called": (
        (
            "f { a = f32[] parameter(0) b = f32[] parameter(1) n = f32[] negate(a) ROOT s = f32[] add(n, b) } "
            "ENTRY e { x = f32[] parameter(0) c = f32[] call(x, x), to_apply=f p = f32[8] parameter(1) q = f32[8] parameter(2) "
            "m = f32[8] map(p, q), dimensions={0}, to_apply=f y = f32[] negate(c) ROOT t = (f32[], f32[8]) tuple(y, m) }"
        ),
        (108, "y", "p=32 q=32 m=32 x=4 c=4 y=4", 0),
    ),
    "an element of a parameter is passed on": (
        (
            "f { a = (f32[2], f32[16]) parameter(0) g = f32[16] get-tuple-element(a), index=1 ROOT t = (f32[16]) tuple(g) } "
            'ENTRY e { p = f32[2] parameter(0) q = (f32[2], f32[16]) custom-call(p), custom_call_target="m" '
            "c = (f32[16]) call(q), to_apply=f b = f32[32] iota(), iota_dimension=0 h = f32[16] get-tuple-element(c), index=0 "
            "ROOT n = f32[2] slice(h), slice={[0:2]} }"
        ),
        (200, "b", "b=128 q=64 p=8", 0),
    ),
    "a fusion of a fusion that is an update does not overwrite its operand": (
        (
            "g { a = f32[8] parameter(0) v = f32[2] parameter(1) k = s32[] constant(0) ROOT u = f32[8] dynamic-update-slice(a, v, k) } "
            "f { a = f32[8] parameter(0) v = f32[2] parameter(1) ROOT n = f32[8] fusion(a, v), kind=kLoop, calls=g } "
            "ENTRY e { p = f32[8] parameter(0) q = f32[2] parameter(1) x = f32[8] abs(p) ROOT n = f32[8] fusion(x, q), kind=kLoop, calls=f }"
        ),
        (104, "n", "p=32 x=32 n=32 q=8", 0),
    ),
    # Modules that the verifier rejects.
    "an empty result that aliases an operand": (
        (
            'ENTRY e { p = f32[8] parameter(0) x = f32[8] abs(p) ROOT c = () custom-call(x), custom_call_target="t", '
            "output_to_operand_aliasing={{}: (0, {})} }"
        ),
        (64, "x", "p=32 x=32", 0),
    ),
    "an empty operand that is overwritten": (
        (
            "ENTRY e { p = f32[8] parameter(0) x = () tuple() ROOT c = f32[8] custom-call(x), "
            'custom_call_target="t", output_to_operand_aliasing={{}: (0, {})} }'
        ),
        (64, "c", "p=32 c=32", 0),
    ),
    "an alias of a missing element of the result": (
        (
            'ENTRY e { p = f32[8] parameter(0) x = f32[8] abs(p) ROOT c = f32[8] custom-call(x), custom_call_target="t", '
            "output_to_operand_aliasing={{5,0}: (0, {})} }"
        ),
        (64, "x", "p=32 x=32", 0),
    ),
    "a scatter with more results than operands": (
        (
            f"{ADD} ENTRY e {{ x = s32[1] parameter(0) z = f32[1] parameter(1) a = f32[8] iota(), iota_dimension=0 "
            "ROOT s = (f32[8], f32[8], f32[8], f32[8]) scatter(a, x, z), update_window_dims={}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }"
        ),
        (136, "s", "a=32 s=32 s=32 s=32 x=4 z=4", 0),
    ),
    "a call whose shape differs from the callee's": (
        "f { ROOT a = f32[8] parameter(0) } ENTRY e { p = f32[8] parameter(0) ROOT c = (f32[8], f32[2]) call(p), to_apply=f }",
        (72, "c", "p=32 c=32 c=8", 0),
    ),
    "an argument that is returned saves nothing": (
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) } ENTRY e { ROOT p = f32[8] parameter(0) }",
        (32, "p", "p=32", 0),
    ),
    "an element of an argument": (
        (
            "HloModule m, input_output_alias={ {}: (0, {1}, may-alias) } ENTRY e { p = (f32[2], f32[8]) parameter(0) "
            "g = f32[8] get-tuple-element(p), index=1 a = f32[8] abs(g) b = f32[8] negate(a) ROOT c = f32[8] abs(b) }"
        ),
        (72, "a", "p=32 a=32 p=8", 32),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_peak(name):
    text, expected = CASES[name]
    assert peak(text) == expected


def test_the_peak_of_another_memory_space():
    text = "ENTRY e { p = f32[8] parameter(0) a = f32[4]{0:S(1)} slice(p), slice={[0:4]} ROOT b = f32[4] abs(a) }"
    assert peak(text, memory_space=1) == (16, "a", "a=16", 0)


def test_invalid_aliases_of_a_built_module_save_nothing():
    module = parse("ENTRY e { p = f32[8] parameter(0) ROOT a = f32[8] abs(p) }")
    empty = parse('ENTRY e { p = () parameter(0) q = f32[8] parameter(1) ROOT a = () custom-call(q), custom_call_target="t" }')
    for pair in (AliasPair((), 7, (), "may-alias"), AliasPair((), -1, (), "may-alias")):
        module.attributes["input_output_alias"] = (pair,)
        assert peak_memory(module).saved == 0
    nothing = parse("ENTRY e { p = () parameter(0) q = f32[8] parameter(1) ROOT a = f32[8] abs(q) }")
    nothing.attributes["input_output_alias"] = (AliasPair((), 0, (), "may-alias"),)
    assert peak_memory(nothing).saved == 0
    for pair in (AliasPair((0,), 1, (), "may-alias"), AliasPair((), 0, (0,), "may-alias")):
        empty.attributes["input_output_alias"] = (pair,)
        assert peak_memory(empty).saved == 0
