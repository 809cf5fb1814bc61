"""Key-value pairs: the share of devices that hold each key, and the mean of their values of it."""

from hearsay.mechanisms.tables import Form

KINDS = ("key-value",)

DOMAINS = {"key-value": "domain:KeyValue"}

MECHANISMS = {
    "privkv": (Form(KINDS, "privkv:PrivKV"), Form(KINDS, "privkv_split:PrivKVSplit", {"budget": "split"})),
    "privkvm": (Form(KINDS, "privkvm:PrivKVM"),),
    "privkvm+": (Form(KINDS, "privkvm_plus:PrivKVMPlus"),),
    "pckv-grr": (Form(KINDS, "pckv_grr:PckvGRR"),),
    "pckv-ue": (Form(KINDS, "pckv_ue:PckvUE"),),
    "collision": (Form(KINDS, "collision:Collision"),),
    "heavy": (Form(KINDS, "heavy:Heavy"),),
    "hierarchical": (Form(KINDS, "range_means:RangeMeans"),),
}

QUERIES = {
    "mean": "queries:MeanOfKeys",
    "means": "queries:Means",
    "quantile": "queries:KeyQuantile",
    "range": "queries:ItemRange",
}

# pckv-grr and collision depend on the largest number of pairs; without domain.pairs it is the number of all keys.
CANDIDATES = {"key-value": ("privkv", "pckv-grr", "collision")}
