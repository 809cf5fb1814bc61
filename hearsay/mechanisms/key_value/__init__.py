"""Key-value pairs: how many devices hold each key, and the mean of the values that they hold."""

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

# Padding and hashing need to know how many pairs a device may hold; without domain.pairs they lose, as they should.
CANDIDATES = {"key-value": ("privkv", "pckv-grr", "collision")}
