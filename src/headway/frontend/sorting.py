"""Sort orders as the plan has them."""

from __future__ import annotations

from headway.frontend.tree import Tree


def sort_order(tree: Tree) -> tuple[bool, bool]:
    """Whether a SortOrder is descending, and whether nulls come first."""
    return (
        tree.fields["direction"]["object"].endswith("Descending$"),
        tree.fields["nullOrdering"]["object"].endswith("NullsFirst$"),
    )
