"""What is kept of the latest value."""

from __future__ import annotations

from rocdoctor.model.of_same import of_same


def test_made_once_for_the_same_object_and_anew_for_an_equal_one() -> None:
    made: list[int] = []

    @of_same
    def length(given: list[str]) -> int:
        made.append(len(given))
        return len(given)

    one, equal = ["a"], ["a"]
    assert (length(one), length(one)) == (1, 1)
    assert made == [1]
    assert (length(equal), length(one)) == (1, 1)
    assert made == [1, 1, 1]
