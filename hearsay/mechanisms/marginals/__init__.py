"""Marginals: tables of several attributes of each device, tests and trees, from one short report (Kulkarni 4)."""

from hearsay.mechanisms.tables import Form

_ATTRIBUTES = ("attributes",)

DOMAINS = {"attributes": "domain:AttributeDomain"}
MECHANISMS = {
    "inp-ht": (Form(_ATTRIBUTES, "methods.inp_ht:InpHT"),),
    "inp-rr": (Form(_ATTRIBUTES, "methods.whole_table:InpRR"),),
    "inp-ps": (Form(_ATTRIBUTES, "methods.whole_table:InpPS"),),
    "marg-rr": (Form(_ATTRIBUTES, "methods.marg_views:MargRR"),),
    "marg-ps": (Form(_ATTRIBUTES, "methods.marg_views:MargPS"),),
    "marg-ht": (Form(_ATTRIBUTES, "methods.marg_ht:MargHT"),),
    "inp-em": (Form(_ATTRIBUTES, "methods.inp_em:InpEM"),),
    "inp-olh": (Form(_ATTRIBUTES, "methods.inp_olh:InpOLH"),),
    "calm": (Form(_ATTRIBUTES, "methods.calm:Calm"),),
    "count-mean-sketch": (Form(_ATTRIBUTES, "methods.sketch:AttributeSketch"),),
}
CANDIDATES = {"attributes": ("inp-ht", "inp-rr", "marg-ps", "inp-ps")}
QUERIES = {
    "marginal": "queries:Marginal",
    "conditional": "queries:Conditional",
    "association": "queries:AssociationQuery",
    "correlations": "queries:Correlations",
    "tree": "queries:TreeQuery",
}
