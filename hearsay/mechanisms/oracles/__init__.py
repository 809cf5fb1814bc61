"""Frequency oracles: the share of every cell from one short report a device."""

from hearsay.mechanisms.tables import Form

CELLS = ("categorical", "ordinal", "binary", "grid")

# What `mechanism = "auto"` compares; the first fits every domain.
_ANY = ("grr", "ss", "oue", "olh", "hrr")
CANDIDATES = dict.fromkeys(CELLS, _ANY)

MECHANISMS = {
    "grr": (Form(CELLS, "grr:GRR"),),
    "ss": (Form(CELLS, "subset_selection:SubsetSelection"),),
    "sue": (Form(CELLS, "unary:SUE"),),
    "oue": (Form(CELLS, "unary:OUE"),),
    "olh": (Form(CELLS, "covering_hashing:CoveringOLH"),),
    "hrr": (Form(CELLS, "linear_hashing:HRR"),),
    "hr": (Form(CELLS, "hadamard_response:HadamardResponse"),),
    "rappor": (Form(CELLS, "rappor:RAPPOR"),),
    "count-mean-sketch": (Form(CELLS, "count_mean_sketch:CountMeanSketch"),),
    "shist": (Form(CELLS, "shist:SHist"),),
}
