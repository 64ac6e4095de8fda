"""A failing group and its prompt → a better prompt, proved on cases that its writer never saw."""
