"""The committed page is what the registries say today."""

from headway.coverage.page import PAGE, functions, page, registered, status
from headway.coverage.reasons import NO_FUNCTIONS


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make coverage`"


def test_a_function_without_its_class_falls_back_and_is_named() -> None:
    upper = next(function for function in functions() if function.name == "upper")
    assert status(upper, registered(), frozenset()) == "native"
    assert status(upper, registered() - {"Upper"}, frozenset()) == "fallback: Upper has no native implementation"


def test_reasons_are_of_functions_that_are_there() -> None:
    every = functions()
    assert set(NO_FUNCTIONS) <= {function.name for function in every}
