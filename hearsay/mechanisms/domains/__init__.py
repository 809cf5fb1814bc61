"""Where private values come from, and how cells are found and named."""

DOMAINS = {
    "categorical": "cells:Categorical",
    "ordinal": "cells:Ordinal",
    "binary": "cells:Binary",
    "grid": "grid:Grid",
}
