"""Legal names, free names, and the names that XLA prints."""

import pytest

from hlotool.ir.names import NameTable, _Uniquifier, free_name, is_legal_name, unique_names
from hlotool.text.parse.parser import parse


@pytest.mark.parametrize(
    ("name", "legal"), [("a", True), ("f32", False), ("f32_", True), ("_a", True), ("__a", False), ("__xla_a", True), ("__xlaa", False)]
)
def test_legal_names(name, legal):
    assert is_legal_name(name) is legal


class CountingSet(set):
    """A set of names that counts its lookups."""

    lookups = 0

    def __contains__(self, name: object) -> bool:
        self.lookups += 1
        return super().__contains__(name)


def test_the_search_for_free_names_continues_where_the_previous_one_ended():
    taken, counters = CountingSet({"a", "a.2", "b"}), {}
    names = []
    for _ in range(200):
        names.append(free_name("a", taken, counters))
        taken.add(names[-1])
    assert names[:3] == ["a.1", "a.3", "a.4"]
    assert len(set(names)) == 200
    assert taken.lookups < 2 * len(names) + 10
    assert free_name("c", taken, counters) == "c"
    # A name is used again once it is available.
    taken.remove(names[-1])
    assert free_name("a", taken, counters) == names[-1]


def printed_names(instructions: str) -> list[str]:
    module = parse(f"ENTRY e {{ {instructions} }}")
    names, _ = unique_names(module)
    return [names[x] for x in module.entry.instructions]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        # A number is kept if it is free; otherwise, it is replaced with the next free number.
        (["a.3", "a", "a.1"], ["a.3", "a", "a.1"]),
        (["a.0", "a"], ["a.0", "a.1"]),
        (["a", "a.0", "a.00", "a.2"], ["a", "a.1", "a.2", "a.3"]),
        (["a", "a.01", "a.1"], ["a", "a.1", "a.2"]),
        # A suffix that is not a number is part of the name.
        (["a.b", "a.1b", "a.b.1"], ["a.b", "a.1b", "a.b.1"]),
        (["a.1.1", "a.1.01"], ["a.1.1", "a.1.0"]),
        (["a.1234567890123456789", "a"], ["a.1234567890123456789", "a"]),
    ],
)
def test_names_as_xla_prints_them(written, expected):
    assert printed_names(" ".join(f"{name} = f32[] parameter({k})" for k, name in enumerate(written))) == expected


def test_computations_have_separate_names_and_the_first_can_be_chosen():
    module = parse("f { ROOT a = f32[] parameter(0) } g { ROOT a.1 = f32[] parameter(0) } ENTRY e { ROOT a = f32[] parameter(0) }")
    instructions, computations = unique_names(module)
    assert list(computations.values()) == ["f", "g", "e"]
    assert [instructions[x] for x in module.all_instructions()] == ["a", "a.1", "a.2"]
    instructions, computations = unique_names(module, module.entry)
    assert [instructions[c.root] for c in module.computations] == ["a.1", "a.2", "a"]


def test_computations_with_illegal_names_are_renamed():
    module = parse("%f32 { ROOT a = f32[] parameter(0) } %__g { ROOT a.1 = f32[] parameter(0) } ENTRY e { ROOT b = f32[] parameter(0) }")
    assert list(unique_names(module)[1].values()) == ["f32_", "a_g", "e"]


def test_a_table_of_names():
    table = NameTable(["a"])
    assert [table.take("a"), table.take("a"), table.take("b"), table.take("b")] == ["a.1", "a.2", "b", "b.1"]
    table.add("c")
    assert "c" in table
    assert table.take("c") == "c.1"
    table.release("c.1")
    assert "c.1" not in table
    assert table.take("c") == "c.1"


def test_a_name_is_in_use_until_the_last_instruction_with_it_is_erased():
    table = NameTable(["a", "a"])
    table.add("a")
    for _ in range(3):
        assert "a" in table
        table.release("a")
    assert "a" not in table
    assert table.take("a") == "a"


def test_the_search_for_free_numbers_continues_where_the_previous_one_ended():
    names, used = _Uniquifier(), CountingSet()
    names._used["a"] = used
    assert len({names.take("a") for _ in range(300)}) == 300
    assert used.lookups < 4 * 300
