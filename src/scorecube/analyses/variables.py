"""Declarations of the variables of results, one a line."""

from scorecube.collection.schema import Variable, variables


def read_variables(text: str) -> tuple[Variable, ...]:
    """Return declared variables: ``name | role | units | meaning``, below a line with their dims.

    A heading may follow the name after ``=``, other dtype kinds the role after ``/``, the variable
    that it belongs to after ``:``, and a format the units after a space. The role ``limits``
    declares two, ``name_low`` and ``name_high``: the lower and the upper of what is said.

    Examples
    --------
    >>> mean, low, high = read_variables(
    ...     '''
    ...     [metric run]
    ...     mean = mean score | estimate | score .3f | mean score of a run
    ...     mean | limits:mean | score | limit of the mean
    ...     '''
    ... )
    >>> mean.dims, mean.heading, mean.form, low.of, low.long_name
    (('metric', 'run'), 'mean score', '.3f', 'mean', 'lower limit of the mean')
    """
    declared: list[Variable] = []
    dims: tuple[str, ...] = ()
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            dims = tuple(line.strip("[]").split())
            continue
        named, role, unit, meaning = (part.strip() for part in line.split(" | "))
        name, _, heading = named.partition(" = ")
        role, _, of = role.partition(":")
        role, _, kinds = role.partition("/")
        units, _, form = unit.partition(" ")
        settings = {"units": units, "kinds": kinds, "of": of, "form": form}
        if role == "limits":
            for end, word in (("low", "lower"), ("high", "upper")):
                meanings = {f"{name}_{end}": f"{word} {meaning}"}
                declared += variables(dims, end, **settings, **meanings)
        else:
            headings = {name: heading}
            declared += variables(dims, role, **settings, headings=headings, **{name: meaning})
    return tuple(declared)
